"""Gradients of the meta-loss without derivatives: antithetic evolution strategies, plain and persistent.

They see the loss smoothed by noise on the weights, so chaotic or flat dynamics do no harm; the price is variance that
grows with the number of weights.
"""

from typing import Any, ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from l2e.core.errors import unknown
from l2e.core.traced.types import Count, Key
from l2e.meta import parts
from l2e.meta.estimators.backprop import AbstractGradientEstimator, Estimate, add_tasks, check_clip, zero_estimate
from l2e.meta.loss import MetaLoss, Work
from l2e.meta.rollout import Run, advance

Shaping = Literal["raw", "normalised", "ranks"]


class AntitheticES(AbstractGradientEstimator):
    """`g = mean over pairs of (L(w + sigma e) - L(w - sigma e)) / (2 sigma) e`, e normal.

    Every pair meets all tasks of the step, both members with the same random numbers.

    **Arguments:**

    - `pairs`: number of perturbations.
    - `sigma`: their size.
    - `shaping`: "raw" differences of losses; "normalised": divided per task by the spread of its losses, so that no
      task dominates; "ranks": losses replaced by centred ranks in [-0.5, 0.5], per task.
    - `clip`: the largest norm of the gradient of a task's mean loss.
    - `knots`: for weights of which each generation has its own: 0 perturbs them independently; otherwise noise is
      drawn at so many generations and interpolated in between, 1 being the same noise for all. Millions of weights
      then have a search space of thousands, at the price of moving only along it.
    - `parallel`: pairs that are computed side by side, at the price of their memory.
    """

    kind: ClassVar[str] = "es"
    pairs: int = eqx.field(static=True, default=8)
    sigma: float = eqx.field(static=True, default=0.02)
    shaping: Shaping = eqx.field(static=True, default="normalised")
    clip: float = eqx.field(static=True, default=float("inf"))
    knots: int = eqx.field(static=True, default=0)
    parallel: int = eqx.field(static=True, default=1)

    def __check_init__(self) -> None:
        check_clip(self.clip)
        if self.shaping not in get_args(Shaping):
            raise unknown("shaping", self.shaping, get_args(Shaping))
        if self.pairs < 1 or self.sigma <= 0 or self.parallel < 1:
            raise ValueError(
                f"pairs >= 1, sigma > 0 and parallel >= 1 are needed, got {self.pairs}, {self.sigma}, {self.parallel}"
            )
        if self.shaping != "raw" and self.pairs < 2:
            raise ValueError(f"{self.shaping!r} compares pairs: at least 2 are needed, got {self.pairs}")

    def init(self, loss: MetaLoss, weights: Any, work: Work) -> None:
        return None

    def __call__(self, loss: MetaLoss, weights: Any, carry: None, work: Work) -> tuple[Estimate, None]:
        keys = jax.random.split(jax.random.fold_in(work.step_key, 1), self.pairs)

        def of_pair(key: Key) -> Float[Array, "2 tasks"]:
            noise = self._noise(loss, key, weights)
            both = [_moved(weights, noise, sign * self.sigma) for sign in (1, -1)]
            return jnp.stack([_losses(loss, moved, work) for moved in both])

        losses = jax.lax.map(of_pair, keys, batch_size=min(self.parallel, self.pairs))  # (pairs, 2, tasks)
        good = jnp.isfinite(losses).all(axis=(0, 1))  # a task that fails once has no fair comparison
        differences = _shaped(losses, good, self.shaping) / (2 * self.sigma)  # (pairs, tasks)

        def add(total: Any, inputs: tuple[Key, Float[Array, "tasks"]]) -> tuple[Any, None]:
            key, weight = inputs
            noise = self._noise(loss, key, weights)  # drawn again instead of kept
            return jax.tree.map(lambda sums, leaf: sums + jnp.sum(weight) / self.pairs * leaf, total, noise), None

        gradient = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, weights), (keys, differences))[0]
        mean_loss = jnp.sum(jnp.where(good, jnp.mean(losses, axis=(0, 1)), 0))
        return _estimate(gradient, mean_loss, good, self.clip), None

    def _noise(self, loss: MetaLoss, key: Key, weights: Any) -> Any:
        return tied_like(key, weights, loss.stacked(weights), self.knots) if self.knots else normal_like(key, weights)


def _estimate(gradient: Any, loss: Any, good: Any, clip: float) -> Estimate:
    """The clip is on the mean over tasks: a pair has met all of them."""
    counted = jnp.sum(good).astype(loss.dtype)
    n = jnp.maximum(counted, 1)
    one = add_tasks(zero_estimate(gradient), loss[None] / n, jax.tree.map(lambda leaf: leaf[None] / n, gradient), clip)
    clipped = jax.tree.map(lambda leaf: leaf * n, one.gradient)
    skipped = jnp.sum(~good).astype(loss.dtype)
    return Estimate(clipped, loss, counted, skipped, one.clipped * n, one.norm * n, gradient)


def _losses(loss: MetaLoss, weights: Any, work: Work) -> Float[Array, "tasks"]:
    bounded, inner = parts.bound(weights), loss.bound()

    def group(inputs: tuple[Count, Key]) -> Float[Array, "n"]:
        family, keys = inputs
        return jax.vmap(lambda key: inner(bounded, family, key, work.strength))(keys)

    return jax.lax.map(group, (work.families, work.keys)).reshape(-1)


def _shaped(losses: Float[Array, "pairs 2 tasks"], good: Any, shaping: Shaping) -> Float[Array, "pairs tasks"]:
    losses = jnp.where(good, losses, 0)
    if shaping == "ranks":
        flat = losses.reshape(-1, losses.shape[-1])
        ranks = jnp.argsort(jnp.argsort(flat, axis=0), axis=0).astype(losses.dtype)
        losses = (ranks / (flat.shape[0] - 1) - 0.5).reshape(losses.shape)
    if shaping == "normalised":
        spread = jnp.std(losses, axis=(0, 1))
        losses = losses / jnp.where(spread > 0, spread, 1)
    return jnp.where(good, losses[:, 0] - losses[:, 1], 0)


class Particle(eqx.Module):
    """What persistent ES carries for one task.

    **Fields:** `plus`, `minus`: the two perturbed runs; `noise`: the sum of all noise since they began; `key`: of the
    task and the first population; `age`: generations done; `fresh`: the runs are still to begin.
    """

    plus: Run
    minus: Run
    noise: Any
    key: Key
    age: Count
    fresh: Bool[Array, ""]


class PersistentES(AbstractGradientEstimator):
    """Persistent evolution strategies: unbiased although each step unrolls only a few generations.

    P. Vicol, L. Metz, J. Sohl-Dickstein, "Unbiased gradient estimation in unrolled computation graphs with persistent
    evolution strategies", ICML 2021. Each task keeps its two perturbed runs over many steps and gets fresh noise at
    each; a loss is credited to the sum of all noise since its episode began.

    **Arguments:** `length`: generations per step, a divisor of the episode's; `sigma`: size of the noise; `clip`: the
    largest norm of one task's share.
    """

    kind: ClassVar[str] = "persistent-es"
    length: int = eqx.field(static=True, default=10)
    sigma: float = eqx.field(static=True, default=0.02)
    clip: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        check_clip(self.clip)
        if self.length < 1 or self.sigma <= 0:
            raise ValueError(f"length >= 1 and sigma > 0 are needed, got {self.length} and {self.sigma}")

    def init(self, loss: MetaLoss, weights: Any, work: Work) -> Particle:
        if loss.generations % self.length:
            raise ValueError(f"length {self.length} must divide the {loss.generations} generations of an episode")
        groups, size = work.keys.shape
        segments = loss.generations // self.length
        # First episodes are cut to different lengths, so that later all ages are equally frequent in a step.
        ages = (jnp.arange(groups * size) * segments // (groups * size) * self.length).reshape(groups, size)

        def fresh(family: Count, keys: Key, ages: Any) -> Particle:
            return jax.vmap(lambda key, age: _fresh(loss, weights, family, key, age))(keys, ages)

        return jax.lax.map(lambda inputs: fresh(*inputs), (work.families, work.keys, ages.astype(jnp.int32)))

    def __call__(self, loss: MetaLoss, weights: Any, carry: Particle, work: Work) -> tuple[Estimate, Particle]:
        def one(family: Count, particle: Particle, key: Key) -> tuple[Any, Any, Particle]:
            return self._step(loss, weights, family, particle, key, work)

        def group(total: Estimate, inputs: Any) -> tuple[Estimate, Particle]:
            family, particles, keys = inputs
            losses, gradients, particles = jax.vmap(lambda particle, key: one(family, particle, key))(particles, keys)
            return add_tasks(total, losses, gradients, self.clip), particles

        return jax.lax.scan(group, zero_estimate(weights), (work.families, carry, work.keys))

    def _step(self, loss: MetaLoss, weights: Any, family: Count, particle: Particle, key: Key, work: Work) -> Any:
        noise_key, next_key = jax.random.split(key)
        task = loss.task(family, jax.random.split(particle.key)[0])
        noise = normal_like(noise_key, weights)
        total = jax.tree.map(jnp.add, particle.noise, noise)

        def run_on(run: Run, sign: int) -> tuple[Run, Any]:
            moved = _moved(weights, noise, sign * self.sigma)
            # The first proposals are made with the first population, so a run begins with the weights of its noise.
            begun = loss.start(moved, family, particle.key)[1]
            run = jax.tree.map(lambda a, b: jnp.where(particle.fresh, a, b), begun, run)
            optimizer = loss.optimizer(moved, task, work.strength, run)
            run, episode = advance(optimizer, task, run, self.length, rematerialise=False, first=False)
            return run, loss.objective(episode)

        (plus, up), (minus, down) = run_on(particle.plus, 1), run_on(particle.minus, -1)
        gradient = jax.tree.map(lambda leaf: leaf * (up - down) / (2 * self.sigma), total)
        age = particle.age + self.length
        ended = (age >= loss.generations) | ~(jnp.isfinite(up) & jnp.isfinite(down))
        after = Particle(
            plus=plus,
            minus=minus,
            noise=jax.tree.map(lambda leaf: jnp.where(ended, 0, leaf), total),
            key=jnp.where(ended, next_key, particle.key),
            age=jnp.where(ended, 0, age),
            fresh=ended,
        )
        return (up + down) / 2, gradient, after


def _fresh(loss: MetaLoss, weights: Any, family: Count, key: Key, age: Any) -> Particle:
    _, run = loss.start(weights, family, key)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return Particle(run, run, zeros, key, jnp.asarray(age, jnp.int32), jnp.ones((), bool))


def tied_like(key: Key, tree: Any, stacked: Any, knots: int) -> Any:
    """Normal numbers in the shape of a pytree, tied along the leading axis of the leaves that are `stacked`.

    Linear interpolation between knots, divided by its own standard deviation, so that all generations are perturbed
    alike.
    """
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))

    def noise(key: Key, leaf: Any, is_stacked: bool) -> Any:
        if not is_stacked:
            return jax.random.normal(key, leaf.shape, leaf.dtype)
        places = jnp.linspace(0, max(knots - 1, 0), leaf.shape[0], dtype=leaf.dtype)
        shares = jnp.maximum(0, 1 - jnp.abs(places[:, None] - jnp.arange(knots, dtype=leaf.dtype)))
        shares = shares / jnp.sqrt(jnp.sum(shares**2, axis=1, keepdims=True))
        drawn = jax.random.normal(key, (knots, *leaf.shape[1:]), leaf.dtype)
        return jnp.tensordot(shares, drawn, axes=1)

    flags = jax.tree.leaves(stacked)
    drawn = [noise(key, leaf, flag) for key, leaf, flag in zip(keys, leaves, flags, strict=True)]
    return jax.tree.unflatten(structure, drawn)


def _moved(weights: Any, noise: Any, size: float) -> Any:
    return jax.tree.map(lambda leaf, direction: leaf + size * direction, weights, noise)


def normal_like(key: Key, tree: Any) -> Any:
    """Normal numbers in the shape of a pytree."""
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, len(leaves))
    noise = [jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, noise)
