"""Gates of the composite solver: how the guided and the proposed alternative of each individual become one."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.algorithms.population import check_range, leaf
from l2e.core.traced.types import Points, Scalar, Values


class AbstractGate(eqx.Module):
    """Fuses two alternatives into one population.

    A gate that `selects` takes one of the two for each individual, whose value is known. One that does not makes new
    points, which have to be evaluated.
    """

    @property
    @abstractmethod
    def selects(self) -> bool:
        """Whether each fused point is one of the two."""

    @abstractmethod
    def weights(self, guided: Values, proposed: Values) -> Values:
        """The share M of the guided alternative for each individual, from the values of both."""

    @abstractmethod
    def fuse(self, weights: Values, guided: Points, proposed: Points) -> Points:
        """The fused population."""


class HardGate(AbstractGate):
    """The better of the two, the proposed one if they are equal: the limit of the soft gate at temperature 0."""

    @property
    def selects(self) -> bool:
        return True

    def weights(self, guided: Values, proposed: Values) -> Values:
        accepted = (proposed <= guided) & jnp.isfinite(proposed)
        return jnp.where(accepted, 0, 1).astype(guided.dtype)

    def fuse(self, weights: Values, guided: Points, proposed: Points) -> Points:
        return jnp.where((weights > 0)[:, None], guided, proposed)


class SoftGate(AbstractGate):
    """`M = sigmoid(-(f_guided - f_proposed) / tau)`, the blend is `M guided + (1 - M) proposed`.

    On raw values the gate is a switch for functions of large range and 1/2 near convergence; a scale-free difference
    is divided by the mean absolute deviation of the values of both populations. No gradient passes through the
    difference unless the gate is `differentiable`, as the paper's is: through it back-propagation knows that moving a
    point changes its weight. Where one alternative has failed the other is taken, where both have, the guided one.

    **Arguments:** `tau`: the temperature; `scale_free`: whether the difference is; `differentiable`: whether M is.
    """

    tau: Any = eqx.field(converter=leaf, default=1.0)
    scale_free: bool = eqx.field(static=True, default=True)
    differentiable: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        check_range("tau", self.tau, 0, float("inf"))

    @property
    def selects(self) -> bool:
        return False

    def weights(self, guided: Values, proposed: Values) -> Values:
        if not self.differentiable:
            guided, proposed = jax.lax.stop_gradient((guided, proposed))
        both = jnp.isfinite(guided) & jnp.isfinite(proposed)
        difference = jnp.where(both, guided - proposed, 0)
        if self.scale_free:
            difference = difference / deviation(jnp.concatenate([guided, proposed]))
        tau = jnp.maximum(jnp.asarray(self.tau, guided.dtype), jnp.finfo(guided.dtype).tiny)
        soft = jax.nn.sigmoid(-difference / tau)
        return jnp.where(both, soft, jnp.where(jnp.isfinite(proposed), 0, 1))

    def fuse(self, weights: Values, guided: Points, proposed: Points) -> Points:
        return blend(weights, guided, proposed)


class FixedGate(AbstractGate):
    """The same share for all, whatever the values: the solver without its gate.

    **Arguments:** `weight`: the share of the guided alternative.
    """

    weight: Any = eqx.field(converter=leaf, default=0.5)

    def __check_init__(self) -> None:
        check_range("weight", self.weight, 0, 1)

    @property
    def selects(self) -> bool:
        return False

    def weights(self, guided: Values, proposed: Values) -> Values:
        return jnp.full_like(guided, self.weight)

    def fuse(self, weights: Values, guided: Points, proposed: Points) -> Points:
        return blend(weights, guided, proposed)


def blend(weights: Values, guided: Points, proposed: Points) -> Points:
    """`M guided + (1 - M) proposed`."""
    share = weights[:, None]
    return share * guided + (1 - share) * proposed


def deviation(values: Values) -> Scalar:
    """The mean absolute deviation of the finite values from their mean, 1 if there is none."""
    finite = jnp.isfinite(values)
    count = jnp.maximum(jnp.sum(finite), 1)
    shares = jnp.where(finite, values, 0) / count  # divided before they are summed: large values would overflow
    mean = jnp.sum(shares)
    result = jnp.sum(jnp.where(finite, jnp.abs(values - mean), 0) / count)
    return jnp.where((result > 0) & jnp.isfinite(result), result, 1)
