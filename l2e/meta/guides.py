"""Numerical guidance in training: steps along the true gradient. Nothing outside `l2e.meta` takes df/dx."""

import dataclasses
from abc import abstractmethod
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.algorithms.l2e.contracts import AbstractGuide
from l2e.algorithms.l2e.projection import AbstractMetric, Euclidean, LearnedDiagonal, LearnedLowRank
from l2e.algorithms.l2e.solver import L2E
from l2e.core import settings
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Count, Point, Points, Scalar, Values
from l2e.meta.objectives import AbstractObjective, Episode

Scale = Literal["unit-length", "values", "meta-loss"]
"""Of which gradient the guide follows what: each individual's direction, that of f, or that of the meta-loss."""


class AbstractPreconditioner(eqx.Module):
    """P_w of the paper: how a gradient becomes a step, and in which metric the step is projected onto the cube."""

    @abstractmethod
    def solve(self, gradients: Points, points: Points, slopes: Values, value: Any) -> Points:
        """P^-1 applied to each row.

        **Arguments:** `gradients`: of `slopes[i] * value` at each point; `value`: a function of one point.
        """

    @abstractmethod
    def project(self, points: Points) -> Points:
        """The nearest point of the unit cube in the norm of P, for each row."""


class Metric(AbstractPreconditioner):
    """P is the same everywhere: the identity by default; a learned metric is trained with the optimizer."""

    metric: AbstractMetric = Euclidean()

    def solve(self, gradients: Points, points: Points, slopes: Values, value: Any) -> Points:
        return self.metric.solve(gradients)

    def project(self, points: Points) -> Points:
        return self.metric.project(points)


class DiagonalHessian(AbstractPreconditioner):
    """P = |diag(H(x))| + damping, the curvature along each axis at each individual; no weights.

    It costs one Hessian-vector product per coordinate. The Hessian takes no part in the meta-gradient.

    **Arguments:** `damping`: in units of the mean curvature.
    """

    damping: Any = eqx.field(converter=np.asarray, default=1e-3)

    def solve(self, gradients: Points, points: Points, slopes: Values, value: Any) -> Points:
        of_values = jax.vmap(lambda point: _hessian_diagonal(value, point))(points)
        curvature = jax.lax.stop_gradient(slopes[:, None] * of_values)
        scale = jnp.mean(jnp.abs(curvature)) * jnp.asarray(self.damping, gradients.dtype)
        return gradients / (jnp.abs(curvature) + scale + jnp.finfo(gradients.dtype).tiny)

    def project(self, points: Points) -> Points:
        return jnp.clip(points, 0, 1)


class PopulationLoss(eqx.Module):
    """The meta-loss of a population, as if the episode ended with it: what the paper takes the gradient of.

    **Fields:** `objective`: of the training; `start_mean`, `start_best`: values of the first population; `f_opt`: of
    the optimum.
    """

    objective: AbstractObjective
    start_mean: Scalar
    start_best: Scalar
    f_opt: Scalar

    def __call__(self, values: Values) -> Scalar:
        mean, best = jnp.mean(values)[None], jnp.min(values)[None]
        return self.objective(Episode(self.start_mean, self.start_best, mean, best, self.f_opt))


class ProxyGradientGuide(AbstractGuide):
    """`d_OL = x - s_k P^-1 g(x)` with `s_k = kappa / (k + 1)`, evaluated: the paper's guidance in training.

    The paper's g is the gradient of the meta-loss: with its normalised improvement, the gradient of f over
    `N (|mean f(x_0)| + epsilon)`. That is `scale="meta-loss"`. With "values" g is the gradient of f, and values of
    1e6 throw every individual into a corner. With "unit-length" each individual's step is divided by its root mean
    square, so that kappa is a length.

    **Arguments:**

    - `problem`: the task.
    - `kappa`: the first step size, in widths of the box.
    - `preconditioner`: P.
    - `scale`: which g.
    - `second_order`: let the meta-gradient flow through g, at the price of Hessian-vector products.
    - `loss`: the meta-loss of a population, for `scale="meta-loss"`.
    - `project`: give points inside the cube; without it the solver projects after the gate, and a point outside has
      the value of its projection.
    """

    problem: AbstractTraceableProblem
    kappa: Scalar
    preconditioner: AbstractPreconditioner
    scale: Scale = eqx.field(static=True)
    second_order: bool = eqx.field(static=True)
    loss: PopulationLoss | None = None
    project: bool = eqx.field(static=True, default=True)

    def __call__(self, points: Points, values: Values, generation: Count) -> tuple[Points, Values]:
        space = self.problem.space

        def value(unit: Point) -> Scalar:
            return self.problem.evaluate((space.lower + unit * space.width)[None])[0]

        slopes = jnp.ones_like(values) if self.loss is None else jax.grad(self.loss)(values)
        gradients = slopes[:, None] * jax.vmap(jax.grad(value))(points)
        gradients = gradients if self.second_order else jax.lax.stop_gradient(gradients)
        steps = self.preconditioner.solve(gradients, points, slopes, value)
        steps = _unit_length(steps) if self.scale == "unit-length" else steps
        size = jnp.asarray(self.kappa, points.dtype) / (generation.astype(points.dtype) + 1)
        moved = points - size * steps
        inside = self.preconditioner.project(moved)
        return inside if self.project else moved, self.problem.evaluate(space.from_unit(inside))


class Guidance(eqx.Module):
    """How training is guided; the trainer makes a `ProxyGradientGuide` of it for each task.

    **Arguments:** `preconditioner`: P, whose arrays are trained with the optimizer, None for the metric in which the
    solver itself projects; `kappa`, `scale`, `second_order`: as in `ProxyGradientGuide`; `schedule`: kappa stays as it
    is through the whole training ("constant"), or falls linearly to zero ("annealed"); `until`: the fraction of the
    training after which annealed guidance is gone.
    """

    preconditioner: AbstractPreconditioner | None = Metric()
    kappa: float = eqx.field(static=True, default=0.1)
    scale: Scale = eqx.field(static=True, default="unit-length")
    second_order: bool = eqx.field(static=True, default=False)
    schedule: Literal["annealed", "constant"] = eqx.field(static=True, default="annealed")
    until: float = eqx.field(static=True, default=0.5)

    def __check_init__(self) -> None:
        if self.kappa < 0 or not 0 < self.until <= 1:
            raise ValueError(f"kappa must be >= 0 and until in (0, 1], got {self.kappa} and {self.until}")

    def strength(self, step: int, steps: int) -> float:
        """The factor of kappa at a step of the training."""
        return 1.0 if self.schedule == "constant" else max(0.0, 1.0 - step / (self.until * steps))

    def guide(
        self,
        problem: AbstractTraceableProblem,
        strength: Scalar,
        solver: Any = None,
        loss: PopulationLoss | None = None,
    ) -> ProxyGradientGuide:
        """The guide of a task at some strength.

        **Arguments:** `solver`: the optimizer that will be guided, whose metric and order of projection it follows;
        `loss`: the meta-loss of a population on this task, needed for `scale="meta-loss"`.
        """
        if self.scale == "meta-loss" and loss is None:
            raise ValueError('a guide with scale="meta-loss" needs the meta-loss of the task')
        return ProxyGradientGuide(
            problem,
            self.kappa * strength,
            _metric_of(solver) if self.preconditioner is None else self.preconditioner,
            self.scale,
            self.second_order,
            loss if self.scale == "meta-loss" else None,
            not (isinstance(solver, L2E) and solver.project_fused),
        )


def _metric_of(solver: Any) -> AbstractPreconditioner:
    if not isinstance(solver, L2E):
        raise TypeError(f"{type(solver).__name__} has no metric for its guide")
    return Metric(solver.metric)


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
    """The table [guidance] of a training file: the paper's proxy gradient; without the table, off.

    The keys are the arguments of `Guidance`, with the preconditioner by name: "identity", a learned "diagonal", a
    learned "low-rank" matrix of this `rank`, the diagonal of the "hessian", or that of the "solver", which is set by
    `metric` in [optimizer] and then serves the guided path and the projection alike, in training and after it.
    """

    kappa: float = 0.1
    preconditioner: Literal["identity", "diagonal", "low-rank", "hessian", "solver"] = "identity"
    rank: settings.Count = 2
    scale: Scale = "unit-length"
    second_order: bool = False
    schedule: Literal["annealed", "constant"] = "annealed"
    until: float = 0.5

    def build(self, dimension: int) -> Guidance:
        """The guidance."""
        return Guidance(
            self._preconditioner(dimension), self.kappa, self.scale, self.second_order, self.schedule, self.until
        )

    def _preconditioner(self, dimension: int) -> AbstractPreconditioner | None:
        match self.preconditioner:
            case "identity":
                return Metric()
            case "diagonal":
                return Metric(LearnedDiagonal(dimension))
            case "low-rank":
                return Metric(LearnedLowRank(dimension, self.rank, key=jax.random.key(0)))
            case "hessian":
                return DiagonalHessian()
            case "solver":
                return None
