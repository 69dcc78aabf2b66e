"""Trained models: shipped ones by name, a user's own by path. A model is an ordinary optimizer, with a card."""

import dataclasses
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e import checkpoint
from l2e._names import unknown
from l2e.checkpoint import CheckpointError
from l2e.experts.weights import GATE_KIND, KIND, SHIPPED_GATE
from l2e.experts.weights import SHIPPED as SHIPPED_RESIDUAL
from l2e.optimizer import AbstractOptimizer

if TYPE_CHECKING:
    from l2e.model_config import AbstractModelTable

SHIPPED = Path(__file__).parent / "weights"
BEST = "best.safetensors"
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Card:
    """What is known of a model: where it is, what it is, how it was made, what it scores."""

    name: str
    path: Path
    facts: dict[str, Any]

    @property
    def table(self) -> "AbstractModelTable":
        """The settings of the optimizer."""
        return _table(self.facts["optimizer"])

    @property
    def dimension(self) -> int | None:
        """The one dimension it works in, or None for any."""
        return None if self.table.any_dimension else self.facts["dimension"]

    @property
    def evaluations(self) -> int:
        """The budget of the episodes it was trained on."""
        return self.table.evaluations(self.facts["generations"])

    @property
    def summary(self) -> str:
        """One line."""
        where = "any dimension" if self.dimension is None else f"{self.dimension}-D"
        return f"{self.table.summary}, {where}, {self.evaluations} evaluations"


def shipped() -> dict[str, Path]:
    """The models inside the package, by name; not the weights of the default method, which is more than a model."""
    found = (path for path in sorted(SHIPPED.glob(f"*{SUFFIX}")) if path not in (SHIPPED_GATE, SHIPPED_RESIDUAL))
    return {path.name.removesuffix(SUFFIX): path for path in found}


def is_program(name: str | os.PathLike[str]) -> bool:
    """Whether a training or a file holds weights of the default method, which runs on the host."""
    return _kind(name) in (KIND, GATE_KIND)


def is_gate(name: str | os.PathLike[str]) -> bool:
    """Whether these are weights of the default method's gate."""
    return _kind(name) == GATE_KIND


def _kind(name: str | os.PathLike[str]) -> Any:
    optimizer = checkpoint.load_facts(find(name)).get("optimizer")
    return optimizer.get("kind") if isinstance(optimizer, dict) else None


def families() -> dict[str, dict[int, str]]:
    """Names that stand for several shipped models, one per dimension: `l2e-base` for `l2e-base-10d`, and so on.

    **Returns:** for each name the models of it by dimension.
    """
    found: dict[str, dict[int, str]] = {}
    for name in shipped():
        match = re.fullmatch(r"(.+)-(\d+)d", name)
        if match:
            found.setdefault(match[1], {})[int(match[2])] = name
    return {name: dict(sorted(members.items())) for name, members in found.items()}


def find(name: str | os.PathLike[str]) -> Path:
    """The weights file of a shipped model's name, of a training's folder, or the file itself."""
    path = Path(name)
    if path.is_dir() and (path / BEST).is_file():
        return path / BEST
    if path.is_file():
        return path
    if str(name) in shipped():
        return shipped()[str(name)]
    raise unknown("model", str(name), [*shipped(), "a training's folder", "a weights file"])


def card(name: str | os.PathLike[str]) -> Card:
    """The card of a model, without its weights."""
    path = find(name)
    facts = checkpoint.load_facts(path)
    if not isinstance(facts.get("optimizer"), dict):
        raise CheckpointError(f"{path} does not hold a trained model")
    try:
        table = _table(facts["optimizer"])
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} holds a model that this version does not know: {error}") from error
    if facts.get("class") != table.made.__qualname__:
        raise CheckpointError(f"{path} holds a {facts.get('class')}, its settings are of a {table.made.__qualname__}")
    shown = path.parent.name if path.name == BEST else path.name.removesuffix(SUFFIX)
    return Card(shown, path, facts)


def load(name: str | os.PathLike[str]) -> AbstractOptimizer[Any]:
    """A trained model as an ordinary optimizer: pass it as `method` to `minimize`.

    ```python
    l2e.minimize(f, bounds=[(-5, 5)] * 10, budget=20_000, method=l2e.load("runs/mamba-10d"))
    ```

    **Arguments:** `name`: a shipped model, the folder of a training, or a weights file.

    **Raises:** an error that says what is allowed, or `CheckpointError` for a file that is damaged or something else.
    """
    found = card(name)
    facts = found.facts
    with jax.enable_x64(False):
        like = _blank(lambda: found.table.build(facts["dimension"], facts["generations"], jax.random.key(0)))
        stored = _cast(like, facts.get("stored", "float32"))
        return _cast(checkpoint.load_tree(found.path, stored), "float32")


def untrained(name: str | os.PathLike[str]) -> AbstractOptimizer[Any]:
    """What the training of a model began with, as it would be deployed: the fair peer of the model."""
    found = card(name)
    facts = found.facts
    with jax.enable_x64(False):
        return found.table.first(facts["dimension"], facts["generations"], facts["seed"])


def without_noise(name: str | os.PathLike[str]) -> AbstractOptimizer[Any]:
    """A trained L2E with its random term switched off: what the learned proposals do by themselves."""
    from l2e.model_config import OptimizerTable

    found = card(name)
    if not isinstance(found.table, OptimizerTable):
        raise ValueError(f"only L2E has a random term to switch off; {found.name} is a {found.table.made.__qualname__}")
    facts, table = found.facts, dataclasses.replace(found.table, noise=False)
    weights = {jax.tree_util.keystr(where): leaf for where, leaf in jax.tree_util.tree_leaves_with_path(load(name))}
    with jax.enable_x64(False):
        like = _blank(lambda: table.build(facts["dimension"], facts["generations"], jax.random.key(0)))
    return jax.tree_util.tree_map_with_path(lambda where, leaf: weights[jax.tree_util.keystr(where)], like)


def ship(source: str | os.PathLike[str], target: Path, facts: dict[str, Any]) -> None:
    """Write a model for the package: half-precision weights, the card in the header and as text beside it.

    **Arguments:** `source`: a training; `target`: the file to write; `facts`: added to the card (scores, commit).
    """
    found = card(source)
    both = {**found.facts, **facts, "stored": "float16"}
    checkpoint.save_tree(target, _cast(load(source), "float16"), both)
    text = json.dumps(both, indent=1, sort_keys=True)
    checkpoint.write_whole(target.with_suffix(".card.json"), (text + "\n").encode())


def _table(settings: dict[str, Any]) -> "AbstractModelTable":
    """The table of some settings; only who asks for a model imports operators and peers."""
    from l2e.peer_config import table_of

    return table_of(settings)


def _blank(build: Callable[[], AbstractOptimizer[Any]]) -> AbstractOptimizer[Any]:
    """What `build` makes, with zeros for weights: drawing first weights only to replace them would take seconds."""
    others = []

    def weights() -> Any:
        arrays, rest = eqx.partition(build(), lambda leaf: isinstance(leaf, jax.Array))
        others.append(rest)
        return arrays

    zeros = jax.tree.map(lambda shape: jnp.asarray(np.zeros(shape.shape, shape.dtype)), jax.eval_shape(weights))
    return eqx.combine(zeros, others[0])


def _cast(tree: Any, dtype: str) -> Any:
    """The tree with its weights, the JAX arrays of floats, in this dtype; numpy arrays are hyper-parameters."""

    def cast(leaf: Any) -> Any:
        is_weight = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating)
        return jnp.asarray(np.asarray(leaf).astype(dtype)) if is_weight else leaf  # by numpy: nothing to compile

    return jax.tree.map(cast, tree)
