"""What is to be run and its outcome: `RunSpec` and `RunRecord`, both plain JSON."""

import dataclasses
import datetime
import functools
import hashlib
import importlib.metadata
import json
import platform
from typing import Annotated, Any

import numpy as np

from l2e._version import __version__
from l2e.bench.disturbance import Disturbance
from l2e.bench.suite import parts
from l2e.core.errors import one_line
from l2e.core.meter import History
from l2e.core.settings import Check, Count, Index, Label, Reader, parse, plain

PACKAGES = ("jax", "numpy", "scipy", "cma", "minionpy", "evosax", "coco-experiment", "ioh")
Seconds = Annotated[float, Check(lambda number: number >= 0, "a number of seconds from 0")]


def _read_problem(where: str, value: Any) -> str:
    name = parse(Label, value, where)
    parts(name)
    return name


def _read_counts(where: str, value: Any) -> np.ndarray:
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        raise ValueError(f"{where} must be a list of whole numbers")
    return np.asarray(value, np.int64)


def _read_values(where: str, value: Any) -> np.ndarray:
    if not isinstance(value, list) or any(type(item) not in (int, float) for item in value):
        raise ValueError(f"{where} must be a list of numbers")
    return np.asarray(value, np.float64)


def _read_error(where: str, value: Any) -> str | None:
    return None if value is None else one_line(parse(str, value, where))


@dataclasses.dataclass(frozen=True)
class RunSpec:
    """Everything that decides the outcome of a run.

    **Fields:** `problem`: a name of the catalog; `method`: a name; `searcher`: a digest of the method's settings and
    weights, so that a retrained model is another method; `seed`; `budget`; `log`: official loggers attached to the run
    (then the loggers' own functions are evaluated); `disturb`: how the values that the method is told differ from the
    true ones, if they do; `made_of`: a digest of the problem's fields, for a problem of the user's own.
    """

    problem: Annotated[str, Reader(_read_problem)]
    method: Label
    searcher: Label
    seed: Index
    budget: Count
    log: tuple[Label, ...] = ()
    disturb: Disturbance | None = None
    made_of: Label | None = None

    @functools.cached_property
    def key(self) -> str:
        """The hash of the full spec, by which stores know the run."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; runs without `disturb` or `made_of` have the keys of versions that did not know them."""
        values = plain(self)
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, values: Any) -> "RunSpec":
        """From plain JSON; `ValueError` says what is wrong with it."""
        return parse(cls, values, "spec")


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """One finished run, failed or not.

    **Fields:**

    - `spec`: what was run.
    - `nfev`, `fun`: the trace, the best (true) value so far at each evaluation that improved it.
    - `used`: evaluations the meter has counted; `failed`: those of them without a finite value.
    - `reason`: why it ended: budget, converged, error, timeout, crash.
    - `cpu_seconds`, `wall_seconds`: of the run; of a batch of runs in one program, its share, without compilation.
    - `engine`: "compiled" (whole runs inside one program) or "host" (batch by batch through the evaluator).
    - `versions`: of the packages involved; `error`: None, or what went wrong; `written`: when, UTC.
    """

    spec: RunSpec
    nfev: Annotated[np.ndarray, Reader(_read_counts)]
    fun: Annotated[np.ndarray, Reader(_read_values)]
    used: Index
    failed: Index
    reason: Label
    cpu_seconds: Seconds
    wall_seconds: Seconds
    engine: Label
    versions: dict[Label, Label]
    error: Annotated[str | None, Reader(_read_error)] = None
    written: Annotated[str, Check(str.isprintable, "a printable text")] = ""

    @property
    def key(self) -> str:
        """The key of its spec."""
        return self.spec.key

    @property
    def line(self) -> str:
        """One line of JSON."""
        values: dict[str, Any] = {"key": self.key, "spec": self.spec.to_json()}
        values |= {field.name: getattr(self, field.name) for field in dataclasses.fields(self)[1:]}
        values["nfev"], values["fun"] = np.asarray(self.nfev).tolist(), np.asarray(self.fun).tolist()
        for name in ("cpu_seconds", "wall_seconds"):
            values[name] = float(f"{values[name]:.4g}")
        return json.dumps(values, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_line(cls, line: str | bytes) -> "RunRecord":
        """From one line of JSON; `ValueError` says what is wrong with it, whoever wrote it."""
        try:
            return cls.from_json(json.loads(line, parse_constant=_refuse))
        except (RecursionError, OverflowError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from None

    @classmethod
    def from_json(cls, values: Any) -> "RunRecord":
        """From the plain JSON of a line."""
        if not isinstance(values, dict):
            raise ValueError("a record must be a JSON object")
        record: RunRecord = parse(cls, {name: values[name] for name in values if name != "key"}, "record")
        if values.get("key") != record.key:
            raise ValueError(f"the record has been changed: its spec has the key {record.key}")
        record._check()
        return record

    def _check(self) -> None:
        """That the numbers of a record fit together."""
        if len(self.nfev) != len(self.fun):
            raise ValueError(f"nfev has {len(self.nfev)} entries and fun {len(self.fun)}")
        if self.used > self.spec.budget or self.failed > self.used:
            raise ValueError(f"{self.failed} failed of {self.used} used of {self.spec.budget} evaluations")
        places = np.concatenate([[0], self.nfev, [self.used + 1]])
        if np.any(np.diff(places) <= 0) or not np.isfinite(self.fun).all() or np.any(np.diff(self.fun) >= 0):
            raise ValueError("its trace is not one of finite values that fall from evaluation to evaluation")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def improvements(values: np.ndarray) -> History:
    """The trace of a run from all its values in order, failed ones as `+inf`."""
    best = np.minimum.accumulate(values)
    better = np.flatnonzero(best < np.append(np.inf, best[:-1]))
    return History(better + 1, best[better])


def empty_record(spec: RunSpec, reason: str, error: str, seconds: float) -> RunRecord:
    """The record of a run of which nothing but its failure is known."""
    none = History(np.empty(0, np.int64), np.empty(0))
    return RunRecord(spec, *none, 0, 0, reason, 0.0, seconds, "host", versions(), one_line(error), now())


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@functools.cache
def versions() -> dict[str, str]:
    """Versions of this package, Python, and whatever of the packages behind methods is installed."""
    found = {"l2e": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
