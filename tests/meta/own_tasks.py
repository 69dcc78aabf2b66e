"""Task families of a user's own, named in training files as `own_tasks:name`."""

import jax
import jax.numpy as jnp
import numpy as np

import l2e
from l2e import meta


class Bowl(l2e.AbstractTraceableProblem):
    space: l2e.Box
    centre: jax.Array

    def evaluate(self, points, key=None):
        return jnp.sum((points - self.centre) ** 2, axis=1)


def _centre(key, dimension):
    return jax.random.uniform(key, (dimension,))


def traced(dimension):
    space = l2e.box([(-1, 1)] * dimension)
    return meta.FunctionTasks([lambda key: Bowl(space, _centre(key, dimension))], [0.0], ["bowls"])


def value(points, centre):
    assert isinstance(points, np.ndarray)
    return ((points - centre) ** 2).sum(axis=1)


def called(dimension):
    space = l2e.box([(-1, 1)] * dimension)
    draw = lambda key: meta.CallbackFunction(value, space, _centre(key, dimension))  # noqa: E731 - as short as the other
    return meta.FunctionTasks([draw], [0.0], ["python bowls"])


def too_large(dimension):
    return traced(dimension + 1)


def nothing(dimension):
    return dimension


def _on_python(function, dimension):
    space = l2e.box([(-1, 1)] * dimension)
    draw = lambda key: meta.CallbackFunction(function, space, _centre(key, dimension))  # noqa: E731
    return meta.FunctionTasks([draw], [0.0], ["broken"])


def without_licence(points, centre):
    raise KeyError("no licence")


def of_one_point(points, centre):
    return 3.0


def raising(dimension):
    return _on_python(without_licence, dimension)


def misshapen(dimension):
    return _on_python(of_one_point, dimension)
