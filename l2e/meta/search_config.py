"""The training of the default method as a TOML file: `kind = "portfolio"` in its table [optimizer]."""

import dataclasses
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

from l2e._names import unknown
from l2e.experts.weights import KIND
from l2e.meta.config import parse_table, refuse_test_functions
from l2e.meta.episodes import MODES
from l2e.meta.landscapes import FAMILIES, SINGLE
from l2e.meta.search_train import SearchSpec, Shapes
from l2e.problems.bbob_paper import PAPER_TRAIN

Parsed = TypeVar("Parsed")


@dataclasses.dataclass(frozen=True)
class FamiliesTable:
    """[tasks]: random landscapes (see `l2e.meta.landscapes`), and BBOB functions by number; the paper's test functions
    never.
    """

    landscapes: Literal["all", "single", "none"] = "all"
    functions: tuple[int, ...] = PAPER_TRAIN

    @property
    def families(self) -> tuple[str, ...]:
        """Their names."""
        refuse_test_functions(self.functions)
        drawn = {"all": FAMILIES, "single": SINGLE, "none": ()}[self.landscapes]
        names = (*drawn, *(f"bbob:f{number}" for number in self.functions))
        if not names:
            raise ValueError("[tasks] names nothing to train on: set landscapes or functions")
        return names


@dataclasses.dataclass(frozen=True)
class ShapesTable:
    """[guided], [shrinking], [whole]: how often, in which dimensions, with how many evaluations per dimension."""

    share: float = 1.0
    dimensions: tuple[int, ...] = (3, 4, 5)
    budgets: tuple[int, ...] = (50,)


@dataclasses.dataclass(frozen=True)
class SearchTrainingTable:
    """[training]: see `SearchSpec`; `workers`: processes that play episodes."""

    steps: int = 120
    pairs: int = 96
    spread: float = 0.1
    learning_rate: float = 0.01
    decay: float = 0.01
    averaging: float = 0.9
    validate_every: int = 10
    validation_tasks: int = 8
    seed: int = 0
    workers: int = 1

    @property
    def settings(self) -> dict[str, Any]:
        """All but how many processes play, which changes nothing."""
        return {key: value for key, value in dataclasses.asdict(self).items() if key != "workers"}


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """A whole file."""

    tasks: FamiliesTable
    shapes: dict[str, ShapesTable]
    training: SearchTrainingTable

    def spec(self) -> SearchSpec:
        """The training that the file describes."""
        shapes = tuple(
            Shapes(mode, self.shapes[mode].share, self.shapes[mode].dimensions, self.shapes[mode].budgets)
            for mode in MODES
            if mode in self.shapes
        )
        return SearchSpec(self.tasks.families, shapes, **self.training.settings)

    @property
    def facts(self) -> dict[str, Any]:
        """The file in plain JSON."""
        shapes = {mode: listed(dataclasses.asdict(table)) for mode, table in self.shapes.items()}
        tasks = {"landscapes": self.tasks.landscapes, "functions": list(self.tasks.functions)}
        return {"optimizer": {"kind": KIND}, "tasks": tasks, **shapes, "training": self.training.settings}


def is_search_training(path: Path) -> bool:
    """Whether a file describes a training of the default method's residual."""
    return has_kind(path, KIND)


def has_kind(path: Path, kind: str) -> bool:
    """Whether a file is of this kind; of one that cannot be read another reader says what is wrong."""
    try:
        return tomllib.loads(path.read_text()).get("optimizer", {}).get("kind") == kind
    except (tomllib.TOMLDecodeError, AttributeError):
        return False


def load_search_config(path: Path) -> SearchConfig:
    """Read a file.

    **Raises:** `ValueError` naming the file, the table and the key that is unknown or has a wrong value.
    """
    return read_tables(path, parse_search_config)


def read_tables(path: Path, parse: Callable[[dict[str, Any]], Parsed]) -> Parsed:
    """The tables of a file as a configuration; errors name the file."""
    try:
        return parse(tomllib.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def parse_search_config(tables: dict[str, Any]) -> SearchConfig:
    """Tables of plain values as a configuration."""
    check_tables(tables, ("optimizer", "tasks", *MODES, "training"))
    shapes = {mode: parse_table(ShapesTable, tables[mode], f"[{mode}]") for mode in MODES if mode in tables}
    if not shapes:
        raise ValueError(f"one of the tables {', '.join(f'[{mode}]' for mode in MODES)} must say what is played")
    return SearchConfig(
        parse_table(FamiliesTable, tables.get("tasks", {}), "[tasks]"),
        shapes,
        parse_table(SearchTrainingTable, tables.get("training", {}), "[training]"),
    )


def check_tables(tables: dict[str, Any], allowed: tuple[str, ...]) -> None:
    """That only these tables are there, and that [optimizer] says nothing but its kind."""
    for name, table in tables.items():
        if name not in allowed:
            raise unknown("table", name, allowed)
        if not isinstance(table, dict):
            raise ValueError(f"{name} must be a table, got {table!r}")
    for key in tables.get("optimizer", {}):
        if key != "kind":
            raise unknown("key in [optimizer]", key, ["kind"])


def listed(table: dict[str, Any]) -> dict[str, Any]:
    """Tuples as the lists of plain JSON."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in table.items()}
