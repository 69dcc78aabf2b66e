"""Methods of a contest that know a family: its model's file, and `NAME@FOLDER` for what is made of journals.

`archives@runs/depots`: our model from these journals alone; `warm-cmaes@...`, `optuna-source@...` and `rgpe@...`: what
others do with the same evaluations.
"""

import importlib
from pathlib import Path

from l2e.api.archives import learn_from, read_past
from l2e.api.family_model import FamilyModel
from l2e.core.adapter import AbstractAdapter
from l2e.core.errors import unknown

SEPARATOR = "@"
OURS = "archives"
OTHERS = {
    "warm-cmaes": ("warm_start", "WarmCMA"),
    "optuna-source": ("warm_start", "OptunaSource"),
    "rgpe": ("rgpe", "RGPE"),
}
"""Others' methods: module and class in `l2e.adapters`."""

FIRST = "first-*.l2e"
"""Journals of the members' own searches in the folder of a learning, which has others beside them."""


def is_transfer(name: str) -> bool:
    """Whether a method is written like one that is made of journals."""
    return SEPARATOR in name and name.split(SEPARATOR)[0] in (OURS, *OTHERS)


def build(name: str, dimension: int) -> AbstractAdapter:
    """The method `NAME@FOLDER`.

    **Raises:** `ValueError` for an unknown name, a folder without journals, or another dimension.
    """
    kind, _, folder = name.partition(SEPARATOR)
    if kind not in (OURS, *OTHERS):
        raise unknown("method of a family", kind, (OURS, *OTHERS))
    paths = journals(Path(folder))
    if kind == OURS:
        return of_model(learn_from(paths), name, dimension)
    from l2e.adapters.sources import Sources

    pasts = [read_past(path) for path in paths]
    sources = Sources.of([(past.space.to_unit(past.points), past.values) for past in pasts])
    sources.check(dimension)
    module, method = OTHERS[kind]
    return getattr(importlib.import_module(f"l2e.adapters.{module}"), method)(sources)


def of_model(model: FamilyModel, name: str, dimension: int) -> AbstractAdapter:
    """The search with a model."""
    if model.dimension != dimension:
        raise ValueError(f"{name!r} knows a family in {model.dimension} dimensions, not in {dimension}")
    return model.method()


def journals(folder: Path) -> list[Path]:
    """The journals of members in a folder: of a learning, or all there are.

    **Raises:** `ValueError` if there is none.
    """
    found = sorted(folder.glob(FIRST)) or sorted(folder.glob("*.l2e"))
    if not found:
        raise ValueError(f"there is no journal (*.l2e) in {folder}")
    return found
