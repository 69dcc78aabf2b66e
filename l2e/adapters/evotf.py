"""EvoTF's forward pass with the encodings of past generations kept: the same numbers for a fraction of the time.

evosax's Evolution Transformer encodes each generation by itself (populations, values, distribution), and only then
attends over time. Its `tell` encodes all 100 generations of the context anew, although 99 of them are as they were.
Here a generation is encoded when it is told, and the context holds encodings. The network, its weights, `ask` and
`tell` remain evosax's.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.errors import require

ENCODERS = {"sol_perceiver": 1, "fit_perceiver": None, "dist_encoder": 0, "crossd_encoder": None}
"""evosax's names of the parts that encode one generation, and which axis of their outputs is the coordinate."""


def with_kept_encodings(algorithm: Any) -> Any:
    """Make an evosax `EvoTF_ES` keep encodings where it keeps features, and return it."""
    network = _Network(algorithm)
    algorithm.df = _Encoder(algorithm, network)
    algorithm.sf = algorithm.ff = _Nothing(algorithm.population_size, algorithm.num_dims)
    algorithm.model = network
    return algorithm


class _Network:
    """The transformer in two halves: what encodes one generation, and what attends over them."""

    def __init__(self, algorithm: Any):
        self.model, self.params = algorithm.model, algorithm.params
        population, self.dimension = algorithm.population_size, algorithm.num_dims
        self.features = (
            (population, self.dimension, algorithm.sf.num_features),
            (population, algorithm.ff.num_features),
            (self.dimension, algorithm.df.num_features),
        )
        outputs = jax.eval_shape(self._encoded, self.blank())
        self.shapes = {name: outputs[name].shape for name in ENCODERS}

    def blank(self) -> list[Any]:
        """The shapes and dtypes of one generation's features."""
        return [jax.ShapeDtypeStruct(shape, jnp.zeros(()).dtype) for shape in self.features]

    def encode(self, features: Any) -> Any:
        """One generation's encoding, a row per coordinate, from its three kinds of features."""
        rows = []
        outputs = self._encoded(features)
        for name, axis in ENCODERS.items():
            output = outputs[name]
            by_coordinate = output[None] if axis is None else jnp.moveaxis(output, axis, 0)
            flat = by_coordinate.reshape(by_coordinate.shape[0], -1)
            rows.append(jnp.broadcast_to(flat, (self.dimension, flat.shape[1])))
        return jnp.concatenate(rows, axis=1)

    def apply(self, params: Any, _solutions: Any, _values: Any, encodings: Any, mask: Any, **_: Any) -> Any:
        """What evosax calls with its contexts, of which only the last holds anything, (1, time, d, encoding)."""
        given, start = {}, 0
        for name, axis in ENCODERS.items():
            shape = self.shapes[name]
            rest = shape if axis is None else (*shape[:axis], *shape[axis + 1 :])
            width = int(np.prod(rest))
            part = encodings[..., start : start + width].reshape(*encodings.shape[:3], *rest)
            given[name] = part[:, :, 0] if axis is None else jnp.moveaxis(part, 2, 2 + axis)
            start += width
        # What the encoders are given does not matter: the compiler leaves them out, because their outputs are known.
        features = [jnp.zeros((1, encodings.shape[1], *shape)) for shape in self.features]
        return self._forward(params, features, mask, given)[0], None

    def _encoded(self, features: Any) -> dict[str, Any]:
        outputs = self._forward(self.params, [part[None, None] for part in features], None, {})[1]
        return {name: output[0, 0] for name, output in outputs.items()}

    def _forward(self, params: Any, features: Any, mask: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The prediction and the encoders' outputs, or those that are given instead."""
        linen = require("flax.linen", "bench")
        outputs: dict[str, Any] = {}

        def intercept(call: Any, args: Any, kwargs: Any, context: Any) -> Any:
            output = call(*args, **kwargs)
            name = context.module.name
            if name not in ENCODERS or context.method_name != "__call__":
                return output
            outputs[name] = given.get(name, output[0])
            return outputs[name], output[1]

        with linen.intercept_methods(intercept):
            prediction, _ = self.model.apply(params, *features, train=False, mask=mask)
        return prediction, outputs


class _Encoder:
    """In the place of evosax's distribution featurizer: all three featurizers, then the encoding."""

    def __init__(self, algorithm: Any, network: _Network):
        self.parts, self.network = (algorithm.sf, algorithm.ff, algorithm.df), network
        self.num_features = jax.eval_shape(network.encode, network.blank()).shape[-1]

    def init(self) -> Any:
        return tuple(part.init() for part in self.parts)

    def featurize(self, population: Any, fitness: Any, mean: Any, std: Any, state: Any) -> tuple[Any, Any]:
        solutions, values, distribution = self.parts
        from_solutions, state_0 = solutions.featurize(population, fitness, mean, std, state[0])
        from_values, state_1 = values.featurize(population, fitness, state[1])
        from_distribution, state_2 = distribution.featurize(population, fitness, mean, std, state[2])
        encoding = self.network.encode((from_solutions, from_values, from_distribution))
        return encoding, (state_0, state_1, state_2)


class _Nothing:
    """In the place of the other two featurizers: no features."""

    num_features = 0

    def __init__(self, population_size: int, dimension: int):
        self.shape = (population_size, dimension)

    def init(self) -> Any:
        return ()

    def featurize(self, *arguments: Any) -> tuple[Any, Any]:
        # Called with (population, fitness, mean, std, state) for solutions, (population, fitness, state) for values.
        shape = self.shape if len(arguments) == 5 else self.shape[:1]
        return jnp.zeros((*shape, 0)), ()
