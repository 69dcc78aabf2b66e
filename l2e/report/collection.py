"""From a store of the contest to the runs of a report: here, and only here, records meet the optimum."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from l2e import catalog
from l2e.bench.disturbance import Disturbance
from l2e.bench.experiment import AblationTable
from l2e.bench.record import RunRecord
from l2e.bench.store import Store
from l2e.bench.suite import parts
from l2e.problems.bbob_suite import BBOB, GROUPS
from l2e.report.records import GAP_FLOOR, Run


@dataclass(frozen=True)
class Results:
    """Runs by problem and method. A problem is a function in a dimension; its instances and seeds are its runs."""

    title: str
    runs: tuple[Run, ...]
    methods: tuple[str, ...]
    reference: str
    published: str | None = None
    ablation: AblationTable | None = None
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
    """The runs of a store; of several records of one problem, method and seed the newest counts.

    **Arguments:** `methods`: only these, in this order; those of the experiment first, then all others, if empty.
    """
    facts = store.experiment()
    newest: dict[tuple[str, str, int, Disturbance | None], RunRecord] = {}
    for record in sorted(store.records.values(), key=lambda record: record.written):
        newest[record.spec.problem, record.spec.method, record.spec.seed, record.spec.disturb] = record
    present = list(dict.fromkeys(method for _, method, _, _ in newest))
    wanted = list(methods) or [m for m in facts.get("methods", []) if m in present]
    wanted += [] if methods else [m for m in present if m not in wanted]
    absent = [method for method in wanted if method not in present]
    if absent or not wanted:
        raise ValueError(f"no records of {', '.join(absent) or 'any method'} in {store.folder}")
    dimensions = {parts(problem)["dimension"] for problem, _, _, _ in newest}
    disturbances = {disturb for _, _, _, disturb in newest}
    chosen = sorted(
        (record for record in newest.values() if record.spec.method in wanted),
        key=lambda record: (_place(record), wanted.index(record.spec.method), record.spec.seed),
    )
    runs = tuple(_run(record, len(dimensions) > 1, len(disturbances) > 1) for record in chosen)
    reference = facts.get("reference") or wanted[0]
    reference = reference if reference in wanted else wanted[0]
    return Results(
        facts.get("title") or facts.get("name") or store.folder.name,
        runs,
        tuple(wanted),
        reference,
        facts.get("published"),
        AblationTable(**facts["ablation"]) if facts.get("ablation") else None,
    )


def _place(record: RunRecord) -> tuple[str, int, int, int]:
    place, disturb = parts(record.spec.problem), record.spec.disturb
    kind = "" if disturb is None else disturb.text
    return kind, place["dimension"], place["function"], place.get("instance", 1)


def _run(record: RunRecord, several: bool, mixed: bool) -> Run:
    spec, place = record.spec, parts(record.spec.problem)
    problem = _problem(spec.problem)
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


_problem = functools.lru_cache(maxsize=None)(catalog.problem)
