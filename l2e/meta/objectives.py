"""What is learned: objectives take what happened in one episode and give one number to be made small."""

from abc import abstractmethod
from typing import ClassVar, Literal, get_args

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.core.errors import unknown
from l2e.core.problem import GAP_FLOOR
from l2e.core.traced.types import Scalar

Which = Literal["mean", "best"]


class Episode(eqx.Module):
    """The values an optimizer met on one task, differentiable in its weights.

    **Fields:** `start_mean`, `start_best`: mean and best value of the first population; `mean`: mean value of the
    population after each generation; `best`: best value so far; `f_opt`: the value of the task's optimum.
    """

    start_mean: Scalar
    start_best: Scalar
    mean: Float[Array, "k"]
    best: Float[Array, "k"]
    f_opt: Scalar

    def until(self, generations: int) -> "Episode":
        """The episode cut after some generations."""
        return Episode(self.start_mean, self.start_best, self.mean[:generations], self.best[:generations], self.f_opt)


class AbstractObjective(eqx.Module):
    """A meta-objective: one number per episode, small is good.

    Its static fields are also the keys of the table [objective] in a training file, `kind` its name there.
    """

    kind: ClassVar[str]

    @abstractmethod
    def __call__(self, episode: Episode) -> Scalar:
        """The loss of an episode."""


class NormalisedImprovement(AbstractObjective):
    """The paper's meta-loss, `-(fbar(x0) - fbar(xK)) / (|fbar(x0)| + epsilon)`, fbar the mean of the population.

    It cannot fall below -1 when the optimum is worth 0: the last decades of a gap are invisible to it.
    """

    kind: ClassVar[str] = "normalised-improvement"
    epsilon: float = eqx.field(static=True, default=1e-8)

    def __call__(self, episode: Episode) -> Scalar:
        start = episode.start_mean - episode.f_opt
        end = episode.mean[-1] - episode.f_opt
        return -(start - end) / (jnp.abs(start) + self.epsilon)


class LogGap(AbstractObjective):
    """log10 of the final gap to the optimum, so that each decade counts the same.

    **Arguments:** `which`: the gap of the population's "mean" or of the "best" value; `floor`: added to the gap;
    `relative`: subtract the logarithm of the first population's gap, which removes the scale of the task.
    """

    kind: ClassVar[str] = "log-gap"
    which: Which = eqx.field(static=True, default="mean")
    floor: float = eqx.field(static=True, default=GAP_FLOOR)
    relative: bool = eqx.field(static=True, default=True)

    def __check_init__(self) -> None:
        _check_which(self.which)
        _check_floor(self.floor)

    def __call__(self, episode: Episode) -> Scalar:
        start, curve = _curve(episode, self.which)
        loss = _log_gap(curve[-1], episode.f_opt, self.floor)
        return loss - _log_gap(start, episode.f_opt, self.floor) if self.relative else loss


class AreaUnderCurve(AbstractObjective):
    """The mean over generations of log10 of the gap: being early counts, and no block of weights is without a signal.

    **Arguments:** `which`, `floor`, `relative`: as in `LogGap`; `late`: weight of the last generation against the
    first, 1 for a plain mean (weights change geometrically in between).
    """

    kind: ClassVar[str] = "area"
    which: Which = eqx.field(static=True, default="mean")
    floor: float = eqx.field(static=True, default=GAP_FLOOR)
    relative: bool = eqx.field(static=True, default=True)
    late: float = eqx.field(static=True, default=1.0)

    def __check_init__(self) -> None:
        _check_which(self.which)
        _check_floor(self.floor)
        if self.late <= 0:
            raise ValueError(f"late must be positive, got {self.late}")

    def __call__(self, episode: Episode) -> Scalar:
        start, curve = _curve(episode, self.which)
        weights = self.late ** jnp.linspace(0, 1, curve.shape[0], dtype=curve.dtype)
        loss = jnp.sum(weights * _log_gap(curve, episode.f_opt, self.floor)) / jnp.sum(weights)
        return loss - _log_gap(start, episode.f_opt, self.floor) if self.relative else loss


def _curve(episode: Episode, which: Which) -> tuple[Scalar, Float[Array, "k"]]:
    return (episode.start_mean, episode.mean) if which == "mean" else (episode.start_best, episode.best)


def _log_gap(values: Float[Array, "..."], f_opt: Scalar, floor: float) -> Float[Array, "..."]:
    return jnp.log10(jnp.maximum(values - f_opt, 0) + floor)  # rounding may put a value below the optimum


def _check_which(which: str) -> None:
    if which not in get_args(Which):
        raise unknown("curve", which, get_args(Which))


def _check_floor(floor: float) -> None:
    if floor <= 0:
        raise ValueError(f"floor must be positive, got {floor}")
