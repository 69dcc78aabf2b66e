"""From a store of the contest to the runs of a report: here, and only here, records meet the optimum."""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from l2e.api import problem_catalog
from l2e.bench.disturbance import Disturbance
from l2e.bench.experiment import AblationTable, Experiment, Note
from l2e.bench.record import RunRecord
from l2e.bench.store import Store
from l2e.bench.suite import build_problem, is_own, parts, suite_of
from l2e.core.errors import one_line, unknown
from l2e.core.problem import GAP_FLOOR, AbstractProblem
from l2e.core.settings import parse
from l2e.problems._bbob.suite import BBOB, GROUPS
from l2e.report.published import published_suites
from l2e.report.records import Run

LARGEST_DIMENSION = 10_000
"""Problems of more coordinates are not built for a report: their rotations alone would fill the memory."""


FLOOR_SHARE = 0.01
FLOOR_REMARK = (
    "no optimum is known and values are negative: gaps are to a hundredth of its size below the lowest value seen"
)


@dataclass(frozen=True)
class Results:
    """Runs by problem and method. A problem is a function in a dimension; its instances and seeds are its runs."""

    name: str
    title: str
    runs: tuple[Run, ...]
    methods: tuple[str, ...]
    reference: str
    published: str | None = None
    ablation: AblationTable | None = None
    remarks: tuple[str, ...] = ()
    cells: dict[tuple[str, str], list[Run]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for run in self.runs:
            self.cells.setdefault((run.problem, run.method), []).append(run)

    @functools.cached_property
    def problems(self) -> dict[str, Run]:
        """Each problem, and one run on it, which knows its group and dimension."""
        return {run.problem: run for run in reversed(self.runs)}

    @functools.cached_property
    def complete(self) -> tuple[str, ...]:
        """The methods with runs on all problems; only those are ranked against each other."""
        return tuple(m for m in self.methods if all((problem, m) in self.cells for problem in self.ordered))

    @functools.cached_property
    def ordered(self) -> tuple[str, ...]:
        """The problems by dimension and function."""
        return tuple(dict.fromkeys(run.problem for run in self.runs))

    def gaps(self, problem: str, method: str) -> np.ndarray:
        """The final gaps of the runs in a cell, 0 for those at or below 1e-8."""
        final = np.asarray([run.final for run in self.cells.get((problem, method), [])])
        return np.where(final <= GAP_FLOOR, 0.0, final)

    def keys(self, problems: Iterable[str], methods: Iterable[str]) -> tuple[str, ...]:
        """The record keys of all runs in some cells."""
        methods = list(methods)
        cells = [self.cells.get((problem, method), []) for problem in problems for method in methods]
        return tuple(run.key for cell in cells for run in cell)


def collect(store: Store, methods: Sequence[str] = ()) -> Results:
    """The runs of a store with one contest; see `collect_contests`.

    **Raises:** `ValueError` if there are several.
    """
    found = collect_contests(store, methods)
    if len(found) > 1:
        raise ValueError(f"{store.folder} has several contests: {', '.join(results.name for results in found)}")
    return found[0]


def collect_contests(
    store: Store, methods: Sequence[str] = (), only: Sequence[str] = (), trust: bool = False
) -> list[Results]:
    """The runs of each contest of a store that has any.

    **Arguments:** `methods`: only these, in this order; those of the experiment first, then all others, if empty;
    `only`: the names of the contests wanted, all if empty; `trust`: whether suites written `module:factory` may be
    asked for their optima, which runs their code; the values themselves are shown if not.

    **Raises:** `ValueError` if a contest does not exist or a method has no records.
    """
    noted, remarks = _noted(store)
    known, unbuilt = _buildable(store.records.values(), trust)
    own = sorted({suite_of(record.spec.problem) for record in known if is_own(suite_of(record.spec.problem))})
    if own and not trust:
        remarks.append(f"{', '.join(own)}: their code is not run for a report; --trust asks it for optima")
    if unbuilt:
        remarks.append(f"{len(unbuilt)} records are left out: their problems are unknown, {unbuilt[0]} for instance")
    if isinstance(noted, Note):
        _refuse_unknown("contest", only, [])
        titled = noted if noted.title or noted.name else dataclasses.replace(noted, title=store.folder.name)
        found = [(titled, known)]
    else:
        found = _by_contest(noted, known, only)
        used = {record.key for _, records in found for record in records}
        if not only and len(used) < len(known):
            remarks.append(
                f"{len(known) - len(used)} records are left out: they belong to no contest of the experiment"
            )
    present = {record.spec.method for _, records in found for record in records}
    absent = [method for method in methods if method not in present]
    if absent or not present:
        raise ValueError(f"no records of {', '.join(absent) or 'any method'} in {store.folder}")
    chosen = [(note, [r for r in records if not methods or r.spec.method in methods]) for note, records in found]
    useful, complaints = _useful(record for _, records in chosen for record in records)
    if not useful:
        raise ValueError(f"no run in {store.folder} has a value; {complaints[0]}")
    remarks += [f"left out: {complaint}" for complaint in complaints]
    valued = [(note, [r for r in records if r.spec.problem in useful]) for note, records in chosen]
    return [results_of(records, note, methods, tuple(remarks), trust) for note, records in valued if records]


def _useful(records: Iterable[RunRecord]) -> tuple[set[str], list[str]]:
    """The problems on which any run has a value, and a sentence about each of the others."""
    useful: set[str] = set()
    errors: dict[str, str | None] = {}
    for record in records:
        errors[record.spec.problem] = record.error
        if len(record.fun):
            useful.add(record.spec.problem)
    return useful, [f"{name}: {error or 'no value'}" for name, error in errors.items() if name not in useful]


def _by_contest(
    experiment: Experiment, records: Sequence[RunRecord], only: Sequence[str]
) -> list[tuple[Note, list[RunRecord]]]:
    """Each contest with the records of its methods, and of methods that no contest names: somebody added them."""
    named = {method for contest in experiment.contests() for method in contest.methods}
    found = []
    for contest in experiment.contests(only):
        wanted = [r for r in records if r.spec.method in contest.methods or r.spec.method not in named]
        values = {field.name: getattr(contest, field.name) for field in dataclasses.fields(Note)}
        found.append((Note(**values), [record for record in wanted if contest.covers(record.spec)]))
    return found


def _refuse_unknown(kind: str, names: Iterable[str], allowed: Sequence[str]) -> None:
    for name in names:
        if name not in allowed:
            raise unknown(kind, name, allowed)


def results_of(
    records: Iterable[RunRecord],
    note: Note,
    methods: Sequence[str] = (),
    remarks: tuple[str, ...] = (),
    trust: bool = False,
) -> Results:
    """The runs behind some records; of several of one problem, method and seed the newest counts."""
    newest: dict[tuple[str, str, int, Disturbance | None], RunRecord] = {}
    for record in sorted(records, key=lambda record: record.written):
        newest[record.spec.problem, record.spec.method, record.spec.seed, record.spec.disturb] = record
    present = list(dict.fromkeys(method for _, method, _, _ in newest))
    wanted = [m for m in methods or note.methods if m in present]
    wanted += [] if methods else [m for m in present if m not in wanted]
    dimensions = {parts(problem)["dimension"] for problem, _, _, _ in newest}
    disturbances = {disturb for _, _, _, disturb in newest}
    chosen = sorted(
        (record for record in newest.values() if record.spec.method in wanted),
        key=lambda record: (_place(record), wanted.index(record.spec.method), record.spec.seed),
    )
    runs = tuple(run_of(record, len(dimensions) > 1, len(disturbances) > 1, trust) for record in chosen)
    floors = _floors(runs)
    if floors:
        runs = tuple(dataclasses.replace(run, f_opt=floors.get(run.problem, run.f_opt)) for run in runs)
        remarks = (*remarks, FLOOR_REMARK)
    reference = note.reference if note.reference in wanted else wanted[0]
    return Results(
        note.name, note.title or note.name, runs, tuple(wanted), reference, note.published, note.ablation, remarks
    )


def _floors(runs: Sequence[Run]) -> dict[str, float]:
    """By problem without a known optimum and with values that are not positive, what gaps are measured from."""
    lowest: dict[str, float] = {}
    for run in runs:
        if run.f_opt is None and len(run.improved_to):
            lowest[run.problem] = min(lowest.get(run.problem, np.inf), float(run.improved_to[-1]))
    return {problem: value - FLOOR_SHARE * max(abs(value), 1.0) for problem, value in lowest.items() if value <= 0}


def _noted(store: Store) -> tuple[Note | Experiment, list[str]]:
    """What a store notes of its experiment; a damaged note is left out, with a remark."""
    try:
        values = store.experiment()
        note = parse(Experiment if isinstance(values, dict) and "suite" in values else Note, values, "experiment")
        contests = [note] if isinstance(note, Note) else note.contests()
        suites = [contest.published for contest in contests if contest.published is not None]
        _refuse_unknown("published suite", suites, sorted(published_suites()))
        return note, []
    except ValueError as error:
        return Note(), [f"the note of the experiment is left out: {one_line(str(error))}"]


def _buildable(records: Iterable[RunRecord], trust: bool) -> tuple[list[RunRecord], list[str]]:
    """The records of problems that exist, and the names of those problems that do not."""
    found, missing = [], []
    for record in records:
        try:
            _refuse_large(record.spec.problem)
            _problem(record.spec.problem, trust)
        except (ValueError, OSError):  # OSError: data of the user's own that is not here
            missing.append(record.spec.problem)
        else:
            found.append(record)
    return found, missing


def _refuse_large(name: str) -> None:
    """An error for a problem that would be too large; families that fix their dimensions are not."""
    family = problem_catalog.FAMILIES.get(suite_of(name))
    if (family is None or family.dimension_of is None) and parts(name)["dimension"] > LARGEST_DIMENSION:
        raise ValueError("too large to build")


def _place(record: RunRecord) -> tuple[str, int, int, int]:
    place, disturb = parts(record.spec.problem), record.spec.disturb
    kind = "" if disturb is None else disturb.text
    return kind, place["dimension"], place["function"], place.get("instance", 1)


def run_of(record: RunRecord, several: bool = False, mixed: bool = False, trust: bool = False) -> Run:
    """The run behind a record.

    **Arguments:** `several`, `mixed`: whether its dimension and its disturbance are part of the problem's name;
    `trust`: whether a user's own suite may be asked for the optimum.
    """
    spec, place = record.spec, parts(record.spec.problem)
    problem = _problem(spec.problem, trust)
    optimum = getattr(problem, "optimum", None)
    name, group = spec.problem, "all"
    if isinstance(problem, BBOB):
        name = f"f{problem.function} {problem.name.replace('_', ' ')}"
        group = next(group for group, members in GROUPS.items() if problem.function in members)
    name += f", {place['dimension']}-D" if several else ""
    name += f", {spec.disturb.text}" if mixed and spec.disturb is not None else ""
    return Run(
        problem=name,
        method=spec.method,
        seed=spec.seed,
        budget=spec.budget,
        nfev=record.used,
        improved_at=record.nfev,
        improved_to=record.fun,
        f_opt=None if optimum is None else optimum.f,
        seconds=record.cpu_seconds,
        key=record.key,
        dimension=place["dimension"],
        group=group,
        error=record.error,
    )


@functools.cache
def _problem(name: str, trust: bool) -> AbstractProblem | None:
    """The problem of this name; None for one of a user's own suite, unless its code is trusted."""
    if is_own(suite_of(name)):
        return build_problem(name) if trust else None
    return problem_catalog.problem(name)
