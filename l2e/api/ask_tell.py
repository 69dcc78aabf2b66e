"""`Optimizer`: the same searches with the loop in the user's hands."""

import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from l2e.api import saved
from l2e.api.catalog import DEFAULT_METHOD
from l2e.api.constrain import constrainer, known_to
from l2e.api.handed import Handed, Told
from l2e.api.result import collect, recommend
from l2e.api.setup import check_inside, prepare, seconds, target_value, whole_number
from l2e.api.views import view_of
from l2e.core.answers import as_numbers
from l2e.core.caller import after_interruption
from l2e.core.checkpoint import CheckpointError, write_whole
from l2e.core.errors import UnknownNameError
from l2e.core.journal_frames import Evaluation, Recorded, Segment, entries, opening, restart_entry
from l2e.core.journal_reader import read_journal
from l2e.core.meter import Meter
from l2e.core.search import AbstractSearch, Known
from l2e.core.stops import BudgetExhausted, StopSearch

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

    from l2e.core.program import AbstractProgram
    from l2e.core.traced.algorithm import AbstractAlgorithm


SAME_POINT = 1e-3
"""A told point that is this close to one asked for, in shares of the box, is meant to be that one."""


class _Told(NamedTuple):
    """One batch as the user told it."""

    points: np.ndarray
    values: np.ndarray

    def reasons(self) -> list[str | None]:
        return [None if np.isfinite(value) else f"returned {value}" for value in self.values]


class _Saved(NamedTuple):
    """What `save` has written: where, how many bytes, how many batches."""

    path: Path
    size: int
    batches: int


class Optimizer:
    """A search by ask and tell.

    ```python
    opt = l2e.Optimizer(bounds=[(-5, 5)] * 10, budget=2000, rng=0)
    while not opt.stop():
        points = opt.ask()                      # (n, d); the same batch until it is told
        opt.tell(points, [f(x) for x in points])
    opt.result().x
    ```

    **Arguments:** as in `minimize`; in an `l2e.Space` points are dictionaries of parameters. Without a `budget` the
    loop ends when you end it, after 10,000 evaluations, or 1000 per dimension, at the latest. `workers` is how many
    points you evaluate at once: with more than one, `ask` may be called while points are out, and values may be told in
    part. With constraints that come out of the evaluation, `constraints=l2e.Returned(m)`, they are told with the
    values: `tell(points, values, constraints)`. Methods that run a loop of their own (`l2e methods` says which) cannot
    be driven this way.
    """

    def __init__(
        self,
        *,
        bounds: Any,
        integrality: Any = None,
        constraints: Any = None,
        noisy: bool | str | None = None,
        method: "str | AbstractAlgorithm[Any] | AbstractProgram" = DEFAULT_METHOD,
        budget: int | None = None,
        x0: Any = None,
        rng: Any = None,
        known: Any = None,
        population_size: int | None = None,
        target: float | None = None,
        max_seconds: float | None = None,
        workers: int = 1,
    ):
        self._workers = whole_number("workers", workers)
        self._view = view_of(bounds, integrality)
        if self._view is not None:
            bounds, x0 = self._view.box, self._view.start(x0)
        self._limits = constrainer(constraints, self._view, bounds)
        bounds = bounds if self._limits is None else self._limits.box
        data = known_to(self._limits, known, self._view)
        setup = prepare(bounds, method, budget, x0, rng, population_size, data, self._workers)
        self._origin = self._setup = setup.for_noise(noisy)
        self._target = target_value(target)
        self._max_seconds = seconds("max_seconds", max_seconds)
        self._began: float | None = None  # the clock starts with the first ask, after compilation
        self._budget = self._setup.budget
        self._kept: list[Evaluation] = []  # of an earlier search that this one goes on from
        self._restart: dict[str, Any] | None = None  # and how
        self._told: list[_Told] = []  # all that was told: what search and meter can be made of again
        self._unasked: list[tuple[int, Known]] = []  # after how many batches they were told
        self._saved: _Saved | None = None
        self._handed: Handed | None = None
        self._rebuild()

    @property
    def method(self) -> str:
        """The method's name."""
        return self._setup.method

    def ask(self, n: int | None = None) -> Any:
        """The next points to evaluate, shape (n, d), inside the box; never more than the budget has left.

        In a space they are a list of dictionaries.

        Asking again before `tell` gives the same batch, so a crashed evaluation may simply ask again. With several
        workers it gives new points: up to `n`, or as many as there are workers without one.
        """
        reasons = self.stop()
        if "budget" in reasons:
            raise BudgetExhausted(f"all {self._budget} evaluations are used")
        if reasons:
            raise StopSearch(f"the search is over: {reasons}")
        if self._began is None:
            self._began = time.monotonic()
        if n is not None and self._handed is None:
            raise ValueError("ask(n) goes with several workers: Optimizer(workers=...)")
        batch = self._batch() if self._handed is None else self._hand_out(self._handed, n)
        return batch if self._view is None else self._view.batch(batch)

    def tell(self, points: Any, values: Any, constraints: Any = None) -> None:
        """Give the values of the batch last asked, in any order; NaN, None or an infinity marks a failed evaluation.

        `constraints`: with `Returned(m)`, the m constraints of each point, shape (n, m); None in place of a row whose
        evaluation failed.

        Points that nobody asked for may be told as well, alone or with the batch: they cost nothing, and inform the
        default method. They have to be clearly other points than those asked for.

        An interruption (Ctrl-C) inside `tell` does no harm: the batch was either taken, or will be asked again.
        """
        self._mend()
        batch = self._batch() if self._handed is None else self._handed.points
        given = np.asarray(points, dtype=np.float64) if self._view is None else self._view.asked(batch, points)
        plain = [np.nan if value is None else value for value in _each(values)]
        numbers = np.asarray([as_numbers(value, 1)[0] for value in plain], dtype=np.float64)
        self._take_constraints(np.atleast_2d(given), constraints)
        if self._handed is not None:
            self._tell_some(self._handed, np.atleast_2d(given), numbers)
            return
        given, numbers = self._without_unasked(batch, given, numbers)
        if not len(given) and len(batch):
            return
        if given.shape != batch.shape or numbers.shape != (len(batch),):
            raise ValueError(
                f"tell needs the {len(batch)} points last asked, shape {batch.shape}, and {len(batch)} values; "
                f"got shapes {given.shape} and {numbers.shape}"
            )
        told = _Told(given.copy(), numbers)
        _match(batch, given)
        self._whole = False
        self._told.append(told)
        self._take(told)
        self._whole = True

    def _take_constraints(self, points: np.ndarray, rows: Any) -> None:
        table = None if self._limits is None else self._limits.table
        if (rows is None) != (table is None):
            if table is None:
                raise ValueError(
                    "constraints are told only if they were announced: Optimizer(constraints=l2e.Returned(m))"
                )
            raise ValueError(
                "with Returned constraints they are told with the values: tell(points, values, constraints)"
            )
        if table is not None:
            table.take(points, rows)

    def _hand_out(self, handed: Handed, n: int | None) -> np.ndarray:
        most = self._workers - handed.out if n is None else whole_number("n", n)
        if most < 1:
            raise ValueError(f"{handed.out} points are out, one for each worker; tell some of them, or ask(n) for more")
        room = self._meter.remaining - handed.out
        if room < 1:
            raise BudgetExhausted(f"all evaluations that are left ({handed.out}) are out; tell their values")
        self._whole = False
        points = handed.ask(min(most, room))
        self._whole = True
        return points

    def _tell_some(self, handed: Handed, points: np.ndarray, values: np.ndarray) -> None:
        if points.shape != (len(values), self._setup.space.dimension):
            raise ValueError(f"tell needs as many values as points, got shapes {points.shape} and {values.shape}")
        told = Told(tuple(handed.numbers_of(points)), tuple(values.tolist()))
        self._whole = False
        handed.log.append(told)
        handed.do(told, self._meter)
        self._whole = True

    def stop(self) -> dict[str, Any]:
        """Reasons to stop, as a dict from name to value; empty while the search should go on."""
        self._mend()
        reasons: dict[str, Any] = {}
        if self._meter.remaining <= 0:
            reasons["budget"] = self._budget
        if self._target is not None and self._meter.best_f <= self._target:
            reasons["target"] = self._target
        if self._search.converged if self._handed is None else self._handed.over:
            reasons["converged"] = True
        began = time.monotonic() if self._began is None else self._began
        if self._max_seconds is not None and time.monotonic() - began >= self._max_seconds:
            reasons["max_seconds"] = self._max_seconds
        return reasons

    def result(self) -> "OptimizeResult":
        """What was found so far, as scipy's `OptimizeResult`."""
        reason, fact = next(iter(self.stop().items()), ("running", None))
        message = "the search is going on" if reason == "running" else f"stopped by {reason}: {fact}"
        result = collect(self._meter, self._setup.method, reason, message, self._search)
        if self._limits is not None:
            result = self._limits.result(result, self._search.account.multipliers)
        result = recommend(result, self._search, told=bool(self._setup.noisy))
        return result if self._view is None else self._view.result(result)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole search to a file, from which `load` resumes it. Saving again appends what is new."""
        self._mend()
        target, known = Path(path).absolute(), self._saved
        returned = self._limits is not None and self._limits.table is not None  # they are in the header of the file
        if (
            not returned
            and known is not None
            and known.path == target
            and target.is_file()
            and target.stat().st_size == known.size
        ):
            new = self._new_frames(known.batches)
            with open(target, "ab") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            self._saved = _Saved(target, known.size + len(new), self._entries)
            return
        space = None if self._view is None else repr(self._view.space)
        unasked = [[at, known.points.tolist(), known.values.tolist()] for at, known in self._unasked]
        first = None if self._origin.known is None else [part.tolist() for part in self._origin.known]
        given = {"space": space, "unasked": unasked, "known_points": first, **self._saved_constraints()}
        header = saved.header_of(self._origin, target=self._target, max_seconds=self._max_seconds, **given)
        content = opening(header) + _frames([_Told(one.x[None], np.asarray([one.value])) for one in self._kept], 0)
        content += (b"" if self._restart is None else restart_entry(self._restart)) + self._new_frames(0)
        write_whole(target, content)
        self._saved = _Saved(target, len(content), self._entries)

    def _saved_constraints(self) -> dict[str, Any]:
        if self._limits is None:
            return {}
        table = self._limits.table
        return {"constraints": True} if table is None else {"constraints": True, "returned": table.rows()}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        method: "AbstractAlgorithm[Any] | AbstractProgram | None" = None,
        budget: int | None = None,
        bounds: Any = None,
        integrality: Any = None,
        constraints: Any = None,
    ) -> "Optimizer":
        """Resume a saved search.

        **Arguments:** `method`: the algorithm object, if the search was begun with one; `budget`: another number of
        evaluations in all, to go on after the last; `bounds`, `integrality`: the space, if it was not a plain box;
        `constraints`: those it was begun with, since functions are not saved.
        """
        recorded = read_journal(path)
        settings = saved.settings_of(path, recorded)
        view = None if bounds is None else view_of(bounds, integrality)
        saved.check_space(path, settings.get("space"), None if view is None else repr(view.space))
        options: dict[str, Any] = {"workers": settings.get("workers", 1)}
        kept = ("bounds", "x0", "population_size", "target", "max_seconds", "noisy")
        options |= {name: settings.get(name) for name in kept}
        if view is not None:
            options["bounds"] = view.box
        if bool(settings.get("constraints")) != (constraints is not None):
            there = "with constraints" if settings.get("constraints") else "without constraints"
            raise CheckpointError(f"{path} holds a search {there}: load(path, constraints=...) as it was begun")
        limits, first = constrainer(constraints, view, options["bounds"]), settings.get("known_points")
        if limits is not None and limits.table is not None:
            rows = settings.get("returned") or []
            limits.table.take(np.asarray([point for point, _ in rows]), [row for _, row in rows])
            if first is not None:
                first = (*first, limits.table.values(np.asarray(first[0])))
        try:
            fresh = cls(
                method=method or settings["method"],
                budget=saved.told_budget(path),
                rng=saved.key_of(settings.get("key"), path),
                known=first,
                constraints=limits,
                **options,
            )
        except UnknownNameError:
            raise
        except (TypeError, ValueError, KeyError) as error:
            raise CheckpointError(f"{path} is damaged: its settings make no search ({error})") from error
        fresh._view = view
        fresh._unasked = [(at, Known(np.asarray(x), np.asarray(y))) for at, x, y in settings.get("unasked") or []]
        saved.check_same(path, recorded, fresh._origin)
        fresh._budget = fresh._budget if budget is None else whole_number("budget", budget)
        fresh._resume(path, recorded)
        return fresh

    @property
    def _entries(self) -> int:
        return len(self._told) if self._handed is None else len(self._handed.log)

    def _new_frames(self, since: int) -> bytes:
        if self._handed is not None:
            return self._handed.frames(since)
        return _frames(self._told[since:], sum(len(told.values) for told in self._told[:since]))

    def _batch(self) -> np.ndarray:
        return self._search.ask()[: self._meter.remaining]

    def _take(self, told: _Told) -> None:
        """Count a batch and pass its values on, in the order in which they were asked for."""
        order = _match(self._batch(), told.points)
        values = self._meter.count_all(told.points, told.values)
        self._meter.batches += 1
        self._search.tell(values[order])

    def _mend(self) -> None:
        """After an interruption inside `tell`: make search and meter again from all that was told."""
        if not self._whole:
            after_interruption()
            self._rebuild()

    def _rebuild(self) -> None:
        self._whole = False
        search = self._setup.search()
        if search is None:
            raise ValueError(f"method {self._setup.method!r} runs its own loop and has no ask/tell; use l2e.minimize")
        self._search: AbstractSearch = search
        admits = None if self._limits is None else self._limits.admits()
        self._meter = Meter(self._setup.space, self._budget, admits=admits)
        if self._setup.known is not None:
            self._meter.know(*self._setup.known)
        for evaluation in self._kept:
            self._meter.count(evaluation.x, evaluation.value, evaluation.reason)
        self._know(0)
        for batches, told in enumerate(self._told, 1):
            self._take(told)
            self._know(batches)
        self._handed = self._hand(self._handed) if self._workers > 1 else None
        self._whole = True

    def _know(self, batches: int) -> None:
        """Pass on what was told unasked after so many batches."""
        for at, known in self._unasked:
            if at == batches:
                self._meter.know(*known)
                self._search.know(known)

    def _without_unasked(
        self, batch: np.ndarray, given: np.ndarray, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What was told of the batch; other points are taken in beside it."""
        if given.ndim != 2 or given.shape[1:] != batch.shape[1:] or len(given) != len(numbers):
            return given, numbers
        space = self._setup.space
        apart = np.asarray([np.abs((batch - x) / space.width).max(axis=1).min(initial=np.inf) for x in given])
        other = apart > SAME_POINT
        usable = other & np.isfinite(numbers)
        check_inside("told point", given[other], space)
        if usable.any():
            known = Known(given[usable].copy(), numbers[usable].copy())
            self._unasked.append((len(self._told), known))
            self._saved = None  # they are in the header of the file
            self._meter.know(*known)
            self._search.know(known)
        return given[~other], numbers[~other]

    def _hand(self, before: Handed | None) -> Handed:
        """The desk of a search with several workers, with all that was asked and told at the one before."""
        handed = Handed(self._setup)
        if before is not None:
            handed.log, handed.lost = before.log, before.lost
            handed.replay(self._meter)
        self._search = handed.search
        return handed

    def _resume(self, path: Any, recorded: Recorded) -> None:
        """Tell this fresh search what a journal holds; if it asks for other points here, begin from the best one."""
        *earlier, last = recorded.segments
        self._kept = [evaluation for segment in earlier for evaluation in segment.evaluations]
        self._restart, self._setup = last.restart, saved.of_segment(self._origin, last)
        self._rebuild()
        if self._handed is not None:
            if not self._handed.resume(last, self._meter):
                saved.warn_of_other_points(path, recorded)
                self._begin_from(recorded)
            return
        left = list(last.evaluations)
        while left and len(left) >= len(batch := self._batch()) > 0:
            chunk, left = left[: len(batch)], left[len(batch) :]
            told = _Told(np.asarray([one.x for one in chunk]), np.asarray([one.value for one in chunk]))
            if not _are_same(batch, told.points):
                saved.warn_of_other_points(path, recorded)
                self._begin_from(recorded)
                return
            self._told.append(told)
            self._take(told)
            self._know(len(self._told))

    def _begin_from(self, recorded: Recorded) -> None:
        self._kept, self._told, self._handed = recorded.evaluations, [], None
        self._restart = None
        self._setup = self._origin
        self._rebuild()
        self._restart = saved.restart_from(self._meter)
        self._setup = saved.of_segment(self._origin, Segment(self._restart))
        self._rebuild()


def _each(values: Any) -> list[Any]:
    """Values as a flat list, of whatever kind they are."""
    if isinstance(values, list | tuple):
        return list(values)
    return np.ravel(np.asarray(values)).tolist()


def _frames(batches: Sequence[_Told], first: int) -> bytes:
    """Batches as a journal keeps them; `first`: the number of their first evaluation."""
    ends = itertools.accumulate((len(told.values) for told in batches), initial=first)
    return b"".join(
        entries(told.points, told.values, told.reasons(), n) for told, n in zip(batches, ends, strict=False)
    )


def _are_same(batch: np.ndarray, given: np.ndarray) -> bool:
    try:
        _match(batch, given)
    except ValueError:
        return False
    return True


def _match(batch: np.ndarray, given: np.ndarray) -> np.ndarray:
    """For each asked point the row in which it was given."""
    if np.array_equal(batch, given):
        return np.arange(len(batch))
    places: dict[bytes, list[int]] = {}
    for row, point in enumerate(given):
        places.setdefault(point.tobytes(), []).append(row)
    order = []
    for i, point in enumerate(batch):
        rows = places.get(point.tobytes())
        if not rows:
            raise ValueError(f"point {i} of the batch last asked is not among the points told; tell what ask() gave")
        order.append(rows.pop(0))
    return np.asarray(order)
