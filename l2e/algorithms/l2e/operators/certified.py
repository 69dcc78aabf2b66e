"""An operator that contracts for any weights, so that the convergence of the averaged iteration is a theorem.

The layers are those of C. Anil, J. Lucas, R. Grosse, "Sorting out Lipschitz function approximation", ICML 2019: maps of
spectral norm at most 1 and an activation that only sorts.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.l2e.contracts import AbstractOperator
from l2e.algorithms.l2e.operators.attention_mlp import with_one
from l2e.algorithms.l2e.operators.features import ranking, value_tokens
from l2e.algorithms.nn import WEIGHTS, as_dtype
from l2e.core.traced.types import Key, Points, Scalar, Values


class Certified(AbstractOperator):
    """`O(x) = m + c S(x - m)`, m the centre of the cube, S non-expansive: `|O(x) - O(y)| <= c |x - y|` for any weights.

    The norm is the Euclidean one of the whole population, and the values are held fixed: they are labels that choose
    the weights and do not move with x. On the population sorted by value, S is made of non-expansive steps:

    - crossover `C = W X`, W non-negative with `|W|_2 <= 1`, and a function of the values alone;
    - mutation of each row, `B sort(A C_i + a_i) + b_i` with `|A|_2 <= 1`, `|B|_2 <= 1`, where sort orders neighbouring
      pairs of entries, and a and b are functions of the values alone;
    - a convex combination of both with one share per row, again a function of the values alone.

    Averaged with the identity at rate alpha it contracts by `q = 1 - alpha + alpha c`, also after a Euclidean
    projection onto the cube, so it has exactly one fixed point x*, and `|x_K - x*| <= q^K |x_0 - x*|`. The price: x*
    depends on the values alone, and a shift of the whole population shrinks by c as everything does.

    With `noise` the crossover is mixed with a random order of the individuals, an isometry: each key has its own fixed
    point then, and two runs with the same keys still approach each other at rate q.

    **Arguments:**

    - `dimension`: fixed by the weights; the population size is free.
    - `width`: of the mutation, an even number.
    - `contraction`: c, at least 0 and below 1.
    - `noise`: whether the random order takes part.
    - `key`: for the first weights.
    """

    query: Float[Array, "width 3"]
    key: Float[Array, "width 3"]
    inward: Float[Array, "width d"]
    inward_shift: Float[Array, "width 3"]
    outward: Float[Array, "d width"]
    outward_shift: Float[Array, "d 3"]
    share: Float[Array, "3"]
    disorder: Scalar | None
    contraction: float = eqx.field(static=True)

    def __init__(self, dimension: int, *, width: int = 32, contraction: float = 0.9, noise: bool = False, key: Key):
        if not 0 <= contraction < 1:
            raise ValueError(f"contraction must be at least 0 and below 1, got {contraction}")
        if width < 2 or width % 2:
            raise ValueError(f"width must be a positive even number, got {width}")
        keys = jax.random.split(key, 6)
        self.query = jax.random.normal(keys[0], (width, 3), WEIGHTS)
        self.key = jax.random.normal(keys[1], (width, 3), WEIGHTS)
        self.inward = jax.random.normal(keys[2], (width, dimension), WEIGHTS) / math.sqrt(dimension)
        self.inward_shift = FIRST_SHIFT * jax.random.normal(keys[3], (width, 3), WEIGHTS)
        self.outward = jax.random.normal(keys[4], (dimension, width), WEIGHTS) / math.sqrt(width)
        self.outward_shift = FIRST_SHIFT * jax.random.normal(keys[5], (dimension, 3), WEIGHTS)
        self.share = jnp.zeros((3,), WEIGHTS)
        self.disorder = jnp.asarray(-1.0, WEIGHTS) if noise else None
        self.contraction = float(contraction)

    def rate(self, alpha: float) -> float:
        """`q = 1 - alpha + alpha c`, by which the averaged map contracts."""
        return 1 - alpha + alpha * self.contraction

    def __call__(self, points: Points, values: Values, key: Key) -> Points:
        return as_dtype(self, points.dtype)._propose(points, values, key)

    def _propose(self, points: Points, values: Values, key: Key) -> Points:
        order, back = ranking(values)
        x = points[order] - 0.5
        tokens = with_one(value_tokens(values[order]))
        crossed = self._mixing(tokens) @ x
        if self.disorder is not None:
            random = jax.nn.sigmoid(self.disorder)
            crossed = (1 - random) * crossed + random * jax.random.permutation(key, x)
        hidden = sorted_pairs(crossed @ unit_norm(self.inward).T + tokens @ self.inward_shift.T)
        mutated = hidden @ unit_norm(self.outward).T + tokens @ self.outward_shift.T
        share = jax.nn.sigmoid(tokens @ self.share)[:, None]
        return (0.5 + self.contraction * ((1 - share) * crossed + share * mutated))[back]

    def _mixing(self, tokens: Float[Array, "n 3"]) -> Float[Array, "n n"]:
        logits = (tokens @ self.query.T) @ (tokens @ self.key.T).T
        return balanced(logits / math.sqrt(self.query.shape[0]))


FIRST_SHIFT = 0.1
"""Standard deviation of the first weights that make shifts of values: a tenth of the cube."""

BALANCINGS = 10
"""How often rows and columns are scaled in `balanced`; the bound holds for any number."""


def balanced(logits: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """A non-negative matrix of 2-norm at most 1, nearly doubly stochastic.

    Rows that sum to 1 are not enough: n rows that all take the first individual have norm sqrt(n). A few steps of
    Sinkhorn and Knopp's scaling make rows and columns sum nearly to 1, and what is missing is made up by Schur's
    test, `|W|_2^2 <= (largest row sum) (largest column sum)`, so that the bound does not wait for the limit.
    """

    def scaled(logits: Float[Array, "n n"], _: None) -> tuple[Float[Array, "n n"], None]:
        logits = logits - jax.nn.logsumexp(logits, axis=1, keepdims=True)
        return logits - jax.nn.logsumexp(logits, axis=0, keepdims=True), None

    logits, _ = jax.lax.scan(scaled, logits, length=BALANCINGS)
    weights = jnp.exp(logits)
    return weights / jnp.sqrt(jnp.max(jnp.sum(weights, axis=0)) * jnp.max(jnp.sum(weights, axis=1)))


def unit_norm(weight: Float[Array, "m n"]) -> Float[Array, "m n"]:
    """The matrix, divided by its largest singular value where that is above 1; no estimate, which may be too low."""
    return weight / jnp.maximum(1, jnp.linalg.norm(weight, 2))


def sorted_pairs(rows: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Neighbouring pairs of entries in ascending order: a permutation where it is differentiable, so 1-Lipschitz."""
    n, width = rows.shape
    return jnp.sort(rows.reshape(n, width // 2, 2), axis=2).reshape(n, width)
