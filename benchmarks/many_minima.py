"""The default method and its rivals on functions with many minima, with much to spend.

    python benchmarks/many_minima.py --out runs/many-minima.jsonl --budgets 1000 --dimensions 2,5 --each 2
    python benchmarks/many_minima.py --out runs/many-minima.jsonl --table

Peaks, waves without a bowl, rough waves, Griewank's and Schwefel's functions, and landscapes of four families; each has
its minimum, of value 0, at a random place. All begin at the centre of the box. A number is the share of the 51 targets
10^[2..-8] reached within the told budget. A run that is in the file is not done again.
"""

import argparse
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from appended import all_runs
from beside import cell

import l2e
from l2e.problems.landscapes import draw_landscape
from l2e.report.targets import TARGETS

KEYS = ("method", "kind", "dimension", "number", "budget")
METHODS = ("auto", "pycma-bipop", "scipy-slsqp", "minion-lshade")
LANDSCAPES = ("funnels", "ripples", "waves", "wells")
SEEDS = 41_000
"""Seeds begin here; nothing was chosen on these problems."""

HALF = 5.0
SCHWEFEL_AT, SCHWEFEL_LEAST = 420.968746359982, 418.9828872724338

Function = Callable[[np.ndarray], np.ndarray]


def peaks(rng: np.random.Generator, d: int) -> Function:
    """One minus the highest of 6 to 150 Gaussians of all widths, on axes of their own."""
    count = int(rng.integers(6, 150))
    places, heights = rng.uniform(-0.9 * HALF, 0.9 * HALF, (count, d)), rng.uniform(0.2, 0.97, count)
    heights[0] = 1.0
    widths = 10 ** rng.uniform(-1.2, 0.6, (count, 1)) * 10 ** (1.5 * rng.uniform(-0.5, 0.5, (count, d)))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    size, power = 10 ** rng.uniform(0, 2.5), float(rng.choice([1, 2]))

    def value(x: np.ndarray) -> np.ndarray:
        away = (((x[:, None] - places) @ turn) ** 2 * widths).sum(axis=2) / d
        return size * (1 - (heights * np.exp(-away / 2)).max(axis=1)) ** power

    return value


def bare_waves(rng: np.random.Generator, d: int) -> Function:
    """A random field of 6 d waves, with its minimum planted and nothing that leads to it."""
    x_opt, steep = rng.uniform(-0.8 * HALF, 0.8 * HALF, d), rng.exponential(1.0, 6 * d)
    waves = rng.standard_normal((d, 6 * d)) * rng.uniform(0.9, 3.3) / math.sqrt(d)
    size = 10 ** rng.uniform(0, 2.5)
    return lambda x: size * (1 - np.cos((x - x_opt) @ waves)) @ (steep / steep.sum())


def rough_waves(rng: np.random.Generator, d: int) -> Function:
    """Waves upon waves in seven octaves, and no bowl."""
    x_opt, finer = rng.uniform(-0.8 * HALF, 0.8 * HALF, d), rng.uniform(0.35, 0.7)
    waves = rng.standard_normal((d, 2 * d)) * rng.uniform(1, 4) / math.sqrt(d)
    size = 10 ** rng.uniform(0, 2.5)

    def value(x: np.ndarray) -> np.ndarray:
        turned = (x - x_opt) @ waves
        return size * np.sum([finer**j * (1 - np.cos(2.0**j * turned)).mean(axis=1) for j in range(7)], axis=0)

    return value


def griewank(rng: np.random.Generator, d: int) -> Function:
    x_opt, scale = rng.uniform(-0.8 * HALF, 0.8 * HALF, d), float(rng.choice([5, 10, 30]))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]

    def value(x: np.ndarray) -> np.ndarray:
        y = scale * (x - x_opt) @ turn
        return (y**2).sum(axis=1) / 4000 + 1 - np.prod(np.cos(y / np.sqrt(np.arange(1, d + 1))), axis=1)

    return value


def schwefel(rng: np.random.Generator, d: int) -> Function:
    """Reflected at random, and coupled by the square of one random combination of the coordinates."""
    signs, along = rng.choice([-1.0, 1.0], d), rng.standard_normal(d)
    along *= math.sqrt(float(rng.choice([1, 10]))) / np.linalg.norm(along)
    x_opt = SCHWEFEL_AT / 100 * signs

    def value(x: np.ndarray) -> np.ndarray:
        z = 100 * x * signs
        deep = (SCHWEFEL_LEAST - z * np.sin(np.sqrt(np.abs(z)))).sum(axis=1)
        return np.maximum(deep, 0) / 10 + ((x - x_opt) @ along) ** 2

    return value


def of_family(family: str, rng: np.random.Generator, d: int) -> Function:
    landscape = draw_landscape(rng, family, d)
    return lambda x: landscape.values(np, x) - landscape.optimum.f


KINDS: dict[str, Callable[[np.random.Generator, int], Function]] = {
    "peaks": peaks,
    "bare waves": bare_waves,
    "rough waves": rough_waves,
    "griewank": griewank,
    "schwefel": schwefel,
    **{family: functools.partial(of_family, family) for family in LANDSCAPES},
}


def one_run(method: str, kind: str, dimension: int, number: int, budget: int) -> dict[str, Any]:
    rng = np.random.default_rng((SEEDS, list(KINDS).index(kind), dimension, number))
    function = KINDS[kind](rng, dimension)
    result = l2e.minimize(
        lambda x: float(function(x[None])[0]),
        np.zeros(dimension),
        bounds=[(-HALF, HALF)] * dimension,
        budget=budget * dimension,
        method=method,
        rng=number,
    )
    found = dict(zip(KEYS, (method, kind, dimension, number, budget), strict=True))
    return {**found, "share": round(float((result.fun <= TARGETS).mean()), 4)}


def table(rows: list[dict[str, Any]]) -> str:
    """The mean share of each method by dimension and budget, and how far auto is ahead, paired."""
    shares = {tuple(row[key] for key in KEYS): row["share"] for row in rows}
    cells = sorted({(row["dimension"], row["budget"]) for row in rows})
    lines = ["| | " + " | ".join(f"{d}-D, {b}·d" for d, b in cells) + " |", "|---" * (len(cells) + 1) + "|"]
    for method in METHODS:
        line = []
        for d, budget in cells:
            pairs = [
                (share, shares[("auto", *key[1:])])
                for key, share in shares.items()
                if (key[0], key[2], key[4]) == (method, d, budget) and ("auto", *key[1:]) in shares
            ]
            if len(pairs) < 2:
                line.append("-")
                continue
            theirs, ours = zip(*pairs, strict=True)
            line.append(cell(theirs, None if method == "auto" else ours))
        lines.append(f"| {method} | " + " | ".join(line) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budgets", default="1000,2000", help="evaluations per dimension")
    parser.add_argument("--dimensions", default="2,3,5,10")
    parser.add_argument("--each", type=int, default=2, help="problems of each kind")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--table", action="store_true", help="only print what is recorded")
    chosen = parser.parse_args()
    wanted = (
        (values := (method, kind, int(dimension), number, int(budget)), functools.partial(one_run, *values))
        for number in range(chosen.each)
        for budget in chosen.budgets.split(",")
        for dimension in chosen.dimensions.split(",")
        for kind in KINDS
        for method in chosen.methods.split(",")
    )
    rows = all_runs(chosen.out, KEYS, () if chosen.table else wanted)
    print("In brackets: how far auto is ahead, paired.")
    print(table(rows))


if __name__ == "__main__":
    main()
