"""A budget that the default method was not told: how far a search without one, or one that was extended, is behind.

    python benchmarks/anytime.py --out benchmarks/recorded/anytime.jsonl
    python benchmarks/anytime.py --out benchmarks/recorded/anytime.jsonl --table

On random landscapes, blends and BBOB functions in 3, 5 and 10-D, the share of the 51 targets f* + 10^[2..-8] that is
reached after 20, 50 and 200 evaluations per dimension by

- told: a search told that budget, one for each;
- none: one search without a budget, which is not ended when it has settled;
- settled: the same, ended when it has settled;
- raised: a search told 20·d that is gone on with from its journal, up to 200·d.

All have the same seed. Landscapes, blends and instances were used for no choice; the horizons were chosen on others of
the same families, and on the BBOB functions of training. `--held-out` takes the other BBOB functions. A run that is in
the file is not done again.
"""

import argparse
import functools
import math
import tempfile
import types
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cocoex
import numpy as np
from appended import all_runs

import l2e
from l2e.core.ending import Ending
from l2e.problems.blends import BLENDS, draw_blend
from l2e.problems.landscapes import FAMILIES, draw_landscape
from l2e.report.targets import TARGETS

KEYS = ("kind", "name", "dimension", "number")
BUDGETS = (20, 50, 200)
"""Evaluations per dimension."""

DIMENSIONS = (3, 5, 10)
TRAINING = (1, 2, 3, 5, 15, 16, 17, 21)
"""BBOB functions on which choices are made."""

FIRST_NUMBER = 1000
"""Of landscapes and blends; that of a BBOB instance follows from it."""

FOR_EVER = 10**9

Objective = Callable[[np.ndarray], float]


def values_of(problem: Any, x: np.ndarray) -> float:
    return float(np.asarray(problem.values(np, x[None]))[0])


def drawn(kind: str, name: str, dimension: int, number: int) -> tuple[Objective, Any, float]:
    """A function, its bounds, and its minimum."""
    if kind == "bbob":
        problem = cocoex.BareProblem("bbob", int(name), dimension, 1 + number % 100)
        return (lambda x: float(problem(x))), [(-5, 5)] * dimension, float(problem.best_value())
    rng = np.random.default_rng((zlib.crc32(name.encode()), dimension, number))
    blend = draw_blend(rng, name, dimension) if kind == "blend" else draw_landscape(rng, name, dimension)
    return functools.partial(values_of, blend), blend.space, float(blend.optimum.f)


def shares(values: np.ndarray, f_opt: float, dimension: int) -> list[float]:
    """The share of targets after each budget."""
    best = [np.nanmin(np.where(np.isfinite(values), values, np.inf)[: budget * dimension]) for budget in BUDGETS]
    return [round(float((one - f_opt <= TARGETS).mean()), 4) for one in best]


def until_settled(values: np.ndarray, dimension: int) -> int:
    """Evaluations after which a search without a budget ends by itself."""
    ending, best = Ending(dimension), np.minimum.accumulate(np.where(np.isfinite(values), values, np.inf))
    for used, value in enumerate(best.tolist(), 1):
        if ending.check(types.SimpleNamespace(best_f=value, used=used)):  # pyright: ignore[reportArgumentType]
            return used
    return len(values)


def one_run(kind: str, name: str, dimension: int, number: int) -> dict[str, Any]:
    """Shares of all four, on one problem."""
    f, bounds, f_opt = drawn(kind, name, dimension, number)
    search = functools.partial(l2e.minimize, f, bounds=bounds, rng=number)
    most = BUDGETS[-1] * dimension
    told = [shares(search(budget=b * dimension).evaluations.f, f_opt, dimension)[i] for i, b in enumerate(BUDGETS)]
    none = search(patience=FOR_EVER, callback=lambda state: state.nfev >= most).evaluations.f
    settled = until_settled(none, dimension)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "run.l2e"
        search(budget=BUDGETS[0] * dimension, checkpoint=journal)
        raised = search(budget=most, checkpoint=journal).evaluations.f
    found = dict(zip(KEYS, (kind, name, dimension, number), strict=True))
    found |= {"told": told, "none": shares(none, f_opt, dimension)}
    found |= {"settled": shares(none[:settled], f_opt, dimension), "settled after": settled}
    return found | {"raised": shares(raised, f_opt, dimension)}


def problems(held_out: bool, each: int) -> Iterator[tuple[Any, ...]]:
    others = tuple(f for f in range(1, 25) if f not in TRAINING)
    for number in range(FIRST_NUMBER, FIRST_NUMBER + each):
        for dimension in DIMENSIONS:
            for function in others if held_out else TRAINING:
                yield "bbob", str(function), dimension, number
            if not held_out:
                yield from (("landscape", name, dimension, number) for name in FAMILIES)
                yield from (("blend", name, dimension, number) for name in BLENDS)


def set_of(row: dict[str, Any]) -> str:
    if row["kind"] != "bbob":
        return f"{row['kind']}s"
    return "BBOB, training" if int(row["name"]) in TRAINING else "BBOB, held out"


def table(rows: list[dict[str, Any]]) -> str:
    """Differences to the told searches, with standard errors."""
    lines = ["| | problems | | " + " | ".join(f"{b}·d" for b in BUDGETS) + " |", "|---" * (len(BUDGETS) + 3) + "|"]
    names = [*dict.fromkeys(set_of(row) for row in rows)]
    chosen = {name: [row for row in rows if set_of(row) == name] for name in names}
    seen = [row for row in rows if set_of(row) != "BBOB, held out"]
    groups = ({"all but held out": seen} if seen else {}) | chosen | by_dimension(seen)
    for name, here in groups.items():
        told = np.asarray([row["told"] for row in here])
        lines.append(
            f"| {name} | {len(here)} | told | " + " | ".join(f"{mean:.3f}" for mean in told.mean(axis=0)) + " |"
        )
        for plan in ("none", "settled", "raised"):
            ahead = np.asarray([row[plan] for row in here]) - told
            errors = ahead.std(axis=0, ddof=1) / math.sqrt(len(here))
            cells = [f"{mean:+.3f} ± {error:.3f}" for mean, error in zip(ahead.mean(axis=0), errors, strict=True)]
            lines.append(f"| | | {plan} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def by_dimension(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {f"{d}-D": here for d in DIMENSIONS if (here := [row for row in rows if row["dimension"] == d])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--table", action="store_true", help="only print what is recorded")
    parser.add_argument("--held-out", action="store_true", help="BBOB functions that were used for no choice")
    parser.add_argument("--each", type=int, default=2, help="problems of each family and dimension")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = () if given.table else problems(given.held_out, given.each)
    print(table(all_runs(given.out, KEYS, ((values, functools.partial(one_run, *values)) for values in wanted))))
