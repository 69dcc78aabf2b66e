"""An operator for any population size and dimension that turns with the axes: mixtures, and noise from a covariance.

The network never sees a coordinate. It sees how individuals stand, how far the run is and what has been accepted.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from l2e.algorithms.l2e.contracts import AbstractRememberingOperator
from l2e.algorithms.l2e.operators.features import FLOOR, centred_ranks, ranking, squashed_scores
from l2e.algorithms.nn import WEIGHTS, as_dtype
from l2e.core.traced.types import Key, Points, Scalar, Values


class Credit(eqx.Module):
    """What the operator remembers of a run.

    **Fields:** `whole`, `partial`: the smoothed shares of accepted proposals of both kinds; `log_step`: what the policy
    has added to the logarithm of all steps; `parted`: which of the waiting proposals are partial; `asked`: whether
    proposals wait at all.
    """

    whole: Scalar
    partial: Scalar
    log_step: Scalar
    parted: Bool[Array, "n"]
    asked: Bool[Array, ""]


class Covariance(AbstractRememberingOperator):
    """`O(x)_i = x_i + a_i (sum_j A_ij x_j - x_i) + s_i sum_j sqrt(C_ij) xi_ij (x_j - m)`, or differences in a part.

    A and C are row-stochastic attentions over the population, m is its mean under C, xi is normal: the random term has
    the covariance of the population as C_i weighs it. Each proposal is *whole*, as above, or *partial*: in some
    coordinates, drawn by a rate r_i, it is `x_i + g_i (x_p - x_i) + F_i (x_a - x_b)`, with p drawn by A_i and a, b
    uniformly, as in differential evolution, and in the others x_i. Whole proposals stay in the span of the
    population, which is no restriction as long as it has more individuals than dimensions; partial ones leave it.

    The rates a, r, g, the steps s and F, the share of partial proposals and the logits of A and C come from a
    two-layer network, one set of weights for all individuals and generations. Its inputs are `TOKENS` numbers: rank,
    score and distance of the individual; the share of the run that is over, log D, log N, the length and shape of the
    population, and the shares of accepted proposals of both kinds. It also moves the logarithm of all steps from
    generation to generation. No input changes when axes are turned or moved, and one when all are scaled alike (the
    length), so whole proposals turn with the axes; partial ones are equivariant to shifts of coordinates.

    The first weights are small random numbers around a hand-set operator: half of the proposals partial, half-way
    towards the mixture, and the other numbers of `FIRST`.

    **Arguments:**

    - `width`: of the hidden layer.
    - `noise`: whether anything is drawn; without it all proposals are whole and have no random term.
    - `partial`: whether there are partial proposals.
    - `key`: for the first weights.
    """

    hidden: Float[Array, "width tokens+1"]
    heads: Float[Array, "heads width+tokens+1"]
    noise: bool = eqx.field(static=True)
    partial: bool = eqx.field(static=True)

    def __init__(self, *, width: int = 8, noise: bool = True, partial: bool = True, key: Key):
        keys = jax.random.split(key)
        inputs = TOKENS + 1
        self.hidden = jax.random.normal(keys[0], (width, inputs), WEIGHTS) / math.sqrt(inputs)
        small = SMALL * jax.random.normal(keys[1], (len(FIRST) + 4 * PAIRING, width + inputs), WEIGHTS)
        first = jnp.asarray([*FIRST.values()], WEIGHTS)
        heads = small.at[: len(FIRST), -1].add(first)
        by_rank = jnp.asarray([-BY_RANK, -BY_RANK], WEIGHTS)
        self.heads = heads.at[jnp.asarray([MIXING, SPREADING]), width].add(by_rank)  # the first token is the rank
        self.noise = noise
        self.partial = partial and noise

    def memory(self, points: Points) -> Credit:
        n, dtype = points.shape[0], points.dtype
        usual = jnp.asarray(USUAL, dtype)
        return Credit(usual, usual, jnp.zeros((), dtype), jnp.zeros((n,), bool), jnp.zeros((), bool))

    def learned(self, memory: Credit, accepted: Bool[Array, "n"]) -> Credit:
        def smoothed(old: Scalar, among: Bool[Array, "n"]) -> Scalar:
            count = jnp.sum(among)
            share = jnp.sum(accepted & among) / jnp.maximum(count, 1)
            usable = memory.asked & (count > 0)
            return jnp.where(usable, old + SMOOTHING * (share.astype(old.dtype) - old), old)

        whole, partial = smoothed(memory.whole, ~memory.parted), smoothed(memory.partial, memory.parted)
        return Credit(whole, partial, memory.log_step, memory.parted, memory.asked)

    def recall(self, points: Points, values: Values, key: Key, memory: Credit, done: Scalar) -> tuple[Points, Credit]:
        return as_dtype(self, points.dtype)._recall(points, values, key, memory, done)

    def _recall(self, points: Points, values: Values, key: Key, memory: Credit, done: Scalar) -> tuple[Points, Credit]:
        order, back = ranking(values)
        x, f = points[order], values[order]
        tokens = tokens_of(x, f, memory, done)
        ones = jnp.ones((x.shape[0], 1), x.dtype)
        hidden = jnp.tanh(jnp.concatenate([tokens, ones], axis=1) @ self.hidden.T)
        heads = jnp.concatenate([hidden, tokens, ones], axis=1) @ self.heads.T
        single, pairing = heads[:, : len(FIRST)], heads[:, len(FIRST) :]
        by = dict(zip(FIRST, single.T, strict=True))
        log_step = jnp.clip(memory.log_step + DRIFT * jnp.tanh(jnp.mean(by["drift"])), -LARGEST, LARGEST)
        noise_key, dither_key, kind_key, partial_key = jax.random.split(key, 4)
        dither = jax.random.normal(dither_key, (x.shape[0],), x.dtype)
        log_scales = jnp.clip(log_step + by["step"], -LARGEST, LARGEST) + jax.nn.softplus(by["dither"]) * dither
        q_mix, k_mix, q_spread, k_spread = jnp.split(pairing, 4, axis=1)
        mixing = jax.nn.softmax(by["mixing"] + q_mix @ k_mix.T, axis=1)
        towards = jax.nn.sigmoid(by["towards"])[:, None]
        proposed = x + towards * (mixing @ x - x)
        if self.noise:
            spreading = jax.nn.softmax(by["spreading"] + q_spread @ k_spread.T, axis=1)
            # sum_j sqrt(C_ij) xi_ij (x_j - m_i), with the sum over m_i taken out
            random = jnp.sqrt(spreading) * jax.random.normal(noise_key, spreading.shape, x.dtype)
            about = random @ x - jnp.sum(random, axis=1, keepdims=True) * (spreading @ x)
            proposed = proposed + jnp.exp(log_scales)[:, None] * about
        parted = jnp.zeros((x.shape[0],), bool)
        if self.partial:
            parted = jax.random.uniform(kind_key, parted.shape, x.dtype) < jax.nn.sigmoid(by["share"])
            proposed = jnp.where(parted[:, None], self._partial(x, mixing, by, dither, partial_key), proposed)
        return proposed[back], Credit(memory.whole, memory.partial, log_step, parted[back], jnp.ones((), bool))

    def _partial(
        self, x: Points, mixing: Float[Array, "n n"], by: dict[str, Values], dither: Values, key: Key
    ) -> Points:
        """Proposals that differ from their individual in some coordinates, in one at least."""
        n, d = x.shape
        partner_key, pair_key, mask_key, one_key = jax.random.split(key, 4)
        drawn = jax.random.uniform(partner_key, (n, 1), x.dtype)
        partner = jnp.minimum(jnp.sum(jnp.cumsum(mixing, axis=1) < drawn, axis=1), n - 1)
        first, second = jax.random.randint(pair_key, (2, n), 0, n, jnp.int32)
        attraction = jax.nn.sigmoid(by["attraction"])[:, None]
        factor = jax.nn.sigmoid(by["difference"]) * jnp.exp(jax.nn.softplus(by["dither"]) * dither)
        change = attraction * (x[partner] - x) + factor[:, None] * (x[first] - x[second])
        taken = jax.random.uniform(mask_key, (n, d), x.dtype) < jax.nn.sigmoid(by["rate"])[:, None]
        one = jax.random.randint(one_key, (n, 1), 0, d, jnp.int32) == jnp.arange(d)
        return x + jnp.where(taken | one, change, 0)


FIRST = {
    "towards": 0.0,
    "step": 0.5,
    "dither": -2.0,
    "drift": 0.0,
    "share": 0.0,
    "attraction": 0.0,
    "difference": 0.0,
    "rate": 0.0,
    "mixing": 0.0,
    "spreading": 0.0,
}
"""The first outputs of the heads: logits, logarithms of steps, and the logits of A and C without those by rank."""

MIXING, SPREADING = (list(FIRST).index(name) for name in ("mixing", "spreading"))

BY_RANK = 4.0
"""How fast the first logits of A and C fall over the ranks from -1 to 1: the best counts e^8 times the worst."""

PAIRING = 2
"""Length of queries and keys."""

SMALL = 0.03
"""Standard deviation of the first weights of the heads."""

USUAL = 0.2
"""What is taken for the share of accepted proposals before there are any."""

SMOOTHING = 0.3
"""How much of a generation's share of accepted proposals goes into the smoothed one."""

DRIFT = 0.3
"""The most that the logarithm of all steps can change in a generation."""

LARGEST = 4.0
"""Bound of the logarithms of steps."""

TOKENS = 14
"""How many numbers `tokens_of` gives for each individual."""


def tokens_of(x: Points, f: Values, memory: Credit, done: Scalar) -> Float[Array, "n tokens"]:
    """What the network sees of each individual of a sorted population; turning the axes does not change it."""
    n, d = x.shape
    centred = x - jnp.mean(x, axis=0)
    squared = jnp.mean(centred**2, axis=1)
    size = jnp.mean(squared) + FLOOR
    distance = jnp.sqrt(squared + FLOOR) / jnp.sqrt(size)
    ranks, scores = centred_ranks(f), squashed_scores(f)
    failed = jnp.mean(~jnp.isfinite(f), dtype=x.dtype)
    facts = [
        jnp.asarray(2 * done - 1, x.dtype),
        jnp.asarray(math.tanh(math.log10(d) - 1), x.dtype),
        jnp.asarray(math.log10(n) - 2, x.dtype),
        jnp.log10(size) / 8 + 0.5,
        distance[0] - 1,
        scores[0],
        scores[(n - 1) // 2] - failed,
        2 * (memory.whole - USUAL),
        2 * (memory.partial - USUAL),
        memory.log_step / 2,
    ]
    own = jnp.stack([ranks, ranks**2 - 0.5, scores, distance - 1], axis=1)
    return jnp.concatenate([own, jnp.broadcast_to(jnp.stack(facts), (n, len(facts)))], axis=1)
