"""Problems of a user's own, named in experiments as `own_suite:name`; workers find them through PYTHONPATH."""

import jax.numpy as jnp
import numpy as np

import l2e
from l2e.core.problem import Optimum


def bowls(function, instance, dimension):
    """A bowl on the host, whose minimum at the instance's place is worth the number of the function."""
    centre = np.full(dimension, 0.1 * instance)

    def value(x):
        return float(function + ((x - centre) ** 2).sum())

    return l2e.HostFunction(value, l2e.box([(-1, 1)] * dimension), optimum=Optimum(centre, float(function)))


def traced(function, instance, dimension):
    """The same in JAX, without a word about its optimum."""
    return l2e.JAXFunction(lambda x: function + jnp.sum((x - 0.1 * instance) ** 2), l2e.box([(-1, 1)] * dimension))


def nothing(function, instance, dimension):
    """No problem at all."""
    return function + instance + dimension


def fails(function, instance, dimension):
    """Raises an error."""
    raise RuntimeError("the simulator is not installed")


def half(function, instance, dimension):
    """The first function raises an error at every point, the others work."""

    def value(x):
        if function == 1:
            raise KeyError("no licence")
        return float((x**2).sum())

    return l2e.HostFunction(value, l2e.box([(-1, 1)] * dimension))
