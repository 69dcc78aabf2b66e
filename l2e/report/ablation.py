"""An ablation: a training changed in a point per variant, each trained and scored on the paper's test functions."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np
from rich.console import Console

from l2e._version import __version__
from l2e.api import models
from l2e.bench.score import score
from l2e.bench.store import Store
from l2e.core.checkpoint import write_whole
from l2e.core.errors import unknown
from l2e.core.problem import GAP_FLOOR
from l2e.core.settings import Count, FileName, Label, parse, read_settings, read_tables
from l2e.meta.config import TrainConfig, parse_config
from l2e.meta.run import run

STATISTICS: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda means: float(means.mean()),
    "median": lambda means: float(np.median(means)),
    "geometric_mean": lambda means: float(np.exp(np.log(np.maximum(means, GAP_FLOOR)).mean())),
    "std": lambda means: float(means.std()),
}
"""Over functions, of the mean gap over seeds; `std` is that of the population, as in the paper."""


Statistic = Literal["mean", "median", "geometric_mean", "std", "rank"]
Tables = dict[str, dict[str, Any]]
"""The tables of a training file, or changes to some of their keys."""


@dataclass(frozen=True)
class AblationFile:
    """An ablation as a TOML file.

    **Fields:**

    - `title`: for headings.
    - `training`: the training file, beside this one, that all variants begin with; `common` changes some of its keys.
    - `variants`: by name, what each variant changes; `paper` in it is what the paper's table prints. A variant is
      trained in a folder of its name.
    - `seeds`: scored runs per function.
    - `full`: the variant that lacks nothing, which a report compares the others to.
    - `remarks`: text below the table.
    """

    title: Label
    training: Label
    variants: dict[FileName, Tables]
    seeds: Count = 10
    full: FileName | None = None
    common: Tables = dataclasses.field(default_factory=dict)
    remarks: str = ""

    def __post_init__(self) -> None:
        if not self.variants:
            raise ValueError("variants is empty: name at least one")
        if self.full is not None and self.full not in self.variants:
            raise unknown("variant", self.full, self.variants)
        if len({_folder(name) for name in self.variants}) < len(self.variants):
            raise ValueError("two variants would be trained in one folder: their names differ in spaces only")


@dataclass(frozen=True)
class Variant:
    """One row: its training, and what the paper's table says of it."""

    name: str
    config: TrainConfig
    paper: dict[Statistic, float]


@dataclass(frozen=True)
class Ablation:
    """A file with its trainings."""

    title: str
    seeds: int
    variants: tuple[Variant, ...]
    remarks: str
    full: str | None = None


def load_ablation(path: Path) -> Ablation:
    """Read a file and the training file it names.

    **Raises:** `ValueError` naming the file and the key that is unknown, missing or has a wrong value.
    """
    file = read_settings(path, AblationFile)
    try:
        common = merged(parse(Tables, read_tables(path.parent / file.training), "training"), file.common)
        variants = tuple(_variant(name, common, change) for name, change in file.variants.items())
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    return Ablation(file.title, file.seeds, variants, file.remarks.strip(), file.full)


def merged(tables: Tables, change: Tables) -> Tables:
    """Tables of a training file with some keys changed."""
    return {name: tables.get(name, {}) | change.get(name, {}) for name in {**tables, **change}}


def _variant(name: str, common: Tables, change: Tables) -> Variant:
    paper = parse(dict[Statistic, float], change.get("paper", {}), f"[variants.{name}] paper")
    own = {table: values for table, values in change.items() if table != "paper"}
    return Variant(name, parse_config(merged(common, own)), paper)


def _folder(name: str) -> str:
    return name.replace(" ", "-")


def ablate(path: Path, out: Path, console: Console, progress: bool = True) -> int:
    """Train and score each variant and write `ablation.json` and `ablation.md`; what is done is not done again.

    `out` is also a store, with a record of every scored run: `l2e report` draws it.

    **Returns:** 0, or 130 if a training was interrupted; the same call goes on from there.
    """
    ablation = load_ablation(path)
    store = Store(out)
    store.open()
    store.note_experiment(_experiment(ablation, path.stem))
    gaps: list[dict[str, float]] = []
    rows: list[dict[str, Any]] = []
    for number, variant in enumerate(ablation.variants, start=1):
        console.print(f"{number} of {len(ablation.variants)}: {variant.name}")
        folder = out / _folder(variant.name)
        config, command = variant.config, f"l2e ablate {path.as_posix()} --out {out.as_posix()}"
        finished = run(config.spec(), config.training.seed, folder, config.settings, console, progress, command)
        if not finished.complete:
            return 130
        jax.clear_caches()  # compiled steps of one variant are of no use to the next
        facts = _scored(variant.name, folder, ablation.seeds, store, console)
        gaps.append({function: float(np.mean(row)) for function, row in facts["gaps"].items()})
        rows.append({"name": variant.name, "budget": facts["budget"], "paper": variant.paper, **_training(folder)})
    _rank(rows, np.array([list(means.values()) for means in gaps]))
    rows = [row | {"means": means} for row, means in zip(rows, gaps, strict=True)]
    record = {"title": ablation.title, "seeds": ablation.seeds, "version": __version__, "rows": rows}
    write_whole(out / "ablation.json", (json.dumps(record, indent=1) + "\n").encode())
    write_whole(out / "ablation.md", markdown(ablation, rows, path).encode())
    console.print(f"table: {out / 'ablation.md'}")
    return 0


def _experiment(ablation: Ablation, name: str) -> dict[str, Any]:
    """What a report should know of it."""
    facts = {"name": name, "title": ablation.title, "methods": [variant.name for variant in ablation.variants]}
    table = None if ablation.full is None else {"full": ablation.full}
    return facts | {"reference": ablation.full, "ablation": table}


def _scored(name: str, folder: Path, seeds: int, store: Store, console: Console) -> dict[str, Any]:
    """The score of a model with the budget it was trained for; runs that the store has are not repeated."""
    card = models.card(folder)
    model = models.load(folder)
    result = score(model, card.metadata["dimension"], card.evaluations, seeds, False, console, name, store.records)
    store.append(record for record in result.records if record.key not in store.records)
    return result.facts


def _training(folder: Path) -> dict[str, Any]:
    facts = models.card(folder).metadata
    return {key: facts[key] for key in ("step", "steps", "hours", "validation", "validation_untrained")}


def _rank(rows: list[dict[str, Any]], gaps: np.ndarray) -> None:
    """Add each row's statistics over functions and its mean rank among the rows; equal gaps share a rank."""
    below = (gaps[None] < gaps[:, None]).sum(axis=1)
    equal = (gaps[None] == gaps[:, None]).sum(axis=1)
    ranks = (below + (equal + 1) / 2).mean(axis=1)
    for row, means, rank in zip(rows, gaps, ranks, strict=True):
        row["measured"] = {name: statistic(means) for name, statistic in STATISTICS.items()} | {"rank": float(rank)}


def markdown(ablation: Ablation, rows: list[dict[str, Any]], path: Path) -> str:
    """The table as text, measured and printed numbers side by side."""
    shown = (*STATISTICS, "rank")
    heading = ["variant", "evaluations", "validation: untrained, trained", *(name.replace("_", " ") for name in shown)]
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    for row in rows:
        learned = f"{row['validation_untrained']:.2f}, {row['validation']:.2f} (step {row['step']} of {row['steps']})"
        cells = [_cell(row["measured"][name], row["paper"].get(name)) for name in shown]
        lines.append("| " + " | ".join([row["name"], str(row["budget"]), learned, *cells]) + " |")
    minutes = 60 * sum(row["hours"] for row in rows)
    about = (
        f"Final gaps f - f* on the paper's 16 test functions of BBOB-10D, mean of {ablation.seeds} seeds, statistics "
        f"over functions; in brackets the paper's numbers, where it has them. Validation is the mean log10 gap on "
        f"held-out instances of the training families. Training took {minutes:.0f} minutes in all."
    )
    command = f"`l2e ablate {path.as_posix()} --out runs/{path.stem}`"
    return "\n\n".join([f"# {ablation.title}", command, about, "\n".join(lines), ablation.remarks]).rstrip() + "\n"


def _cell(measured: float, paper: float | None) -> str:
    return f"{measured:.3g}" if paper is None else f"{measured:.3g} ({paper:.4g})"
