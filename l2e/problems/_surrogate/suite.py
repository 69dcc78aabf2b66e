"""Networks fitted to BBOB functions, as problems of their own.

A network predicts log10(f - f*) of an instance of the paper's BBOB-surrogate-10D from points sampled evenly in the
box, and the problem is to minimise 10 to the power of that prediction. Values are therefore positive and of the size
of a true gap f - f*, but where the network has its minimum, and what it is worth, nobody knows: there is no `optimum`.
"""

import functools
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from l2e.core import checkpoint
from l2e.core.box import Box
from l2e.core.errors import unknown
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.trees import load_tree, save_tree
from l2e.core.traced.types import Key, Points, Values
from l2e.problems._bbob.paper import PAPER_NAMES
from l2e.problems._bbob.suite import BBOB, check_function, search_box
from l2e.problems._surrogate.networks import KINDS, AbstractNetwork, initial
from l2e.problems._surrogate.paper import DIMENSION, paper_surrogate

SHIPPED = Path(__file__).parents[2] / "weights" / "surrogates"
"""The folder of the networks: one file per kind, with one card per network beside it."""


class Fitted(eqx.Module):
    """A network and the scale of what it predicts; those of one kind have one structure and can be stacked.

    **Fields:** `network`: predicts log10(f - f*), standardised; `mean`, `deviation`: of log10(f - f*) over the sample.
    """

    network: AbstractNetwork
    mean: Float[Array | np.ndarray, ""]
    deviation: Float[Array | np.ndarray, ""]

    def __call__(self, points: Float[Array, "n d"]) -> Float[Array, "n"]:
        """The predictions of log10(f - f*) at points of the unit cube, in their dtype."""
        cast = jax.tree.map(lambda leaf: jnp.asarray(leaf, points.dtype), self)
        return cast.mean + cast.deviation * cast.network(points)


class Surrogate(AbstractTraceableProblem):
    """A network in place of a BBOB function, on the box [-5, 5]^10.

    The function's number is an array, so that all networks of a kind share one compilation.
    """

    space: Box
    fitted: Fitted
    number: Int[Array | np.ndarray, ""]
    kind: str = eqx.field(static=True)

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        points = jnp.asarray(points)
        unit = (points - jnp.asarray(self.space.lower, points.dtype)) / jnp.asarray(self.space.width, points.dtype)
        return 10 ** self.fitted(unit)

    @property
    def function(self) -> int:
        """The number of the BBOB function."""
        return int(self.number)

    @property
    def name(self) -> str:
        """The name of the BBOB function in the paper, and the kind of network."""
        return f"{PAPER_NAMES[self.function - 1]} ({self.kind})"

    @property
    def truth(self) -> BBOB:
        """The instance that the network was fitted to. For reports and tests; no method ever sees it."""
        return paper_surrogate(self.function)

    @property
    def card(self) -> dict[str, Any]:
        """How the network was made, and how well it fits."""
        return cards(self.kind)[f"f{self.function}"]


def surrogate(function: int, kind: str = "mlp") -> Surrogate:
    """A network fitted to a BBOB function in ten dimensions.

    ```python
    problem = l2e.problems.surrogate(function=3, kind="kan")
    result = l2e.minimize(problem, budget=500)
    problem.truth(result.x) - problem.truth.optimum.f  # the true gap of what minimises the network
    ```

    **Arguments:** `function`: 1 to 24; `kind`: "mlp" or "kan".

    **Raises:** `ValueError` or `TypeError` for anything else.
    """
    function = check_function(function)
    if kind not in KINDS:
        raise unknown("kind of network", kind, KINDS)
    networks = _networks(kind)
    if f"f{function}" not in networks:
        raise ValueError(f"there is no {kind} of f{function}; allowed: {', '.join(networks)}")
    return problem(networks[f"f{function}"], function, kind)


def problem(fitted: Fitted, function: int, kind: str) -> Surrogate:
    """The problem of a fitted network."""
    return Surrogate(search_box(DIMENSION), fitted, np.asarray(function), kind)


def blank(kind: str) -> Fitted:
    """A network of this kind, as float32 arrays of numpy whose values do not matter."""
    with jax.enable_x64(False):
        network = jax.tree.map(np.asarray, initial(kind, DIMENSION, jax.random.key(0)))
    return Fitted(network, np.zeros((), "float32"), np.ones((), "float32"))


@functools.cache
def cards(kind: str) -> dict[str, dict[str, Any]]:
    """The cards of all networks of a kind by function, "f1", "f2", ..."""
    return json.loads((SHIPPED / f"{kind}.card.json").read_text())["networks"]


def ship(kind: str, networks: dict[int, Fitted], made: dict[int, dict[str, Any]], folder: Path = SHIPPED) -> None:
    """Write the networks of a kind and their cards, by function, in the files that `surrogate` reads."""
    functions = sorted(networks)
    save_tree(
        folder / f"{kind}.safetensors",
        _stacked([networks[function] for function in functions]),
        {"functions": functions},
    )
    text = json.dumps({"kind": kind, "networks": {f"f{f}": made[f] for f in functions}}, indent=1) + "\n"
    checkpoint.write_whole(folder / f"{kind}.card.json", text.encode())


@functools.cache
def _networks(kind: str) -> dict[str, Fitted]:
    path = SHIPPED / f"{kind}.safetensors"
    functions = checkpoint.load_metadata(path)["functions"]
    stacked = load_tree(path, _stacked([blank(kind)] * len(functions)))
    return {f"f{f}": jax.tree.map(lambda leaf, i=i: leaf[i], stacked) for i, f in enumerate(functions)}


def _stacked(networks: list[Fitted]) -> Fitted:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *networks)
