"""Trained models: shipped ones by name, a user's own by path. A model is an ordinary algorithm, with a card."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from l2e.core.checkpoint import CheckpointError, load_metadata, write_whole
from l2e.core.errors import UnknownNameError, unknown
from l2e.portfolio.weights import GATE_KIND, SHIPPED_GATE

if TYPE_CHECKING:
    from l2e.algorithms.trainable import AbstractSettings
    from l2e.core.traced.algorithm import AbstractAlgorithm

SHIPPED = Path(__file__).parent.parent / "weights"
BEST = "best.safetensors"
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Card:
    """What is known about a model: where it is, what it is, how it was made, how it scores."""

    name: str
    path: Path
    metadata: dict[str, Any]

    @property
    def settings(self) -> "AbstractSettings":
        """The settings of the algorithm."""
        from l2e.algorithms.kinds import parse_settings  # only who asks for a model imports operators and peers

        return parse_settings(self.metadata["optimizer"])

    @property
    def trained_dimension(self) -> int:
        """The dimension it was trained in."""
        return self.metadata["dimension"]

    @property
    def dimension(self) -> int | None:
        """The one dimension it works in, or None for any."""
        return None if self.settings.any_dimension else self.trained_dimension

    @property
    def generations(self) -> int:
        """The generations of an episode of its training, after the first population."""
        return self.metadata["generations"]

    @property
    def stored(self) -> str:
        """The type of the weights in the file."""
        return self.metadata.get("stored", "float32")

    @property
    def evaluations(self) -> int:
        """The budget of the episodes it was trained on."""
        return self.settings.evaluations(self.generations)

    @property
    def summary(self) -> str:
        """One line."""
        where = "any dimension" if self.dimension is None else f"{self.dimension}-D"
        return f"{self.settings.summary}, {where}, {self.evaluations} evaluations"


def shipped() -> dict[str, Path]:
    """The models inside the package, by name, without the weights of the default method, which is more than one."""
    found = (path for path in sorted(SHIPPED.glob(f"*{SUFFIX}")) if path != SHIPPED_GATE)
    return {path.name.removesuffix(SUFFIX): path for path in found}


def families() -> dict[str, dict[int, str]]:
    """Names that stand for several shipped models, one per dimension: `l2e-base` for `l2e-base-10d`, and so on.

    **Returns:** for each name its models by dimension.
    """
    found: dict[str, dict[int, str]] = {}
    for name in shipped():
        match = re.fullmatch(r"(.+)-(\d+)d", name)
        if match:
            found.setdefault(match[1], {})[int(match[2])] = name
    return {name: dict(sorted(members.items())) for name, members in found.items()}


def is_path(name: str | os.PathLike[str]) -> bool:
    """Whether this is a path and not a name: a path object, or a text with a separator or the suffix .safetensors."""
    if not isinstance(name, str):
        return True
    return name.endswith(SUFFIX) or any(mark in name for mark in (os.sep, os.altsep) if mark)


def find(name: str | os.PathLike[str]) -> Path:
    """The weights file of a shipped model's name, of a training's folder, or the file itself.

    Names of shipped models come first; a file or folder here is named by a path, such as `./name`.

    **Raises:** `UnknownNameError` that says what is allowed, or what is wrong with the path.
    """
    if isinstance(name, str) and name in shipped():
        return shipped()[name]
    shown = repr(os.fspath(name)[:60]) + ("..." if len(os.fspath(name)) > 60 else "")
    path = Path(name)
    try:
        inside, is_file, exists = (path / BEST).is_file(), path.is_file(), path.exists()
    except (OSError, ValueError) as error:  # too long, or with a NUL in it
        raise UnknownNameError(f"no model can have the name {shown}: {error.__class__.__name__}") from error
    if not is_path(name):
        if inside or is_file:
            raise UnknownNameError(f"unknown model {shown}; for the one in this folder write {os.curdir}{os.sep}{name}")
        raise unknown("model", os.fspath(name)[:60], [*shipped(), "the path of a training's folder or weights file"])
    if inside or is_file:
        return path / BEST if inside else path
    if path.is_dir():
        raise UnknownNameError(f"there is no model in {shown}: a training's folder holds {BEST}")
    raise UnknownNameError(f"there is no model at {shown}" + (": it is not a file" if exists else ""))


def is_gate(name: str | os.PathLike[str]) -> bool:
    """Whether a training or a file holds weights of the default method's gate."""
    optimizer = load_metadata(find(name)).get("optimizer")
    return isinstance(optimizer, dict) and optimizer.get("kind") == GATE_KIND


def card(name: str | os.PathLike[str]) -> Card:
    """The card of a model, without its weights.

    **Raises:** `CheckpointError` naming the file and what is wrong in it.
    """
    path = find(name)
    shown = path.parent.name if path.name == BEST else path.name.removesuffix(SUFFIX)
    found = Card(shown, path, load_metadata(path))
    if not isinstance(found.metadata.get("optimizer"), dict):
        hint = ": it is the model of a family, for minimize(model=...)" if "plans" in found.metadata else ""
        raise CheckpointError(f"{path} does not hold a trained model{hint}")
    try:
        made = found.settings.algorithm.__qualname__
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} holds a model that this version does not know: {error}") from error
    if found.metadata.get("class") != made:
        raise CheckpointError(f"{path} holds a {found.metadata.get('class')}, its settings are of a {made}")
    for key in ("dimension", "generations"):
        number = found.metadata.get(key)
        if type(number) is not int or not 1 <= number < 2**31:
            raise CheckpointError(f"{path} is damaged: its {key} is {number!r}")
    if found.stored not in ("float32", "float16"):
        raise CheckpointError(f"{path} is damaged: its weights are stored as {found.stored!r}")
    return found


def load(name: str | os.PathLike[str], budget: int | None = None) -> "AbstractAlgorithm[Any]":
    """A trained model as an ordinary algorithm: pass it as `method` to `minimize`.

    ```python
    l2e.minimize(f, bounds=[(-5, 5)] * 10, budget=20_000, method=l2e.load("runs/mamba-10d"))
    ```

    **Arguments:** `name`: a shipped model, or the path of a training's folder or of a weights file; `budget`: the
    evaluations of a run, for a model that asks how much of it is over; by default those of its training.

    **Raises:** `UnknownNameError` that says what is allowed, or `CheckpointError` for a file that is damaged, holds
    something else, or has weights that are not finite.
    """
    from l2e.algorithms.stored import load_algorithm

    found = card(name)
    loaded = load_algorithm(found.path, found.settings, found.trained_dimension, found.generations, found.stored)
    return _told(loaded, budget)


def _told(model: "AbstractAlgorithm[Any]", budget: int | None) -> "AbstractAlgorithm[Any]":
    """The model for runs of this budget, if it wants to know."""
    from l2e.algorithms.trainable import TakesBudget

    return model.with_budget(budget) if budget is not None and isinstance(model, TakesBudget) else model


def untrained(name: str | os.PathLike[str], budget: int | None = None) -> "AbstractAlgorithm[Any]":
    """A model before any training, as it would be deployed: the fair peer of the model.

    Of a training that began with the weights of another one, it has the random weights that stood there before.
    `budget` is as in `load`.
    """
    from l2e.algorithms.stored import initial_algorithm

    found = card(name)
    seed = found.metadata.get("seed")
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise CheckpointError(f"{found.path} is damaged: the seed of its training is {seed!r}")
    first = initial_algorithm(found.settings, found.trained_dimension, found.generations, seed)
    return _told(first, budget)


def without_noise(name: str | os.PathLike[str]) -> "AbstractAlgorithm[Any]":
    """A trained L2E with its random term switched off: what the learned proposals do by themselves."""
    from l2e.algorithms import stored
    from l2e.algorithms.l2e.solver import L2ESettings

    found = card(name)
    if not isinstance(found.settings, L2ESettings):
        kind = found.settings.algorithm.__qualname__
        raise ValueError(f"only L2E has a random term to switch off; {found.name} is a {kind}")
    return stored.without_noise(load(name), found.settings, found.trained_dimension, found.generations)


def ship(source: str | os.PathLike[str], target: Path, more: dict[str, Any]) -> None:
    """Write a model for the package: half-precision weights, the card in the header and as text beside it.

    **Arguments:** `source`: a training; `target`: the file to write; `more`: added to the card (scores, commit).
    """
    from l2e.algorithms.stored import save_algorithm

    metadata = {**card(source).metadata, **more, "stored": "float16"}
    save_algorithm(target, load(source), metadata, "float16")
    text = json.dumps(metadata, indent=1, sort_keys=True)
    write_whole(target.with_suffix(".card.json"), (text + "\n").encode())
