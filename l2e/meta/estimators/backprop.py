"""Gradients of the meta-loss by back-propagation, and what all estimators of it have in common.

An estimator returns sums over tasks together with the number of tasks they hold, so that several processes can share
the tasks of a step. A task whose loss or gradient is not finite is left out and counted.
"""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from l2e.core.traced.types import Count, Key, Scalar
from l2e.meta import parts
from l2e.meta.loss import MetaLoss, Work


class Estimate(eqx.Module):
    """Sums over the tasks of a step.

    **Fields:** `gradient`: sum of the gradients of the tasks that count; `loss`: sum of their losses; `counted`,
    `skipped`, `clipped`: numbers of tasks that count, are left out as not finite, were cut to the largest norm;
    `norm`: sum of the norms of the tasks' gradients before clipping; `unclipped`: sum of these gradients themselves.
    """

    gradient: Any
    loss: Scalar
    counted: Scalar
    skipped: Scalar
    clipped: Scalar
    norm: Scalar
    unclipped: Any

    def mean(self) -> tuple[Any, Scalar]:
        """Mean gradient and mean loss over the tasks that count; zero and NaN if there is none."""
        n = jnp.maximum(self.counted, 1)
        loss = jnp.where(self.counted > 0, self.loss / n, jnp.nan)
        return jax.tree.map(lambda leaf: leaf / n, self.gradient), loss

    def unclipped_norm(self) -> Scalar:
        """The norm of the mean gradient without clipping: what theorems on the rate of a training speak of."""
        return task_norms(jax.tree.map(lambda leaf: leaf[None] / jnp.maximum(self.counted, 1), self.unclipped))[0]


class AbstractGradientEstimator(eqx.Module):
    """A way to estimate the gradient of the mean meta-loss with respect to the weights.

    Its static fields are also the keys of the table [estimator] in a training file, `kind` its name there.
    """

    kind: ClassVar[str]
    clip: eqx.AbstractVar[float]

    @abstractmethod
    def init(self, loss: MetaLoss, weights: Any, work: Work) -> Any:
        """What is carried from step to step, None for most."""

    @abstractmethod
    def __call__(self, loss: MetaLoss, weights: Any, carry: Any, work: Work) -> tuple[Estimate, Any]:
        """The estimate from these tasks, and what to carry."""


class FullBPTT(AbstractGradientEstimator):
    """Back-propagation through all generations: exact, and useful as long as the dynamics are not chaotic.

    **Arguments:** `clip`: the largest norm of one task's gradient, so that one rugged task does not outweigh the rest.
    """

    kind: ClassVar[str] = "full"
    clip: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        check_clip(self.clip)

    def init(self, loss: MetaLoss, weights: Any, work: Work) -> None:
        return None

    def __call__(self, loss: MetaLoss, weights: Any, carry: None, work: Work) -> tuple[Estimate, None]:
        return _back_propagated(loss, weights, work, self.clip, None), None


class TruncatedBPTT(AbstractGradientEstimator):
    """Back-propagation inside segments: no gradient through the state from one to the next, one loss at each end.

    With `length=1` each generation learns its own step only.

    **Arguments:** `length`: generations per segment; `clip`: as in `FullBPTT`.
    """

    kind: ClassVar[str] = "truncated"
    length: int = eqx.field(static=True, default=10)
    clip: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        check_clip(self.clip)
        if self.length < 1:
            raise ValueError(f"length must be at least 1, got {self.length}")

    def init(self, loss: MetaLoss, weights: Any, work: Work) -> None:
        return None

    def __call__(self, loss: MetaLoss, weights: Any, carry: None, work: Work) -> tuple[Estimate, None]:
        return _back_propagated(loss, weights, work, self.clip, self.length), None


def _back_propagated(loss: MetaLoss, weights: Any, work: Work, clip: float, cut_every: int | None) -> Estimate:
    # What depends on the weights alone is computed once for all tasks; tasks are clipped behind it.
    bounded, pull_back = jax.vjp(parts.bound, weights)
    inner = loss.bound()

    def one(family: Count, key: Key) -> tuple[Scalar, Any]:
        return jax.value_and_grad(inner)(bounded, family, key, work.strength, cut_every)

    def group(total: Estimate, inputs: tuple[Count, Key]) -> tuple[Estimate, None]:
        family, keys = inputs
        losses, gradients = jax.vmap(lambda key: one(family, key))(keys)
        return add_tasks(total, losses, gradients, clip), None

    total = jax.lax.scan(group, zero_estimate(bounded), (work.families, work.keys))[0]
    gradient, unclipped = pull_back(total.gradient)[0], pull_back(total.unclipped)[0]
    return dataclasses.replace(total, gradient=gradient, unclipped=unclipped)


def zero_estimate(weights: Any) -> Estimate:
    """The sum of nothing."""
    zero = jnp.zeros((), jax.tree.leaves(weights)[0].dtype)
    nothing = jax.tree.map(jnp.zeros_like, weights)
    return Estimate(nothing, zero, zero, zero, zero, zero, nothing)


def add_tasks(total: Estimate, losses: Float[Array, "n"], gradients: Any, clip: float) -> Estimate:
    """Add tasks to the sums: clipped each by itself, left out where not finite. Leaves have a leading axis."""
    norms = task_norms(gradients)
    good = jnp.isfinite(losses) & jnp.isfinite(norms)
    factors = jnp.where(good, jnp.minimum(1, clip / jnp.maximum(norms, jnp.finfo(norms.dtype).tiny)), 0)
    whole = good.astype(norms.dtype)
    return Estimate(
        gradient=jax.tree.map(lambda sums, leaf: sums + _weighted(leaf, factors, good), total.gradient, gradients),
        loss=total.loss + jnp.sum(jnp.where(good, losses, 0)),
        counted=total.counted + jnp.sum(good),
        skipped=total.skipped + jnp.sum(~good),
        clipped=total.clipped + jnp.sum(good & (norms > clip)),
        norm=total.norm + jnp.sum(jnp.where(good, norms, 0)),
        unclipped=jax.tree.map(lambda sums, leaf: sums + _weighted(leaf, whole, good), total.unclipped, gradients),
    )


def task_norms(gradients: Any) -> Float[Array, "n"]:
    """The Euclidean norm of each task's gradient, without overflow of the squares."""
    leaves = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(gradients)]
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(leaf), axis=1) for leaf in leaves]), axis=0)
    scale = jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1)
    return scale * jnp.sqrt(sum(jnp.sum((leaf / scale[:, None]) ** 2, axis=1) for leaf in leaves))


def _weighted(leaf: Float[Array, "n ..."], factors: Float[Array, "n"], good: Bool[Array, "n"]) -> Any:
    shape = (-1,) + (1,) * (leaf.ndim - 1)
    safe = jnp.where(good.reshape(shape), leaf, 0)  # zero times infinity is NaN
    return jnp.sum(factors.reshape(shape) * safe, axis=0)


def check_clip(clip: float) -> None:
    """A clip that can be used, or an error."""
    if not clip > 0:
        raise ValueError(f"clip must be positive (inf for no clipping), got {clip}")
