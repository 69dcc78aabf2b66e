"""What meta-training asks of an algorithm besides ask and tell, with answers for those that have nothing to say.

The questions are the protocols of `l2e.algorithms.trainable`.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.algorithms.l2e.contracts import AbstractGuide
from l2e.algorithms.nn import SpectralLinear
from l2e.algorithms.trainable import HasBlocks, HoldsPopulation, TakesGuide, TakesRounds
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Values


def population_values(optimizer: AbstractAlgorithm[Any], state: Any, told: Values) -> Values:
    """The values of the population after a generation, or those of the last batch."""
    return optimizer.population_values(state) if isinstance(optimizer, HoldsPopulation) else told


def rounds(optimizer: AbstractAlgorithm[Any]) -> int:
    """Rounds of ask and tell in one generation."""
    return optimizer.rounds if isinstance(optimizer, TakesRounds) else 1


def first_block(optimizer: AbstractAlgorithm[Any]) -> AbstractAlgorithm[Any]:
    """The optimizer for the batch that ends with the proposals of generation 0."""
    if not isinstance(optimizer, HasBlocks) or optimizer.per_generation is None:
        return optimizer
    return optimizer.with_operator(jax.tree.map(lambda leaf: leaf[0], optimizer.per_generation.blocks(1)))


def split_blocks(optimizer: AbstractAlgorithm[Any], generations: int) -> tuple[Any, AbstractAlgorithm[Any]]:
    """The weights that each generation has for itself, with a leading axis, and the optimizer without them.

    Telling the values of generation k makes the proposals of k + 1, so the axis begins with the second operator. What
    is proposed at the very end is never evaluated: the last operator stands in there.
    """
    if not isinstance(optimizer, HasBlocks) or optimizer.per_generation is None:
        return None, optimizer
    blocks = optimizer.per_generation.blocks(generations)
    shifted = jax.tree.map(lambda leaf: jnp.concatenate([leaf[1:], leaf[-1:]]), blocks)
    return shifted, first_block(optimizer)


def join_block(optimizer: AbstractAlgorithm[Any], block: Any) -> AbstractAlgorithm[Any]:
    """The optimizer of one generation."""
    return optimizer.with_operator(block) if block is not None and isinstance(optimizer, HasBlocks) else optimizer


def with_guide(optimizer: AbstractAlgorithm[Any], guide: AbstractGuide) -> AbstractAlgorithm[Any]:
    """The optimizer with this guide."""
    if not isinstance(optimizer, TakesGuide):
        raise TypeError(f"{type(optimizer).__name__} cannot be guided")
    return optimizer.with_guide(guide)


def stacked(weights: Any, optimizer: AbstractAlgorithm[Any]) -> Any:
    """A tree like that of the weights that says which of them have one entry per generation."""
    no = jax.tree.map(lambda leaf: False, weights)
    if not isinstance(optimizer, HasBlocks) or optimizer.per_generation is None:
        return no
    return eqx.tree_at(
        lambda tree: tree.optimizer.per_generation, no, replace_fn=lambda part: jax.tree.map(lambda leaf: True, part)
    )


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
