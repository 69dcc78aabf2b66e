"""An experiment as a TOML file: which methods are compared on which problems, with which budgets."""

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

from l2e.api import user_code
from l2e.bench.disturbance import Disturbance
from l2e.bench.record import RunSpec
from l2e.bench.suite import Instance, build_problem, chosen_functions, instances, is_own, parts, suite_of
from l2e.core.errors import unknown
from l2e.core.settings import Check, Count, FileName, Index, Label, Reader, parse, read_settings

MOST_SEEDS = 10_000
BUDGETS = ("budget", "budget_per_dimension", "budgets_per_dimension")


def _read_seeds(where: str, value: Any) -> tuple[int, ...]:
    """A number of runs, or a list of seeds."""
    seeds = value if isinstance(value, list) else range(parse(Count, value, where))
    if len(seeds) > MOST_SEEDS:
        raise ValueError(f"{where} must be at most {MOST_SEEDS} runs per problem and method, got {len(seeds)}")
    return parse(tuple[Index, ...], list(seeds), where)


def _read_other_seeds(where: str, value: Any) -> tuple[int, ...] | None:
    return None if value is None else _read_seeds(where, value)


@dataclasses.dataclass(frozen=True)
class AblationTable:
    """What the ablation table of a report compares.

    **Fields:** `full`: the complete method; `variants`: by label, the methods that lack something of it; all other
    methods of the experiment under their own names if empty.
    """

    full: Label
    variants: dict[Label, Label] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Variant:
    """A table `[variants.NAME]` of an experiment: the keys of `Experiment` that differ, and a title of its own."""

    title: str | None = None
    suite: Label | None = None
    methods: tuple[Label, ...] | None = None
    dimensions: tuple[Count, ...] | None = None
    functions: tuple[Count, ...] | None = None
    instances: tuple[Count, ...] | None = None
    budget: Count | None = None
    budget_per_dimension: Count | None = None
    budgets_per_dimension: tuple[Count, ...] | None = None
    seeds: Annotated[tuple[int, ...] | None, Reader(_read_other_seeds)] = None
    reference: Label | None = None
    published: Label | None = None
    ablation: AblationTable | None = None
    disturb: Disturbance | None = None
    limits: dict[Label, Count] | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """The keys it sets; a budget of its own takes the place of any other."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "title"}
        found = {name: value for name, value in found.items() if value is not None}
        return {**_NO_BUDGET, **found} if any(name in found for name in BUDGETS) else found


_NO_BUDGET: dict[str, Any] = {"budget": None, "budget_per_dimension": None, "budgets_per_dimension": ()}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What is compared on what, with which budgets.

    With one budget and without variants it is one contest, which a report shows as one page. Every further budget, and
    every variant, is a contest of its own.

    **Fields:**

    - `name`, `title`: for folders and headings.
    - `suite`: "bbob" (COCO's official instances), "paper-bbob" (the L2E paper's), another family of `l2e problems`, or
      your own as `module:factory`, Python code that is imported and called with function, instance and dimension.
    - `functions`, `instances`, `dimensions`: which problems of it.
    - `budget` (evaluations per run), `budget_per_dimension` (multiplied by the dimension), or `budgets_per_dimension`
      (several of them): exactly one of the three.
    - `methods`: names of `l2e methods`, models, or your own as `module:factory`, Python code that is imported and
      called with dimension and budget.
    - `seeds`: how many runs per problem and method (seeds 0, 1, ...), or a list of seeds.
    - `timeout`: seconds of wall time one run may take.
    - `reference`: the method that others are tested against in reports; the first one if not given.
    - `published`: the suite's name in the published tables that a report may show beside the measured ones.
    - `ablation`: which method is complete and which ones lack something of it; a report then has an ablation table.
    - `disturb`: what is put between problems and methods: noise, rounding, a random start. Scores are of true values.
    - `limits`: by method, the largest budget per dimension at which it is run; for those that would take days.
    - `variants`: contests with some of these keys changed. Each takes the other keys from the file; the file without
      changes is not run then, unless one of the variants is empty.
    """

    name: FileName
    suite: Label
    methods: tuple[Label, ...]
    dimensions: tuple[Count, ...]
    functions: tuple[Count, ...] = ()
    instances: tuple[Count, ...] = (1,)
    budget: Count | None = None
    budget_per_dimension: Count | None = None
    budgets_per_dimension: tuple[Count, ...] = ()
    seeds: Annotated[tuple[int, ...], Reader(_read_seeds)] = tuple(range(10))
    timeout: Annotated[float, Check(lambda seconds: seconds > 0, "a positive number of seconds")] = 900.0
    title: str = ""
    reference: Label | None = None
    published: Label | None = None
    ablation: AblationTable | None = None
    disturb: Disturbance | None = None
    limits: dict[Label, Count] = dataclasses.field(default_factory=dict)
    variants: dict[FileName, Variant] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("methods", "dimensions", "instances", "seeds"):
            if not getattr(self, name):
                raise ValueError(f"{name} is empty: name at least one")
        for name in ("methods", "dimensions", "functions", "instances", "seeds", "budgets_per_dimension"):
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(f"{name} names something twice: {list(values)}")
        if self.variants:
            self._check_names({*self.methods, *(m for v in self.variants.values() for m in v.methods or ())})
            self.contests()  # which checks each of them
            return
        if sum(bool(getattr(self, name)) for name in BUDGETS) != 1:
            raise ValueError("give exactly one of budget, budget_per_dimension and budgets_per_dimension")
        if self.disturb is not None and self.published is not None:
            raise ValueError("published numbers are of undisturbed problems; leave published or disturb out")
        if self.limits and self.budget is not None:
            raise ValueError("limits are budgets per dimension; give budget_per_dimension or budgets_per_dimension")
        self._check_names(self.methods)

    def _check_names(self, methods: Collection[str]) -> None:
        named = () if self.ablation is None else (self.ablation.full, *self.ablation.variants.values())
        for kind, names in (("method of the ablation", named), ("method in [limits]", self.limits)):
            for method in names:
                if method not in methods:
                    raise unknown(kind, method, methods)

    def contests(self, only: Sequence[str] = ()) -> tuple["Experiment", ...]:
        """The contests: experiments with one budget and without variants.

        Their names are `50x` for a budget of 50 evaluations per dimension, `NAME` for a variant, and `NAME-50x` for a
        variant with several budgets; a single contest has the name of the experiment.

        **Arguments:** `only`: the names of those wanted; all if empty.
        """
        found = []
        for name, variant in (self.variants or {"": Variant()}).items():
            try:
                found += self._of_variant(name, variant)
            except ValueError as error:
                raise ValueError(f"[variants.{name}]: {error}" if name else str(error)) from error
        if not found:
            raise ValueError("limits leave no method at any budget")
        by_name = {contest.name: contest for contest in found}
        if len(by_name) < len(found):
            raise ValueError(f"two contests have one name: {', '.join(contest.name for contest in found)}")
        for name in only:
            if name not in by_name:
                raise unknown("contest", name, by_name)
        return tuple(contest for contest in found if not only or contest.name in only)

    def _of_variant(self, name: str, variant: Variant) -> list["Experiment"]:
        methods = variant.methods or self.methods
        inherited = {
            "limits": {method: most for method, most in self.limits.items() if method in methods},
            "ablation": _present(self.ablation, methods),
        }
        changed = dataclasses.replace(self, **{**inherited, **variant.changes}, variants={})
        budgets = changed.budgets_per_dimension or (changed.budget_per_dimension,)
        title = [variant.title or name] if name else []
        found = []
        for budget in budgets:
            listed = [f"{budget}x"] if changed.budgets_per_dimension else []
            about = [*title, f"{budget}·d evaluations"] if listed else title
            methods = tuple(m for m in changed.methods if budget is None or changed.limits.get(m, budget) >= budget)
            if not methods:
                continue  # all of them are limited to smaller budgets
            found.append(
                dataclasses.replace(
                    changed,
                    name="-".join([*([name] if name else []), *listed]) or self.name,
                    title=": ".join(filter(None, [self.title or self.name, ", ".join(about)])),
                    methods=methods,
                    limits={},
                    budget_per_dimension=budget,
                    budgets_per_dimension=(),
                    ablation=_present(changed.ablation, methods),
                )
            )
        return found

    def budget_of(self, dimension: int) -> int:
        """Evaluations per run of a contest in this dimension."""
        return self.budget if self.budget is not None else int(self.budget_per_dimension or 0) * dimension

    def problems(self) -> list[Instance]:
        """All problems of a contest, in order."""
        found = instances(self.suite, self.functions, self.dimensions, self.instances)
        if self.disturb is not None and self.disturb.needs_optimum:
            for instance in found:
                if getattr(build_problem(instance.problem), "optimum", None) is None:
                    raise ValueError(
                        f"noise and digits of disturb need an optimum; that of {instance.problem} is unknown"
                    )
        return found

    def covers(self, spec: RunSpec) -> bool:
        """Whether a run is on a problem of this contest with its budget, whatever its method and seed."""
        place = parts(spec.problem)
        return (
            spec.disturb == self.disturb
            and place["dimension"] in self.dimensions
            and spec.budget == self.budget_of(place["dimension"])
            and suite_of(spec.problem) == self.suite
            and place["function"] in chosen_functions(self.suite, self.functions)
            and place.get("instance", 1) in self.instances
        )

    def with_overrides(self, methods: tuple[str, ...] = (), seeds: int | None = None) -> "Experiment":
        """The same experiment with other methods, or with seeds 0, 1, ... up to this number.

        Other methods leave no ablation table, which names those of the file.
        """
        changes: dict[str, Any] = {}
        cleared: dict[str, Any] = {}
        if methods:
            changes = {"methods": methods, "ablation": None}
            changes["limits"] = {name: most for name, most in self.limits.items() if name in methods}
            cleared = {"methods": None, "ablation": None, "limits": None}
        if seeds is not None:
            changes["seeds"], cleared["seeds"] = _read_seeds("seeds", seeds), None
        variants = {name: dataclasses.replace(variant, **cleared) for name, variant in self.variants.items()}
        return dataclasses.replace(self, **changes, variants=variants)


def _present(ablation: AblationTable | None, methods: tuple[str, ...]) -> AblationTable | None:
    """The table without methods that a contest leaves out."""
    if ablation is None or ablation.full not in methods:
        return None
    return AblationTable(ablation.full, {label: m for label, m in ablation.variants.items() if m in methods})


@dataclasses.dataclass(frozen=True)
class Note:
    """What a report reads of an experiment beside its records, where there is no whole experiment; see there."""

    name: str = ""
    title: str = ""
    methods: tuple[Label, ...] = ()
    reference: Label | None = None
    published: Label | None = None
    ablation: AblationTable | None = None


def load_experiment(path: Path) -> Experiment:
    """Read a file.

    **Raises:** `ValueError` naming the file and the key that is unknown, missing or has a wrong value.
    """
    return read_settings(path, Experiment)


def parse_experiment(values: dict[str, Any]) -> Experiment:
    """Plain values as an experiment."""
    return parse(Experiment, values)


def refuse_foreign_code(path: Path, experiment: Experiment, trusted: Sequence[str] = ()) -> None:
    """An error if a file from elsewhere names code to run, as a method or as a suite.

    **Arguments:** `trusted`: methods that the user has named and not the file.
    """
    contests = experiment.contests()
    methods = dict.fromkeys(method for contest in contests for method in contest.methods if method not in trusted)
    suites = dict.fromkeys(contest.suite for contest in contests)
    user_code.refuse_foreign_code(
        path, [*filter(user_code.is_factory, methods), *(suite for suite in suites if is_own(suite))]
    )
