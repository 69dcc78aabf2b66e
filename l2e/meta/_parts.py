"""What meta-training knows of the inside of L2E; any other optimizer is only asked and told."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e._types import Values
from l2e.nn import SpectralLinear
from l2e.operator import AbstractGuide
from l2e.operators import Unshared
from l2e.optimizer import AbstractOptimizer
from l2e.optimizers.l2e_solver import L2E
from l2e.peers.b2opt import B2OPT
from l2e.peers.glhf import GLHF


def population_values(optimizer: AbstractOptimizer[Any], state: Any, told: Values) -> Values:
    """The values of the population after a generation; of an unknown optimizer, those of its last batch."""
    return state.values if isinstance(optimizer, L2E | B2OPT | GLHF) else told


def rounds(optimizer: AbstractOptimizer[Any]) -> int:
    """Rounds of ask and tell in one generation."""
    return optimizer.rounds if isinstance(optimizer, L2E) else 1


def first_block(optimizer: AbstractOptimizer[Any]) -> AbstractOptimizer[Any]:
    """The optimizer for the batch that ends with the proposals of generation 0."""
    if not (_has_blocks(optimizer) and isinstance(optimizer, L2E)):
        return optimizer
    return optimizer.with_operator(jax.tree.map(lambda leaf: leaf[0], optimizer.schedule.blocks(1)))


def split_blocks(optimizer: AbstractOptimizer[Any], generations: int) -> tuple[Any, AbstractOptimizer[Any]]:
    """The weights that each generation has for itself, with a leading axis, and the optimizer without them.

    Telling the values of generation k makes the proposals of k + 1, so the axis begins with the second operator. What
    is proposed at the very end is not evaluated any more: the last operator stands in there.
    """
    if not _has_blocks(optimizer):
        return None, optimizer
    blocks = optimizer.schedule.blocks(generations)  # pyright: ignore[reportAttributeAccessIssue]
    shifted = jax.tree.map(lambda leaf: jnp.concatenate([leaf[1:], leaf[-1:]]), blocks)
    return shifted, first_block(optimizer)


def join_block(optimizer: AbstractOptimizer[Any], block: Any) -> AbstractOptimizer[Any]:
    """The optimizer of one generation."""
    return optimizer if block is None else optimizer.with_operator(block)  # pyright: ignore[reportAttributeAccessIssue]


def with_guide(optimizer: AbstractOptimizer[Any], guide: AbstractGuide) -> AbstractOptimizer[Any]:
    """The optimizer with this guide; only L2E has one."""
    if not isinstance(optimizer, L2E):
        raise TypeError(f"guidance is for L2E; {type(optimizer).__name__} has no guide")
    return L2E(optimizer.schedule, optimizer.gate, guide, optimizer.metric, optimizer.alpha, optimizer.population_size)


def stacked(weights: Any, optimizer: AbstractOptimizer[Any]) -> Any:
    """A tree like that of the weights that says which of them have one entry per generation."""
    no = jax.tree.map(lambda leaf: False, weights)
    if not _has_blocks(optimizer):
        return no
    return eqx.tree_at(lambda tree: tree.optimizer.schedule, no, replace_fn=lambda part: jax.tree.map(_yes, part))


def _yes(leaf: Any) -> bool:
    return True


class Affine(eqx.Module):
    """A `SpectralLinear` whose bounded weight has been computed already."""

    weight: Any
    bias: Any

    def __call__(self, inputs: Any) -> Any:
        outputs = inputs @ self.weight.T
        return outputs if self.bias is None else outputs + self.bias


def bound(tree: Any) -> Any:
    """A pytree with each `SpectralLinear` in it replaced by what it computes with.

    The bound depends on the weights alone, but a rollout would compute it anew for each generation and task, forward
    and backward. Stacks of weights have leading axes.
    """

    def replaced(part: Any) -> Any:
        if not isinstance(part, SpectralLinear):
            return part
        if part.weight is None:  # of a tree whose weights have been taken out
            return Affine(None, None)
        bounded: Any = SpectralLinear.bounded.fget  # pyright: ignore[reportAttributeAccessIssue]
        for _ in range(part.weight.ndim - 2):
            bounded = eqx.filter_vmap(bounded)
        # Powers of Gram matrices are computed again where gradients are pulled back, instead of kept through all tasks.
        return Affine(eqx.filter_checkpoint(bounded)(part), part.bias)

    return jax.tree.map(replaced, tree, is_leaf=lambda part: isinstance(part, SpectralLinear))


def _has_blocks(optimizer: AbstractOptimizer[Any]) -> bool:
    return isinstance(optimizer, L2E) and isinstance(optimizer.schedule, Unshared)
