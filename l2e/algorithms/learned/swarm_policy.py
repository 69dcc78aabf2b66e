"""GLEET's networks: attention over the particles of a swarm, a normal distribution for each, and a critic.

Weights are float32 and so is all that is computed with them, whatever the precision of the search.
"""

import itertools
import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from l2e.algorithms.nn import WEIGHTS
from l2e.core.traced.types import Key, Values

FEATURES = 9
SIZE = 16
HEADS = 4
LEAST_DEVIATION, MOST_DEVIATION = 0.01, 0.7
SMALL = 1e-5
WEIGHTS_OF_POLICY, WEIGHTS_OF_CRITIC = 5_426, 1_089

Tokens = Float[Array, "n size"]


class SwarmView(NamedTuple):
    """What the policy sees: features of the particles now, at their last improvement, and of the leader at its own."""

    now: Float[Array, "n features"]
    improved: Float[Array, "n features"]
    leader: Float[Array, "features"]


class Numbers:
    """Uniform numbers between -1 and 1 from one draw, handed out in order: one small compilation for all weights."""

    def __init__(self, key: Key, count: int):
        drawn = jax.random.uniform(key, (count,), WEIGHTS, -1, 1)
        self.left = drawn if isinstance(drawn, Tracer) else np.asarray(drawn)  # numpy's slices compile nothing

    def take(self, *shape: int) -> Any:
        """The next numbers, in this shape."""
        count = math.prod(shape)
        taken, self.left = self.left[:count], self.left[count:]
        return taken.reshape(shape)


class Linear(eqx.Module):
    """An affine map of the last axis; first weights are uniform within 1 / sqrt(inputs)."""

    weight: Float[Array, "outputs inputs"]
    bias: Float[Array, "outputs"] | None

    def __init__(self, inputs: int, outputs: int, numbers: Numbers, use_bias: bool = True):
        scale = np.float32(1 / math.sqrt(inputs))
        self.weight = jnp.asarray(scale * numbers.take(outputs, inputs))
        self.bias = jnp.asarray(scale * numbers.take(outputs)) if use_bias else None

    def __call__(self, inputs: Float[Array, "... inputs"]) -> Float[Array, "... outputs"]:
        outputs = inputs @ self.weight.T
        return outputs if self.bias is None else outputs + self.bias


class Perceptron(eqx.Module):
    """Affine maps with leaky ReLUs between them."""

    layers: tuple[Linear, ...]

    def __init__(self, sizes: tuple[int, ...], numbers: Numbers):
        self.layers = tuple(Linear(*pair, numbers) for pair in itertools.pairwise(sizes))

    def __call__(self, inputs: Float[Array, "... inputs"]) -> Float[Array, "... outputs"]:
        for layer in self.layers[:-1]:
            inputs = jax.nn.leaky_relu(layer(inputs))
        return self.layers[-1](inputs)


class Layer(eqx.Module):
    """Attention of some tokens to others, a residual, and two affine maps with another; both sums are normalised."""

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    inner: Linear
    outer: Linear

    def __init__(self, numbers: Numbers):
        self.query, self.key, self.value, self.output = (Linear(SIZE, SIZE, numbers, use_bias=False) for _ in range(4))
        self.inner, self.outer = (Linear(SIZE, SIZE, numbers) for _ in range(2))

    def __call__(self, asking: Tokens, tokens: Tokens) -> Tokens:
        mixed = _normalised(tokens + self._attention(asking, tokens))
        return _normalised(mixed + self.outer(jax.nn.relu(self.inner(mixed))))

    def _attention(self, asking: Tokens, tokens: Tokens) -> Tokens:
        """Heads are matrix products of their own, and rows are divided after mixing: a quarter less time to learn."""
        query, key, value = _heads(self.query(asking)), _heads(self.key(tokens)), _heads(self.value(tokens))
        scores = query @ jnp.swapaxes(key, 1, 2) / math.sqrt(SIZE // HEADS)
        weights = jnp.exp(scores - jax.lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True)))
        mixed = (weights @ value) / jnp.sum(weights, axis=-1, keepdims=True)
        return self.output(jnp.swapaxes(mixed, 0, 1).reshape(-1, SIZE))


class SwarmPolicy(eqx.Module):
    """From what is seen of a swarm to a normal distribution of one number per particle.

    The particles attend to each other (encoder); what each looked like when it last improved, joined with the leader,
    asks the result what to do (decoder). Nothing depends on the number of particles or of coordinates.
    """

    embedding: Linear
    memory: Linear
    encoder: Layer
    decoder: Layer
    mean: Perceptron
    deviation: Perceptron

    def __init__(self, numbers: Numbers):
        self.embedding = Linear(FEATURES, SIZE, numbers, use_bias=False)
        self.memory = Linear(2 * SIZE, SIZE, numbers, use_bias=False)
        self.encoder, self.decoder = Layer(numbers), Layer(numbers)
        self.mean, self.deviation = (Perceptron((SIZE, 32, 8, 1), numbers) for _ in range(2))

    def __call__(self, view: SwarmView) -> tuple[Values, Values, Tokens]:
        """Mean and deviation for each particle, and the tokens that they were computed from."""
        now, improved, leader = (self.embedding(part.astype(self.embedding.weight.dtype)) for part in view)
        encoded = self.encoder(now, now)
        memory = jnp.concatenate([improved, jnp.broadcast_to(leader, improved.shape)], axis=1)
        tokens = self.decoder(self.memory(memory), encoded)
        share = _share(self.deviation(tokens)[:, 0])
        deviation = LEAST_DEVIATION + (MOST_DEVIATION - LEAST_DEVIATION) * share
        return _share(self.mean(tokens)[:, 0]), deviation, tokens


class Critic(eqx.Module):
    """The value of each particle: its token through three affine maps."""

    head: Perceptron

    def __init__(self, numbers: Numbers):
        self.head = Perceptron((SIZE, 32, 16, 1), numbers)

    def __call__(self, tokens: Tokens) -> Values:
        return self.head(tokens)[:, 0]


def _heads(tokens: Tokens) -> Float[Array, "heads n width"]:
    return jnp.swapaxes(tokens.reshape(-1, HEADS, SIZE // HEADS), 0, 1)


def _share(logits: Values) -> Values:
    """Any number as one between 0 and 1."""
    return (jnp.tanh(logits) + 1) / 2


def _normalised(tokens: Tokens) -> Tokens:
    """Mean 0 and variance 1 over the whole swarm and all entries."""
    centred = tokens - jnp.mean(tokens)
    return centred / jnp.sqrt(jnp.mean(centred * centred) + SMALL)
