"""An experiment as a list of runs, and runs as tasks for workers."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from l2e.bench.compiled import capacity
from l2e.bench.experiment import Experiment
from l2e.bench.methods import build, digest, runs_compiled
from l2e.bench.record import RunSpec
from l2e.bench.suite import Instance, parts


@dataclass(frozen=True)
class Task:
    """What a worker is given at once.

    **Fields:** `runs`: one run for the host, some for a compiled program, or all runs of a method on a function for
    official loggers, which want them in one archive; `portfolio`: the problems the compiled program is made for.
    """

    engine: str
    runs: tuple[RunSpec, ...]
    portfolio: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its runs."""
        return tuple(spec.key for spec in self.runs)

    def split(self) -> list["Task"]:
        """The same runs one by one."""
        return [Task(self.engine, (spec,), self.portfolio) for spec in self.runs]


@dataclass(frozen=True)
class Plan:
    """All runs of an experiment in order, and for each method, dimension and budget how it is run."""

    specs: tuple[RunSpec, ...]
    compiled: frozenset[tuple[str, int]]
    portfolios: dict[int, tuple[str, ...]]

    def whole(self, missing: Iterable[RunSpec]) -> list[RunSpec]:
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
        if (first.method, dimension) not in self.compiled:
            return [Task("host", (spec,)) for spec in group]
        lanes = capacity(first.budget)
        chunks = [group[i : i + lanes] for i in range(0, len(group), lanes)]
        return [Task("compiled", tuple(chunk), self.portfolios[dimension]) for chunk in chunks]


def make_plan(experiment: Experiment, log: Sequence[str] = ()) -> Plan:
    """All runs of an experiment, by method, dimension, function, instance, seed; methods are built to know them."""
    problems = experiment.problems()
    specs: list[RunSpec] = []
    compiled: set[tuple[str, int]] = set()
    for method in experiment.methods:
        for dimension in experiment.dimensions:
            budget = experiment.budget_of(dimension)
            searcher = build(method, dimension, budget)
            if experiment.disturb is None and runs_compiled(searcher):
                compiled.add((method, dimension))
            facts: dict[str, Any] = {"method": method, "searcher": digest(searcher), "budget": budget}
            facts |= {"log": tuple(log), "disturb": experiment.disturb}
            for instance in _of_dimension(problems, dimension):
                facts["problem"] = instance.problem
                specs += [RunSpec(**facts, seed=seed) for seed in experiment.seeds]
    portfolios = {d: tuple(i.problem for i in _of_dimension(problems, d)) for d in experiment.dimensions}
    return Plan(tuple(specs), frozenset(compiled), portfolios)


def _of_dimension(problems: list[Instance], dimension: int) -> list[Instance]:
    return [instance for instance in problems if instance.dimension == dimension]


def _groups(specs: Iterable[RunSpec]) -> list[list[RunSpec]]:
    """Runs of one method on one function: in one dimension, or in all of them when an archive is written."""
    groups: dict[Any, list[RunSpec]] = {}
    for spec in specs:
        where = _archive(spec) if spec.log else (*_archive(spec), parts(spec.problem)["dimension"])
        groups.setdefault(where, []).append(spec)
    return list(groups.values())


def _archive(spec: RunSpec) -> tuple[str, int]:
    return spec.method, parts(spec.problem)["function"]
