"""An experiment as a list of runs, and runs as tasks for workers."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from l2e.bench.experiment import Experiment
from l2e.bench.methods import build, runs_compiled
from l2e.bench.record import RunSpec
from l2e.bench.run_compiled import capacity
from l2e.bench.suite import Instance, build_problem, is_own, parts, suite_of
from l2e.core.fingerprint import fingerprint
from l2e.core.traced.problem import AbstractTraceableProblem


@dataclass(frozen=True)
class Task:
    """What a worker is given at once.

    **Fields:** `runs`: one run for the host, some for a compiled program, or all runs of a method on a function for
    official loggers, which want them in one archive; `problems`: those the compiled program is made for.
    """

    engine: str
    runs: tuple[RunSpec, ...]
    problems: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its runs."""
        return tuple(spec.key for spec in self.runs)

    def split(self) -> list["Task"]:
        """The same runs one by one."""
        return [Task(self.engine, (spec,), self.problems) for spec in self.runs]


@dataclass(frozen=True)
class Plan:
    """All runs of an experiment in order, and how they are run.

    **Fields:** `specs`: the runs; `compiled`: methods and dimensions whose undisturbed runs are compiled; `problems`:
    by suite and dimension, those that the compiled programs are made for; suites that only the host can run are absent.
    """

    specs: tuple[RunSpec, ...]
    compiled: frozenset[tuple[str, int]]
    problems: dict[tuple[str, int], tuple[str, ...]]

    def complete_archives(self, missing: Iterable[RunSpec]) -> list[RunSpec]:
        """These runs; with official loggers all runs of the archives they belong to, which are written at once."""
        missing = list(missing)
        archives = {_archive(spec) for spec in missing if spec.log}
        return [spec for spec in self.specs if _archive(spec) in archives] if archives else missing

    def tasks(self, missing: Iterable[RunSpec]) -> list[Task]:
        """The missing runs as tasks, in the order of the plan."""
        return list(itertools.chain.from_iterable(self._tasks(group) for group in _groups(missing)))

    def _tasks(self, group: list[RunSpec]) -> list[Task]:
        first = group[0]
        dimension = parts(first.problem)["dimension"]
        if first.log:
            return [Task("host", tuple(group))]
        problems = self.problems.get((suite_of(first.problem), dimension))
        if problems is None or first.disturb is not None or (first.method, dimension) not in self.compiled:
            return [Task("host", (spec,)) for spec in group]
        lanes = capacity(first.budget)
        chunks = [group[i : i + lanes] for i in range(0, len(group), lanes)]
        return [Task("compiled", tuple(chunk), problems) for chunk in chunks]


def make_plan(experiment: Experiment, log: Sequence[str] = (), only: Sequence[str] = ()) -> Plan:
    """All runs of an experiment, by contest, method, dimension, function, instance, seed.

    Methods are built, since a run is known by the settings and weights of its method.

    **Arguments:** `log`: official loggers; `only`: the names of the contests wanted, all if empty.
    """
    contests = experiment.contests(only)
    if log and len(contests) > 1:
        names = ", ".join(contest.name for contest in contests)
        raise ValueError(f"--log writes one archive per method; choose one contest with --only: {names}")
    built: dict[tuple[str, int, int], tuple[str, bool]] = {}
    specs: dict[str, RunSpec] = {}
    problems: dict[tuple[str, int], dict[str, None]] = {}
    compiled: set[tuple[str, int]] = set()
    for contest in contests:
        found = contest.problems()
        own = {name: fingerprint(build_problem(name)) for name in (i.problem for i in found) if is_own(contest.suite)}
        for instance in found:
            problems.setdefault((contest.suite, instance.dimension), {})[instance.problem] = None
        for method, dimension in itertools.product(contest.methods, contest.dimensions):
            budget = contest.budget_of(dimension)
            if (method, dimension, budget) not in built:
                searcher = build(method, dimension, budget)
                built[method, dimension, budget] = fingerprint(searcher), runs_compiled(searcher)
            made_of, is_compiled = built[method, dimension, budget]
            if is_compiled:
                compiled.add((method, dimension))
            for instance, seed in itertools.product(_of_dimension(found, dimension), contest.seeds):
                name = instance.problem
                spec = RunSpec(name, method, made_of, seed, budget, tuple(log), contest.disturb, own.get(name))
                specs[spec.key] = spec
    whole = {place: tuple(names) for place, names in problems.items() if all(map(_is_compiled, names))}
    return Plan(tuple(specs.values()), frozenset(compiled), whole)


def _is_compiled(name: str) -> bool:
    """Whether runs on a problem may be compiled as a whole."""
    problem = build_problem(name)
    return isinstance(problem, AbstractTraceableProblem) and not problem.runs_on_host


def _of_dimension(problems: list[Instance], dimension: int) -> list[Instance]:
    return [instance for instance in problems if instance.dimension == dimension]


def _groups(specs: Iterable[RunSpec]) -> list[list[RunSpec]]:
    """Runs of one method on one function, with one budget and in one dimension, or in all of them for an archive."""
    groups: dict[Any, list[RunSpec]] = {}
    for spec in specs:
        dimension = None if spec.log else parts(spec.problem)["dimension"]
        groups.setdefault((_archive(spec), dimension, spec.budget if dimension else None, spec.disturb), []).append(
            spec
        )
    return list(groups.values())


def _archive(spec: RunSpec) -> tuple[str, str, int]:
    return spec.method, suite_of(spec.problem), parts(spec.problem)["function"]
