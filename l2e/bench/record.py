"""What is to be run, and what came of it: `RunSpec` and `RunRecord`, both plain JSON."""

import dataclasses
import datetime
import functools
import hashlib
import importlib.metadata
import json
import platform
from typing import Any

import numpy as np

from l2e._version import __version__
from l2e.bench.disturbance import Disturbance
from l2e.evaluator import History

PACKAGES = ("jax", "numpy", "scipy", "cma", "minionpy", "evosax", "coco-experiment", "ioh")


@dataclasses.dataclass(frozen=True)
class RunSpec:
    """Everything that decides the outcome of a run.

    **Fields:** `problem`: a name of the catalog; `method`: a name; `searcher`: a digest of the method's settings and
    weights, so that a retrained model is another method; `seed`; `budget`; `log`: official loggers attached to the run
    (then the loggers' own functions are evaluated); `disturb`: what the method is told instead of the true values, if
    it is told something else.
    """

    problem: str
    method: str
    searcher: str
    seed: int
    budget: int
    log: tuple[str, ...] = ()
    disturb: Disturbance | None = None

    @functools.cached_property
    def key(self) -> str:
        """The hash of the full spec, by which stores know the run."""
        text = json.dumps(self.facts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def facts(self) -> dict[str, Any]:
        """Plain JSON; undisturbed runs have no `disturb`, so their keys are those of versions without it."""
        facts = dataclasses.asdict(self)
        if self.disturb is None:
            del facts["disturb"]
        return facts

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "RunSpec":
        """From plain JSON."""
        disturb = facts.get("disturb")
        changes = {"log": tuple(facts.get("log", ())), "disturb": None if disturb is None else Disturbance(**disturb)}
        return cls(**{**facts, **changes})


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
    nfev: np.ndarray
    fun: np.ndarray
    used: int
    failed: int
    reason: str
    cpu_seconds: float
    wall_seconds: float
    engine: str
    versions: dict[str, str]
    error: str | None = None
    written: str = ""

    @property
    def key(self) -> str:
        """The key of its spec."""
        return self.spec.key

    @property
    def line(self) -> str:
        """One line of JSON."""
        facts: dict[str, Any] = {"key": self.key, "spec": self.spec.facts}
        facts |= {field.name: getattr(self, field.name) for field in dataclasses.fields(self)[1:]}
        facts["nfev"], facts["fun"] = np.asarray(self.nfev).tolist(), np.asarray(self.fun).tolist()
        for name in ("cpu_seconds", "wall_seconds"):
            facts[name] = float(f"{facts[name]:.4g}")
        return json.dumps(facts, separators=(",", ":"), allow_nan=False)

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "RunRecord":
        """From the JSON of a line; `ValueError` if its key is not the hash of its spec."""
        facts = dict(facts)
        key, spec = facts.pop("key"), RunSpec.of(facts.pop("spec"))
        if key != spec.key:
            raise ValueError(f"record {key} has been changed: its spec has the key {spec.key}")
        nfev, fun = np.asarray(facts.pop("nfev"), np.int64), np.asarray(facts.pop("fun"), np.float64)
        return cls(spec, nfev, fun, **facts)


def empty_record(spec: RunSpec, reason: str, error: str, seconds: float) -> RunRecord:
    """The record of a run of which nothing but its failure is known."""
    none = History(np.empty(0, np.int64), np.empty(0))
    return RunRecord(spec, *none, 0, 0, reason, 0.0, seconds, "host", versions(), error, now())


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
