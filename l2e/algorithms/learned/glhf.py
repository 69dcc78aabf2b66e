"""GLHF, also called POM: a differential evolution whose mutation matrix and crossover rates are made by networks.

X. Li, K. Wu, Y. Li, X. Zhang, H. Wang, J. Liu, "Pretrained optimization model for zero-shot black box optimization",
NeurIPS 2024; the networks and their sizes are the authors'. What is changed, and why:

- The platform of the L2E paper sorts the population for the networks and then compares child i with the unsorted
  individual i, so that children replace strangers, and lets the population leave the box. Here child i is compared with
  the parent it was made from, and clipped into the box.
- The rows of the mutation matrix are sums of a random half of its entries, so they do not add up to 1, and a mutant is
  off by that much of its distance from the origin of coordinates. The authors' origin is the centre of the box, which
  suits functions whose optimum is there. Here it is the mean of the population; `absolute` is the authors' reading.
"""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from l2e.algorithms.l2e.operators.attention_mlp import with_one
from l2e.algorithms.l2e.operators.features import FLOOR, ranking, standard_scores
from l2e.algorithms.learned.one_to_one import OneToOneState, begin, centred, clipped, selected
from l2e.algorithms.nn import WEIGHTS, as_dtype
from l2e.algorithms.population import check_size, uniform
from l2e.algorithms.trainable import AbstractSettings
from l2e.core import settings
from l2e.core.box import Box
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.types import Count, Key, Point, Points, Values

HIDDEN = 100
"""Width of the first layer over the tokens."""

KEPT = 0.5
"""The chance of an individual to take part in the mutant of another."""


class GLHF(AbstractAlgorithm[OneToOneState]):
    """Mutants `V = S X`, children by genes from V or X, child i replaces parent i if it is better.

    With (z(f), z(rank)) as the token of an individual, `S = tanh(q k^T / sqrt(width))`, q and k by small networks of
    the tokens; of each row of S a random half is kept, and the diagonal. The logit of keeping a gene of the parent is
    a function of the token and the similarity of parent and mutant, against a uniform number, with Gumbel noise;
    gradients pass straight through the choice. Works in any dimension and with any population.

    **Arguments:** `population_size`: individuals; `width`: of q and k (the authors' sizes are 200, 500, 1000, ...);
    `absolute`: X is measured from the centre of the box instead of the population's mean; `key`: for the first weights.
    """

    tokens: Float[Array, "hidden 3"]
    query: Float[Array, "width hidden+1"]
    key: Float[Array, "width hidden+1"]
    crossover: Float[Array, "4 4"]
    norm_scale: Float[Array, "4"]
    norm_shift: Float[Array, "4"]
    rate: Float[Array, "1 5"]
    population_size: int = eqx.field(static=True)
    absolute: bool = eqx.field(static=True)

    def __init__(self, population_size: int = 100, *, width: int = 200, absolute: bool = False, key: Key):
        check_size("population_size", population_size, 2, "mutants are sums over others")
        keys = jax.random.split(key, 5)
        self.tokens = _linear(keys[0], HIDDEN, 2)
        self.query = _linear(keys[1], width, HIDDEN)
        self.key = _linear(keys[2], width, HIDDEN)
        self.crossover = _linear(keys[3], 4, 3)
        self.norm_scale, self.norm_shift = jnp.ones((4,), WEIGHTS), jnp.zeros((4,), WEIGHTS)
        self.rate = _linear(keys[4], 1, 4)
        self.population_size = population_size
        self.absolute = absolute

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
        key, child_key = jax.random.split(state.key)
        children = as_dtype(self, points.dtype).propose(centred(points), values, child_key)
        return OneToOneState(state.space, key, points, values, clipped(children, points), state.generation + 1)

    def propose(self, points: Points, values: Values, key: Key) -> Points:
        """One child per individual, in the coordinates of the points and the order they come in."""
        mask_key, cross_key = jax.random.split(key)
        order, back = ranking(values)
        origin = jnp.zeros_like(points[0]) if self.absolute else jnp.mean(points, axis=0)
        x, tokens = points[order] - origin, value_tokens(values[order])
        mutants = self._mutants(x, tokens, mask_key)
        return (origin + self._crossed(x, mutants, tokens, cross_key))[back]

    def _mutants(self, x: Points, tokens: Float[Array, "n 2"], key: Key) -> Points:
        hidden = with_one(jnp.tanh(with_one(tokens) @ self.tokens.T))
        queries, keys = jnp.tanh(hidden @ self.query.T), jnp.tanh(hidden @ self.key.T)
        matrix = jnp.tanh(queries @ keys.T / math.sqrt(self.query.shape[0]))
        n = x.shape[0]
        kept = (uniform(key, (n, n), jnp.float32) < KEPT) | jnp.eye(n, dtype=bool)
        return jnp.where(kept, matrix, 0) @ x

    def _crossed(self, x: Points, mutants: Points, tokens: Float[Array, "n 2"], key: Key) -> Points:
        uniform_key, noise_key = jax.random.split(key)
        seen = jnp.concatenate([tokens, _standardised(similarities(x, mutants))[:, None]], axis=1)
        hidden = jax.nn.relu(with_one(seen) @ self.crossover.T)
        deviation = jnp.sqrt(jnp.var(hidden, axis=1, keepdims=True) + 1e-5)
        normal = (hidden - jnp.mean(hidden, axis=1, keepdims=True)) / deviation * self.norm_scale + self.norm_shift
        logits = jax.nn.sigmoid(with_one(normal) @ self.rate.T)  # one per individual
        # the difference of two Gumbel numbers is a logistic one
        level = uniform(noise_key, x.shape, x.dtype)
        noise = jnp.log(level + TINY) - jnp.log1p(TINY - level)
        soft = jax.nn.sigmoid(logits - uniform(uniform_key, x.shape, x.dtype) + noise)
        kept = jnp.where(soft > 0.5, 1, 0) + soft - jax.lax.stop_gradient(soft)
        return kept * x + (1 - kept) * mutants


TINY = 1e-7
"""Keeps the logarithm of a uniform number finite."""


def value_tokens(values: Values) -> Float[Array, "n 2"]:
    """Standard scores of sorted values and of their ranks; the failed count as the worst."""
    n = values.shape[0]
    scores = standard_scores(values)
    ranks = jnp.arange(n, dtype=values.dtype) - (n - 1) / 2
    deviation = math.sqrt(n * (n + 1) / 12)  # of 0, ..., n - 1, divided by n - 1
    return jnp.stack([jnp.where(jnp.isfinite(values), scores, jnp.max(scores)), ranks / deviation], axis=1)


def similarities(x: Points, mutants: Points) -> Float[Array, "n"]:
    """The cosine of each individual and its mutant after both together have mean 0 and deviation 1."""
    both = jnp.concatenate([x, mutants], axis=1)
    mean = jnp.mean(both, axis=1, keepdims=True)
    left, right = x - mean, mutants - mean  # their common deviation cancels
    squares = jnp.sum(left**2, axis=1) * jnp.sum(right**2, axis=1)
    return jnp.sum(left * right, axis=1) / jnp.sqrt(squares + FLOOR)


def _standardised(numbers: Float[Array, "n"]) -> Float[Array, "n"]:
    return (numbers - jnp.mean(numbers)) / jnp.sqrt(jnp.var(numbers) + 1e-10)


def _linear(key: Key, rows: int, columns: int) -> Float[Array, "rows columns+1"]:
    """The usual first weights of an affine map, its bias in the last column."""
    bound = 1 / math.sqrt(columns)
    return jax.random.uniform(key, (rows, columns + 1), WEIGHTS, -bound, bound)


@dataclasses.dataclass(frozen=True)
class GLHFSettings(AbstractSettings):
    """The settings of a GLHF: `width` of its queries and keys, `absolute` for the authors' origin of coordinates."""

    kind = "glhf"
    algorithm = GLHF
    population_size: settings.Count = 100
    width: settings.Count = 200
    absolute: bool = False

    def build(self, dimension: int, generations: int, key: Key) -> GLHF:
        return GLHF(self.population_size, width=self.width, absolute=self.absolute, key=key)

    def evaluations(self, generations: int) -> int:
        return (1 + generations) * self.population_size

    @property
    def any_dimension(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        return f"GLHF, width {self.width}"
