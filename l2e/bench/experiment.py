"""An experiment as a TOML file: plain values, checked key by key."""

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

from l2e import catalog
from l2e._names import unknown
from l2e.bench.disturbance import Disturbance, parse_disturbance
from l2e.bench.suite import Instance, instances


@dataclasses.dataclass(frozen=True)
class AblationTable:
    """What the ablation table of a report compares.

    **Fields:** `full`: the complete method; `variants`: by label, the methods that lack something of it; all other
    methods of the experiment under their own names if empty.
    """

    full: str
    variants: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What is compared on what, with which budget.

    **Fields:**

    - `name`, `title`: for folders and headings.
    - `suite`: "bbob" (COCO's official instances), "paper-bbob" (the L2E paper's), or another family of `l2e problems`.
    - `functions`, `instances`, `dimensions`: which problems of it.
    - `budget` or `budget_per_dimension`: evaluations per run; the second is multiplied by the dimension.
    - `methods`: names of `l2e methods`, models, or your own as `module:factory` (called with dimension and budget).
    - `seeds`: how many runs per problem and method (seeds 0, 1, ...), or a list of seeds.
    - `timeout`: seconds of wall time one run may take.
    - `reference`: the method that others are tested against in reports; the first one if not given.
    - `published`: the suite's name in the published tables that a report may show beside the measured ones.
    - `ablation`: which method is complete and which ones lack something of it; a report then has an ablation table.
    - `disturb`: what is put between problems and methods: noise, rounding, a random start. Scores are of true values.
    """

    name: str
    suite: str
    methods: tuple[str, ...]
    dimensions: tuple[int, ...]
    functions: tuple[int, ...] = ()
    instances: tuple[int, ...] = (1,)
    budget: int | None = None
    budget_per_dimension: int | None = None
    seeds: tuple[int, ...] = tuple(range(10))
    timeout: float = 900.0
    title: str = ""
    reference: str | None = None
    published: str | None = None
    ablation: AblationTable | None = None
    disturb: Disturbance | None = None

    def __post_init__(self) -> None:
        if (self.budget is None) == (self.budget_per_dimension is None):
            raise ValueError("give either budget or budget_per_dimension")
        if not self.methods:
            raise ValueError("methods is empty: name at least one")
        for what in ("methods", "dimensions", "functions", "instances", "seeds"):
            values = getattr(self, what)
            if len(set(values)) < len(values):
                raise ValueError(f"{what} names something twice: {list(values)}")
        for what in ("dimensions", "instances", "seeds"):
            if not getattr(self, what):
                raise ValueError(f"{what} is empty: name at least one")
        if self.disturb is not None and self.published is not None:
            raise ValueError("published numbers are of undisturbed problems; leave published or disturb out")

    def budget_of(self, dimension: int) -> int:
        """Evaluations per run in this dimension."""
        return self.budget if self.budget is not None else int(self.budget_per_dimension or 0) * dimension

    def problems(self) -> list[Instance]:
        """All problems, in order."""
        found = instances(self.suite, self.functions, self.dimensions, self.instances)
        if self.disturb is not None and self.disturb.needs_optimum:
            for instance in found:
                if getattr(catalog.problem(instance.problem), "optimum", None) is None:
                    raise ValueError(
                        f"noise and digits of disturb need an optimum; that of {instance.problem} is unknown"
                    )
        return found

    def but(self, methods: tuple[str, ...] = (), seeds: int | None = None) -> "Experiment":
        """The same experiment with other methods, or with seeds 0, 1, ... up to this number."""
        changes: dict[str, Any] = {"methods": methods} if methods else {}
        if seeds is not None:
            changes["seeds"] = _seeds(seeds)
        return dataclasses.replace(self, **changes)

    @property
    def facts(self) -> dict[str, Any]:
        """The experiment as plain JSON."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in dataclasses.asdict(self).items()
        }


def load_experiment(path: Path) -> Experiment:
    """Read a file.

    **Raises:** `ValueError` naming the file and the key that is unknown, missing or has a wrong value.
    """
    try:
        values = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from error
    try:
        return parse_experiment(values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_experiment(values: dict[str, Any]) -> Experiment:
    """Plain values as an experiment."""
    fields = {field.name: field for field in dataclasses.fields(Experiment)}
    for key in values:
        if key not in fields:
            raise unknown("key", key, fields)
    missing = [name for name, field in fields.items() if field.default is dataclasses.MISSING and name not in values]
    if missing:
        raise ValueError(f"missing: {', '.join(missing)}")
    experiment = Experiment(**{key: _CHECKS[key](key, value) for key, value in values.items()})
    if experiment.ablation is not None:
        for method in (experiment.ablation.full, *experiment.ablation.variants.values()):
            if method not in experiment.methods:
                raise unknown("method of the ablation", method, experiment.methods)
    return experiment


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} must be a text, got {value!r}")
    return value


def _texts(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list of texts, got {value!r}")
    return tuple(_text(key, item) for item in value)


def _whole(key: str, value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{key} must be a whole number from 1, got {value!r}")
    return value


def _wholes(key: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{key} must be a list of whole numbers, got {value!r}")
    return tuple(_whole(key, item) for item in value)


def _seconds(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{key} must be a positive number of seconds, got {value!r}")
    return float(value)


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, list):
        if not all(type(seed) is int and seed >= 0 for seed in value):
            raise ValueError(f"seeds must be a number of runs or a list of whole numbers from 0, got {value!r}")
        return tuple(value)
    return tuple(range(_whole("seeds", value)))


def _ablation(key: str, value: Any) -> AblationTable:
    if not isinstance(value, dict):
        raise ValueError(f"{key} must be a table, got {value!r}")
    fields = [field.name for field in dataclasses.fields(AblationTable)]
    for name in value:
        if name not in fields:
            raise unknown(f"key of {key}", name, fields)
    if "full" not in value:
        raise ValueError(f"{key} must name the complete method: full")
    variants = value.get("variants", {})
    if not isinstance(variants, dict):
        raise ValueError(f"variants of {key} must be a table of labels and methods, got {variants!r}")
    return AblationTable(_text("full", value["full"]), {label: _text(label, name) for label, name in variants.items()})


_CHECKS = {
    "name": _text,
    "title": _text,
    "suite": _text,
    "reference": _text,
    "published": _text,
    "methods": _texts,
    "functions": _wholes,
    "instances": _wholes,
    "dimensions": _wholes,
    "budget": _whole,
    "budget_per_dimension": _whole,
    "timeout": _seconds,
    "ablation": _ablation,
    "disturb": parse_disturbance,
    "seeds": lambda _, value: _seeds(value),
}
