"""Learning from journals of past searches alone, without any evaluation."""

import dataclasses
import glob
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from l2e.api import saved
from l2e.api.family import feature_table, same_box
from l2e.api.family_model import FamilyModel
from l2e.api.family_plans import unmeasured
from l2e.core.box import box
from l2e.core.checkpoint import CheckpointError
from l2e.core.errors import unknown
from l2e.core.journal_reader import read_journal
from l2e.core.lattice import of_kinds
from l2e.portfolio.transfer.knowledge import Knowledge
from l2e.portfolio.transfer.metric import shared
from l2e.portfolio.transfer.past import EVOLVES_BELOW, Past


def learn_from(
    journals: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    scale: Literal["same", "free"] = "same",
    features: Mapping[str, Any] | None = None,
) -> FamilyModel:
    """Learn from journals of past searches alone, one for each member, without a single evaluation.

    ```python
    model = l2e.learn_from("runs/*.l2e")
    ```

    **Arguments:** `journals`: files written by `minimize(checkpoint=...)`, or a pattern; `scale`: "free" if values of
    different members do not compare (other units, other offsets); `features`: numbers known of each member, by the
    name of its journal without folder and ending.

    **Raises:** `CheckpointError` for a file that is damaged or has another box; `ValueError` if there is none.
    """
    if scale not in ("same", "free"):
        raise unknown("scale", scale, ("same", "free"))
    began = time.perf_counter()
    paths = _paths(journals)
    pasts = []
    for path in paths:
        past = read_past(path)
        if pasts and not same_box(past.space, pasts[0].space):
            raise CheckpointError(f"{path} has another box than {paths[0]}: a family has one")
        pasts.append(past)
    used = [(path, past) for path, past in zip(paths, pasts, strict=True) if np.isfinite(past.values).any()]
    if not used:
        raise ValueError(f"no journal has an evaluation with a value: {', '.join(map(str, paths[:3]))}")
    pasts, names = [past for _, past in used], tuple(path.stem for path, _ in used)
    knowledge = knowledge_of(pasts, scale == "free")
    if features is not None:
        knowledge = dataclasses.replace(knowledge, traits=feature_table(features, names))
    evolving, longest = evolves(pasts), median_length(pasts)
    plans = unmeasured(knowledge, evolving, longest)
    seconds = time.perf_counter() - began
    return FamilyModel(pasts[0].space, names, knowledge, plans, (), 0, seconds, "journals", evolving, longest)


def knowledge_of(pasts: Sequence[Past], scale_free: bool) -> Knowledge:
    """What journals say of members: nothing about each other's ends."""
    metric = shared([past.secants for past in pasts])
    d = pasts[0].space.dimension
    best = np.array([past.best for past in pasts])
    cross = np.full((len(pasts), len(pasts)), np.nan)
    np.fill_diagonal(cross, best)
    return Knowledge(
        np.stack([past.end for past in pasts]),
        best,
        np.array([past.centre for past in pasts]),
        np.stack([past.gradient for past in pasts]),
        cross,
        np.zeros((d, d)) if metric is None else metric,
        scale_free,
    )


def evolves(pasts: Sequence[Past]) -> bool:
    """Whether an evolutionary search did most of the work."""
    return float(np.median([past.star_share for past in pasts])) < EVOLVES_BELOW


def median_length(pasts: Sequence[Past]) -> float:
    """Evaluations per dimension, in the median."""
    return float(np.median([len(past.points) for past in pasts])) / pasts[0].space.dimension


def _paths(journals: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    if isinstance(journals, str | os.PathLike):
        found = sorted(glob.glob(os.fspath(journals)))
        if not found:
            raise ValueError(f"no journal matches {os.fspath(journals)!r}")
        return [Path(path) for path in found]
    paths = [Path(path) for path in journals]
    if not paths:
        raise ValueError("name one or more journals")
    return paths


def read_past(path: Path) -> Past:
    """The search in a journal.

    **Raises:** `CheckpointError` for a file that is damaged.
    """
    recorded = read_journal(path)
    try:
        settings = saved.settings_of(path, recorded)
        space = of_kinds(box(settings["bounds"]), settings.get("kinds"))
        noisy = bool(settings.get("noisy"))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged: its header has no bounds") from error
    rows = recorded.evaluations
    points = np.array([row.x for row in rows]).reshape(len(rows), space.dimension)
    values = np.array([np.inf if row.reason is not None else row.value for row in rows])
    return Past(space, points, np.where(np.isfinite(values), values, np.inf), noisy)
