"""Shared array types. Shapes are written in jaxtyping's notation: n points in d dimensions."""

from typing import TypeAlias

from jaxtyping import Array, Float, Int, PRNGKeyArray

Points: TypeAlias = Float[Array, "n d"]
Point: TypeAlias = Float[Array, "d"]
Values: TypeAlias = Float[Array, "n"]
Scalar: TypeAlias = Float[Array, ""]
Count: TypeAlias = Int[Array, ""]
Key: TypeAlias = PRNGKeyArray
