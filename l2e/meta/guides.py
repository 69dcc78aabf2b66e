"""Numerical guidance in training: steps along the true gradient. Nothing outside `l2e.meta` takes df/dx."""

import dataclasses
from abc import abstractmethod
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.l2e.contracts import AbstractGuide
from l2e.algorithms.l2e.projection import AbstractMetric, Diagonal, Euclidean
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Count, Point, Points, Scalar, Values


class AbstractPreconditioner(eqx.Module):
    """P_w of the paper: how a gradient becomes a step, and in which metric the step is projected onto the cube."""

    @abstractmethod
    def solve(self, gradients: Points, points: Points, value: Any) -> Points:
        """P^-1 applied to each row; `value` is the function of one point of which the rows are gradients."""

    @abstractmethod
    def project(self, points: Points) -> Points:
        """The nearest point of the unit cube in the norm of P, for each row."""


class Metric(AbstractPreconditioner):
    """A fixed P: the identity by default."""

    metric: AbstractMetric = Euclidean()

    def solve(self, gradients: Points, points: Points, value: Any) -> Points:
        return self.metric.solve(gradients)

    def project(self, points: Points) -> Points:
        return self.metric.project(points)


class LearnedDiagonal(AbstractPreconditioner):
    """P = diag(exp(w)), with one weight per coordinate."""

    log_diagonal: Point

    def __init__(self, dimension: int):
        self.log_diagonal = jnp.zeros(dimension)

    def solve(self, gradients: Points, points: Points, value: Any) -> Points:
        return Diagonal(jnp.exp(self.log_diagonal)).solve(gradients)

    def project(self, points: Points) -> Points:
        return Diagonal(jnp.exp(self.log_diagonal)).project(points)


class DiagonalHessian(AbstractPreconditioner):
    """P = |diag(H(x))| + damping, the curvature along each axis at each individual; no weights.

    It costs one Hessian-vector product per coordinate. The Hessian takes no part in the meta-gradient.

    **Arguments:** `damping`: in units of the mean curvature.
    """

    damping: Any = eqx.field(converter=np.asarray, default=1e-3)

    def solve(self, gradients: Points, points: Points, value: Any) -> Points:
        curvature = jax.lax.stop_gradient(jax.vmap(lambda point: _hessian_diagonal(value, point))(points))
        scale = jnp.mean(jnp.abs(curvature)) * jnp.asarray(self.damping, gradients.dtype)
        return gradients / (jnp.abs(curvature) + scale + jnp.finfo(gradients.dtype).tiny)

    def project(self, points: Points) -> Points:
        return jnp.clip(points, 0, 1)


class ProxyGradientGuide(AbstractGuide):
    """`d_OL = x - s_k P^-1 grad f(x)` with `s_k = kappa / (k + 1)`, evaluated: the paper's guidance in training.

    **Arguments:**

    - `problem`: the task.
    - `kappa`: the first step size, in widths of the box.
    - `preconditioner`: P.
    - `normalise`: divide each individual's step by its root mean square, so that kappa is a length whatever the
      scale of the values; without it values of 1e6 throw every individual into a corner.
    - `second_order`: let the meta-gradient flow through grad f, at the price of Hessian-vector products.
    """

    problem: AbstractTraceableProblem
    kappa: Scalar
    preconditioner: AbstractPreconditioner
    normalise: bool = eqx.field(static=True)
    second_order: bool = eqx.field(static=True)

    def __call__(self, points: Points, values: Values, generation: Count) -> tuple[Points, Values]:
        space = self.problem.space

        def value(unit: Point) -> Scalar:
            return self.problem.evaluate((space.lower + unit * space.width)[None])[0]

        gradients = jax.vmap(jax.grad(value))(points)
        gradients = gradients if self.second_order else jax.lax.stop_gradient(gradients)
        steps = self.preconditioner.solve(gradients, points, value)
        steps = _unit_length(steps) if self.normalise else steps
        size = jnp.asarray(self.kappa, points.dtype) / (generation.astype(points.dtype) + 1)
        moved = self.preconditioner.project(points - size * steps)
        return moved, self.problem.evaluate(space.from_unit(moved))


class Guidance(eqx.Module):
    """How training is guided; the trainer makes a `ProxyGradientGuide` of it for each task.

    **Arguments:** `preconditioner`: P, whose arrays are trained with the optimizer; `kappa`, `normalise`,
    `second_order`: as in `ProxyGradientGuide`; `until`: the fraction of the training after which guidance is gone,
    kappa falls linearly to zero until then.
    """

    preconditioner: AbstractPreconditioner = Metric()
    kappa: float = eqx.field(static=True, default=0.1)
    normalise: bool = eqx.field(static=True, default=True)
    second_order: bool = eqx.field(static=True, default=False)
    until: float = eqx.field(static=True, default=0.5)

    def __check_init__(self) -> None:
        if self.kappa < 0 or not 0 < self.until <= 1:
            raise ValueError(f"kappa must be >= 0 and until in (0, 1], got {self.kappa} and {self.until}")

    def strength(self, step: int, steps: int) -> float:
        """The factor of kappa at a step of the training."""
        return max(0.0, 1.0 - step / (self.until * steps))

    def guide(self, problem: AbstractTraceableProblem, strength: Scalar) -> ProxyGradientGuide:
        """The guide of a task at some strength."""
        return ProxyGradientGuide(
            problem, self.kappa * strength, self.preconditioner, self.normalise, self.second_order
        )


def _unit_length(steps: Points) -> Points:
    """Each row divided by its root mean square; a row of zeros stays."""
    square = jnp.mean(steps * steps, axis=1, keepdims=True)
    tiny = jnp.finfo(steps.dtype).tiny
    return jnp.where(square > tiny, steps / jnp.sqrt(jnp.maximum(square, tiny)), 0.0)


def _hessian_diagonal(value: Any, point: Point) -> Point:
    def curvature(direction: Point) -> Scalar:
        return jnp.vdot(jax.jvp(jax.grad(value), (point,), (direction,))[1], direction)

    return jax.vmap(curvature)(jnp.eye(point.shape[0], dtype=point.dtype))


@dataclasses.dataclass(frozen=True)
class GuidanceSettings:
    """The table [guidance] of a training file: the paper's proxy gradient, annealed to zero; without the table, off.

    The keys are the arguments of `Guidance`, with the preconditioner by name.
    """

    kappa: float = 0.1
    preconditioner: Literal["identity", "diagonal", "hessian"] = "identity"
    normalise: bool = True
    second_order: bool = False
    until: float = 0.5

    def build(self, dimension: int) -> Guidance:
        """The guidance."""
        match self.preconditioner:
            case "identity":
                preconditioner = Metric()
            case "diagonal":
                preconditioner = LearnedDiagonal(dimension)
            case "hessian":
                preconditioner = DiagonalHessian()
        return Guidance(preconditioner, self.kappa, self.normalise, self.second_order, self.until)
