"""A search that is kept in a journal and goes on from it."""

import os
import warnings
from typing import Any

import numpy as np

from l2e.api.arrival import ArrivalRun
from l2e.api.setup import Setup
from l2e.core.checkpoint import CheckpointError
from l2e.core.environment import differences, environment
from l2e.core.evaluator import Evaluator, OtherPoints
from l2e.core.journal import Journal
from l2e.core.journal_frames import Recorded, Segment
from l2e.core.journal_reader import read_journal
from l2e.core.meter import Meter
from l2e.core.search import AbstractSearch


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is a journal with something in it."""
    return os.path.exists(path) and os.path.getsize(path) > 0


def header_of(setup: Setup, **options: Any) -> dict[str, Any]:
    """The first frame of a journal: what makes this search this search, and what it was made with."""
    return {
        "dimension": setup.space.dimension,
        "settings": setup.settings | options,
        "budget": setup.budget,
        **({"open": True} if setup.open_ended else {}),
        "environment": environment(),
    }


def told_budget(path: str | os.PathLike[str]) -> int | None:
    """The budget that the search in a file was begun with; None if it was begun without one."""
    recorded = read_journal(path)
    budget = _field(path, recorded, "budget", int)
    return None if recorded.open_ended else budget


def saved_key(path: str | os.PathLike[str]) -> np.ndarray:
    """The key with which the search in a file began."""
    return key_of(_field(path, read_journal(path), "settings", dict).get("key"), path)


def key_of(words: Any, path: str | os.PathLike[str]) -> np.ndarray:
    """The key written in a header."""
    try:
        key = np.asarray(words, dtype=np.uint32)
    except (TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(f"{path} is damaged: its key is {words!r}") from error
    if key.shape != (2,):
        raise CheckpointError(f"{path} is damaged: its key is {words!r}")
    return key


def settings_of(path: str | os.PathLike[str], recorded: Recorded) -> dict[str, Any]:
    """The settings of the search in a journal."""
    return _field(path, recorded, "settings", dict)


def check_same(path: str | os.PathLike[str], recorded: Recorded, setup: Setup) -> None:
    """Refuse a file that belongs to another search than this one."""
    stored, ours = settings_of(path, recorded), setup.settings
    different = sorted(name for name in ours if stored.get(name) != ours[name])
    if different:
        name = different[0]
        verb = "differs" if len(different) == 1 else "differ"
        raise CheckpointError(
            f"{path} belongs to another search: {', '.join(different)} {verb} "
            f"({name} is {stored.get(name)!r:.80} there and {ours[name]!r:.80} here); name another file"
        )


def check_space(path: str | os.PathLike[str], stored: Any, given: str | None) -> None:
    """Refuse to load a search in a space without that space."""
    if stored is None or stored == given:
        return
    here = "none was given" if given is None else f"{given:.80} was given"
    raise CheckpointError(f"{path} holds a search in {stored:.200}, and {here}: load(path, bounds=...) as it was begun")


class Running:
    """One run of a search, with or without a journal; `search` is what runs, for questions about the run.

    **Arguments:** `setup`: the search; `evaluate`: the metered function; `path`: the journal, or None; `arrival`: tell
    values as they arrive instead of batch by batch.
    """

    def __init__(
        self, setup: Setup, evaluate: Evaluator, path: str | os.PathLike[str] | None = None, arrival: bool = False
    ):
        self.search: AbstractSearch | None = None
        self._setup, self._evaluate, self._path, self._arrival = setup, evaluate, path, arrival

    def __call__(self) -> str:
        """Run until the search ends by itself, and say why.

        **Raises:** `StopSearch` of the evaluator; `CheckpointError` for a file that cannot be gone on from; `OSError`
        if nothing can be written, before any evaluation.
        """
        return self._go(self._setup) if self._path is None else self._go_on(self._path)

    def _go(self, setup: Setup, known: Segment | None = None) -> str:
        if self._arrival:
            run = ArrivalRun(setup, self._evaluate, known)
            self.search = run.search
            return run()
        self.search = setup.search()
        return setup.run(self._evaluate, self.search)

    def _go_on(self, path: str | os.PathLike[str]) -> str:
        order = "arrival" if self._arrival else "asked"
        journal, evaluate = Journal(path, header_of(self._setup, order=order)), self._evaluate
        try:
            check_same(path, journal.recorded, self._setup)
            stored = settings_of(path, journal.recorded).get("order", order)
            if stored != order:
                raise CheckpointError(f"{path} was begun with order={stored!r}; go on with the same")
            *earlier, last = journal.recorded.segments
            evaluate.start_over(evaluation for segment in earlier for evaluation in segment.evaluations)
            evaluate.follow(journal, last)
            try:
                return self._go(of_segment(self._setup, last), last)
            except OtherPoints:
                warn_of_other_points(path, journal.recorded)
            evaluate.start_over(journal.recorded.evaluations)
            restart = restart_from(evaluate.meter)
            journal.restart(restart)
            return self._go(of_segment(self._setup, Segment(restart)))
        finally:
            journal.close()
            if journal.broken is not None:
                warnings.warn(f"the checkpoint could not be written: {journal.broken}", RuntimeWarning, stacklevel=4)


def restart_from(meter: Meter) -> dict[str, Any]:
    """How a search goes on from the best point known, with the budget that is left."""
    best = None if meter.best_x is None else meter.best_x.tolist()
    return {"x0": best, "budget": max(meter.remaining, 1), "used": meter.used}


def of_segment(setup: Setup, segment: Segment) -> Setup:
    """The search that asked, or will ask, for the points of a segment."""
    how = segment.restart
    if how is None:
        return setup
    x0 = None if how["x0"] is None else np.asarray(how["x0"], dtype=np.float64)
    return setup.continued(x0, int(how["budget"]), int(how["used"]))


def warn_of_other_points(path: Any, recorded: Recorded) -> None:
    """Say that a journal cannot be replayed here to the bit, and what follows."""
    changed = differences(recorded.header.get("environment", {}), environment())
    why = f"{'; '.join(changed)}, there and here" if changed else "the same versions here"
    warnings.warn(
        f"{path} cannot be replayed here to the bit ({why}). All {len(recorded.evaluations)} evaluations are kept; "
        "the method begins again from the best point with the budget that is left",
        RuntimeWarning,
        stacklevel=5,
    )


def _field(path: Any, recorded: Recorded, name: str, kind: type) -> Any:
    value = recorded.header.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise CheckpointError(f"{path} is damaged: its header has no {name}")
    return value
