"""B2Opt: a genetic algorithm unrolled into blocks of attention (crossover), MLP (mutation) and selection.

X. Li, K. Wu, Y. Li, X. Zhang, H. Wang, J. Liu, "B2Opt: learning to optimize black-box optimization with little budget",
2023. The block is the authors'. What is changed, and why:

- The authors' value token is the softmax of the raw values, which is 1 for the worst individual and 0 for all others
  as soon as values differ by more than ten. Here it is the softmax of the squashed standard scores, times N.
- Children are clipped into the box and stored so. The authors clip only inside the evaluation, their platform in the
  L2E paper not at all, so that a population may leave the box for free.
- Weights may be shared by all generations (the authors' published run), one set for each (that platform), or staged.
"""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.l2e.contracts import AbstractOperator, AbstractSchedule
from l2e.algorithms.l2e.operators.attention_mlp import with_one
from l2e.algorithms.l2e.operators.features import ranking, squashed_scores
from l2e.algorithms.l2e.schedules import Sharing, scheduled
from l2e.algorithms.learned.one_to_one import OneToOneState, begin, centred, clipped, selected
from l2e.algorithms.nn import WEIGHTS, as_dtype
from l2e.algorithms.population import check_size
from l2e.algorithms.trainable import AbstractSettings
from l2e.core import settings
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Values

MILD = 0.1
"""How far mild first weights are from the identity."""


class B2OPTBlock(AbstractOperator):
    """`O = w1 X + w2 C + w3 MLP(C)` on the sorted population, `C = F1 softmax(A) X + F2 softmax(Q K^T / sqrt(D)) X`.

    A has a free logit for each pair of ranks, Q and K are affine in the value tokens, F1 + F2 = 1, and w1, w2, w3 have
    one number per rank. The first weights are those of the authors: standard normal A, F and w, so that the first
    proposals are wild. With `mild` w begins near the identity, at (1, 0, 0) plus a tenth of that: in many dimensions
    wild children are never accepted, and what is not accepted teaches nothing.

    **Arguments:** `population_size`, `dimension`: fixed by the weights; `width`: of Q and K; `mild`: see above; `key`:
    for the weights.
    """

    pair_logits: Float[Array, "n n"]
    query: Float[Array, "width 2"]
    key: Float[Array, "width 2"]
    fusion_logits: Float[Array, "2"]
    hidden: Float[Array, "d d+1"]
    output: Float[Array, "d d+1"]
    row_scales: Float[Array, "3 n"]

    def __init__(self, population_size: int, dimension: int, *, width: int = 100, mild: bool = False, key: Key):
        keys = jax.random.split(key, 7)
        n, d = population_size, dimension
        self.pair_logits = jax.random.normal(keys[0], (n, n), WEIGHTS)
        self.query = jax.random.uniform(keys[1], (width, 2), WEIGHTS, -1, 1)
        self.key = jax.random.uniform(keys[2], (width, 2), WEIGHTS, -1, 1)
        self.fusion_logits = jax.random.normal(keys[3], (2,), WEIGHTS)
        bound = 1 / math.sqrt(d)
        self.hidden = jax.random.uniform(keys[4], (d, d + 1), WEIGHTS, -bound, bound)
        self.output = jax.random.uniform(keys[5], (d, d + 1), WEIGHTS, -bound, bound)
        wild = jax.random.normal(keys[6], (3, n), WEIGHTS)
        self.row_scales = MILD * wild + jnp.asarray([[1], [0], [0]], WEIGHTS) if mild else wild

    def __call__(self, points: Points, values: Values, key: Key) -> Points:
        """Proposals in the coordinates of the points; nothing is drawn, the key is not used."""
        return as_dtype(self, points.dtype)._propose(points, values)

    def _propose(self, points: Points, values: Values) -> Points:
        order, back = ranking(values)
        x = points[order]
        tokens = with_one(value_token(values[order])[:, None])
        queries, keys = tokens @ self.query.T, tokens @ self.key.T
        by_value = jax.nn.softmax(queries @ keys.T / math.sqrt(points.shape[1]), axis=1)
        fusion = jax.nn.softmax(self.fusion_logits)
        crossed = (fusion[0] * jax.nn.softmax(self.pair_logits, axis=1) + fusion[1] * by_value) @ x
        mutated = with_one(jax.nn.relu(with_one(crossed) @ self.hidden.T)) @ self.output.T
        w1, w2, w3 = self.row_scales[:, :, None]
        return (w1 * x + w2 * crossed + w3 * mutated)[back]


def value_token(values: Values) -> Values:
    """`N softmax(tanh(z(f)))`, one number per individual, larger for the worse, 1 on average; no gradient passes."""
    return values.shape[0] * jax.nn.softmax(squashed_scores(values))


class B2OPT(AbstractAlgorithm[OneToOneState]):
    """Blocks applied to the population one after the other; child i replaces parent i if it is better.

    Nothing is random after the first population. The weights belong to one dimension and one size of the population.

    **Arguments:** `schedule`: the block of each generation; `population_size`: individuals.
    """

    schedule: AbstractSchedule
    population_size: int = eqx.field(static=True, default=100)

    def __check_init__(self) -> None:
        check_size("population_size", self.population_size, 2, "crossover needs two")

    def init(self, space: Box, key: Key, start: Point | None = None) -> OneToOneState:
        return begin(space, key, self.population_size, start)

    def ask(self, state: OneToOneState) -> Points:
        return state.space.from_unit(state.children)

    def wanted(self, state: OneToOneState) -> Count:
        return jnp.asarray(self.population_size, jnp.int32)

    def population_values(self, state: OneToOneState) -> Values:
        """The values of the population."""
        return state.values

    def tell(self, state: OneToOneState, values: Values) -> OneToOneState:
        points, values = selected(state, values)
        generation = state.generation + 1
        proposed = self.schedule.at(generation)(centred(points), values, state.key)
        return OneToOneState(state.space, state.key, points, values, clipped(proposed, points), generation)


@dataclasses.dataclass(frozen=True)
class B2OPTSettings(AbstractSettings):
    """The settings of a B2OPT: `width` of its attention over values, `mild` initial weights, the rest as L2E's."""

    kind = "b2opt"
    algorithm = B2OPT
    population_size: settings.Count = 100
    schedule: Sharing = "staged"
    stages: settings.Count = 10
    width: settings.Count = 100
    mild: bool = False

    def build(self, dimension: int, generations: int, key: Key) -> B2OPT:
        def make(key: Key) -> B2OPTBlock:
            return B2OPTBlock(self.population_size, dimension, width=self.width, mild=self.mild, key=key)

        return B2OPT(scheduled(self.schedule, make, self.stages, generations, key), self.population_size)

    def evaluations(self, generations: int) -> int:
        return (1 + generations) * self.population_size

    @property
    def any_dimension(self) -> bool:
        return False

    @property
    def summary(self) -> str:
        return f"B2OPT, {self.schedule} weights"
