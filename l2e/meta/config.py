"""A training as a TOML file: tables of plain values, checked key by key, that become a `TrainSpec`."""

import dataclasses
import functools
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import jax
import optax

from l2e import meta
from l2e._names import unknown
from l2e.meta import guides
from l2e.meta.estimators import AbstractGradientEstimator
from l2e.meta.objectives import AbstractObjective
from l2e.meta.policy_config import LEARNERS, DQNTable, PPOTable
from l2e.meta.tasks import AbstractTaskDistribution
from l2e.meta.train import TrainSpec
from l2e.model_config import AbstractModelTable, OptimizerTable
from l2e.peer_config import KINDS
from l2e.problems.bbob_paper import PAPER_TEST, PAPER_TRAIN


def refuse_test_functions(functions: tuple[int, ...]) -> None:
    """Nothing is trained on the paper's test functions."""
    forbidden = sorted(set(functions) & set(PAPER_TEST))
    if forbidden:
        raise ValueError(f"functions {forbidden} are test functions of the paper; training is on {PAPER_TRAIN}")


@dataclasses.dataclass(frozen=True)
class TasksTable:
    """[tasks]: BBOB functions by number, fresh instances; the paper's eight by default, its test functions never.

    `rotated`: f2 and f3 are rotated, as in the paper's instances; COCO's are separable.
    """

    functions: tuple[int, ...] = PAPER_TRAIN
    dimension: int = 10
    rotated: bool = True

    def build(self) -> AbstractTaskDistribution:
        """The distribution."""
        refuse_test_functions(self.functions)
        return meta.RandomBBOBTasks(self.functions, self.dimension, self.rotated)


@dataclasses.dataclass(frozen=True)
class ObjectiveTable:
    """[objective]: what is made small."""

    kind: Literal["normalised-improvement", "log-gap", "area"] = "log-gap"
    which: Literal["mean", "best"] = "mean"
    floor: float = 1e-8
    late: float = 1.0

    def build(self) -> AbstractObjective:
        """The objective."""
        if self.kind == "normalised-improvement":
            return meta.NormalisedImprovement()
        if self.kind == "log-gap":
            return meta.LogGap(self.which, self.floor)
        return meta.AreaUnderCurve(self.which, self.floor, late=self.late)


@dataclasses.dataclass(frozen=True)
class EstimatorTable:
    """[estimator]: where gradients come from."""

    kind: Literal["full", "truncated", "es", "persistent-es"] = "full"
    length: int = 10
    pairs: int = 8
    sigma: float = 0.02
    shaping: Literal["raw", "normalised", "ranks"] = "normalised"
    clip_task: float = 1.0

    def build(self) -> AbstractGradientEstimator:
        """The estimator."""
        if self.kind == "full":
            return meta.FullBPTT(clip=self.clip_task)
        if self.kind == "truncated":
            return meta.TruncatedBPTT(length=self.length, clip=self.clip_task)
        if self.kind == "es":
            return meta.AntitheticES(pairs=self.pairs, sigma=self.sigma, shaping=self.shaping)
        return meta.PersistentES(length=self.length, sigma=self.sigma, clip=self.clip_task)


@dataclasses.dataclass(frozen=True)
class GuidanceTable:
    """[guidance]: the paper's proxy gradient, annealed to nothing; left out of the file it is off."""

    kappa: float = 0.1
    preconditioner: Literal["identity", "diagonal", "hessian", "low-rank"] = "identity"
    rank: int = 2
    normalise: bool = True
    second_order: bool = False
    until: float = 0.5

    def build(self, dimension: int, key: Any) -> guides.Guidance:
        """The guidance."""
        made: dict[str, Any] = {
            "identity": lambda: guides.Metric(),
            "diagonal": lambda: guides.LearnedDiagonal(dimension),
            "hessian": lambda: guides.DiagonalHessian(),
            "low-rank": lambda: guides.LearnedLowRank(dimension, self.rank, key),
        }
        preconditioner = made[self.preconditioner]()
        return guides.Guidance(preconditioner, self.kappa, self.normalise, self.second_order, self.until)


@dataclasses.dataclass(frozen=True)
class TrainingTable:
    """[training]: how long and how fast."""

    steps: int = 1000
    batch: int = 1
    generations: int = 199
    learning_rate: float = 1e-2
    schedule: Literal["constant", "cosine"] = "cosine"
    clip: float = 1.0
    seed: int = 0
    validate_every: int = 25
    validation_batch: int = 4
    validation_seed: int = 1
    parallel: int = 1
    dtype: Literal["float32", "float64"] = "float32"

    @property
    def rate(self) -> Any:
        """The learning rate as a number or as an optax schedule."""
        return self.learning_rate if self.schedule == "constant" else _cosine(self.learning_rate, self.steps)


@functools.cache
def _cosine(rate: float, steps: int) -> optax.Schedule:
    """One object for equal settings, so that they share a compilation."""
    return optax.cosine_decay_schedule(rate, steps)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """A whole file."""

    optimizer: AbstractModelTable
    tasks: TasksTable = TasksTable()
    objective: ObjectiveTable = ObjectiveTable()
    estimator: EstimatorTable | PPOTable | DQNTable = EstimatorTable()
    guidance: GuidanceTable | None = None
    training: TrainingTable = TrainingTable()

    def spec(self) -> TrainSpec:
        """The training that the file describes."""
        training = self.training
        guidance_key = jax.random.split(jax.random.key(training.seed))[1]
        dimension, generations = self.tasks.dimension, training.generations
        guidance = None if self.guidance is None else self.guidance.build(dimension, guidance_key)
        return TrainSpec(
            optimizer=self.optimizer.first(dimension, generations, training.seed, training=True),
            tasks=self.tasks.build(),
            objective=self.objective.build(),
            estimator=self.estimator.build(),
            steps=training.steps,
            batch=training.batch,
            generations=generations,
            learning_rate=training.rate,
            clip=training.clip,
            guidance=guidance,
            deployed=self.optimizer.deployed,
            validate_every=training.validate_every,
            validation_batch=training.validation_batch,
            validation_seed=training.validation_seed,
            parallel=training.parallel,
            dtype=training.dtype,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The file in plain JSON, for checkpoints."""
        tables = {**dataclasses.asdict(self), "optimizer": self.optimizer.facts}
        tables["tasks"]["functions"] = list(tables["tasks"]["functions"])
        return tables


def load_config(path: Path) -> TrainConfig:
    """Read a file.

    **Raises:** `ValueError` naming the file, the table and the key that is unknown or has a wrong value.
    """
    try:
        tables = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from error
    try:
        return parse_config(tables)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_config(tables: dict[str, Any]) -> TrainConfig:
    """Tables of plain values as a configuration."""
    kinds: dict[str, Any] = {
        "optimizer": AbstractModelTable,
        "tasks": TasksTable,
        "objective": ObjectiveTable,
        "estimator": EstimatorTable,
        "guidance": GuidanceTable,
        "training": TrainingTable,
    }
    for name, table in tables.items():
        if name not in kinds:
            raise unknown("table", name, kinds)
        if not isinstance(table, dict):
            raise ValueError(f"{name} must be a table, got {table!r}")
    if "optimizer" not in tables:
        raise ValueError("the table [optimizer] is missing")
    settings = dict(tables["optimizer"])
    kind = settings.pop("kind", OptimizerTable.kind)
    if kind not in KINDS:
        raise unknown("[optimizer] kind", str(kind), KINDS)
    if "guidance" in tables and kind != OptimizerTable.kind:
        raise ValueError(f"[guidance] is for L2E; {kind} has no guided path")
    kinds["optimizer"] = KINDS[kind]
    kinds["estimator"] = LEARNERS.get(str(tables.get("estimator", {}).get("kind")), EstimatorTable)
    given = {**tables, "optimizer": settings}
    return TrainConfig(**{name: parse_table(kinds[name], table, f"[{name}]") for name, table in given.items()})


def parse_table(kind: Any, table: dict[str, Any], where: str) -> Any:
    """One table as a frozen dataclass: every key known, every value of its type."""
    hints = get_type_hints(kind)
    types = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    for key, value in table.items():
        if key not in types:
            raise unknown(f"key in {where}", key, types)
        _check(f"{where} {key}", value, types[key])
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})


def _check(name: str, value: Any, wanted: Any) -> None:
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise unknown(name, value, get_args(wanted))
    elif get_origin(wanted) is tuple:
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise ValueError(f"{name} must be a list of whole numbers, got {value!r}")
    elif wanted is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} must be a number, got {value!r}")
    elif type(value) is not wanted:
        names = {int: "a whole number", bool: "true or false", str: "a text"}
        raise ValueError(f"{name} must be {names[wanted]}, got {value!r}")
