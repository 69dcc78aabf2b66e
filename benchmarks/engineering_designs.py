"""Ten classical engineering designs with constraints: how near the default method comes to the best known values.

    python benchmarks/engineering_designs.py --out benchmarks/recorded/engineering-designs.json

The formulas are public: J. S. Arora, "Introduction to optimum design"; K. Deb, "An efficient constraint handling method
for genetic algorithms", 2000; C. A. Coello Coello, "Use of a self-adaptive penalty approach for engineering
optimization problems", 2000; J. Golinski's speed reducer, 1973; T. P. Runarsson and X. Yao, 2000 (g04, g10). The best
known values are those of the literature for these bounds and constraints, but for the tubular column: the 26.486 of the
literature violates the constraints as they are written, and 26.499497 is where both are active. A design counts as
solved by a seed if the value is allowed and at most 1e-4 above the best known one, relative to it (absolute for the
gear train, whose best known value is 2.7e-12).
"""

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import l2e


class Design(NamedTuple):
    space: l2e.Space
    cost: Callable[..., float]
    limits: Callable[..., list[float]] | None
    best: float


def vessel_cost(shell: float, head: float, r: float, length: float) -> float:
    return 0.6224 * shell * r * length + 1.7781 * head * r**2 + 3.1661 * shell**2 * length + 19.84 * shell**2 * r


def vessel_limits(shell: float, head: float, r: float, length: float) -> list[float]:
    volume = math.pi * r**2 * length + 4 / 3 * math.pi * r**3
    return [0.0193 * r - shell, 0.00954 * r - head, 1 - volume / 1_296_000, length / 240 - 1]


def beam_cost(h: float, l: float, t: float, b: float) -> float:  # noqa: E741 - the symbols of the literature
    return 1.10471 * h**2 * l + 0.04811 * t * b * (14 + l)


def beam_limits(h: float, l: float, t: float, b: float) -> list[float]:  # noqa: E741
    load, span, e, g = 6000.0, 14.0, 30e6, 12e6
    direct = load / (math.sqrt(2) * h * l)
    moment = load * (span + l / 2)
    radius = math.sqrt(l**2 / 4 + ((h + t) / 2) ** 2)
    inertia = 2 * math.sqrt(2) * h * l * (l**2 / 12 + ((h + t) / 2) ** 2)
    torsion = moment * radius / inertia
    shear = math.sqrt(direct**2 + 2 * direct * torsion * l / (2 * radius) + torsion**2)
    bending = 6 * load * span / (b * t**2)
    deflection = 4 * load * span**3 / (e * t**3 * b)
    buckling = 4.013 * e * math.sqrt(t**2 * b**6 / 36) / span**2 * (1 - t / (2 * span) * math.sqrt(e / (4 * g)))
    return [
        shear / 13_600 - 1,
        bending / 30_000 - 1,
        h - b,
        (0.10471 * h**2 + 0.04811 * t * b * (14 + l)) / 5 - 1,
        0.125 - h,
        deflection / 0.25 - 1,
        1 - buckling / load,
    ]


def spring_cost(wire: float, coil: float, turns: float) -> float:
    return (turns + 2) * coil * wire**2


def spring_limits(wire: float, coil: float, turns: float) -> list[float]:
    shear = (4 * coil**2 - wire * coil) / (12_566 * (coil * wire**3 - wire**4)) + 1 / (5108 * wire**2)
    return [
        1 - coil**3 * turns / (71_785 * wire**4),
        shear - 1,
        1 - 140.45 * wire / (coil**2 * turns),
        (wire + coil) / 1.5 - 1,
    ]


def reducer_cost(a: float, b: float, z: int, p: float, q: float, s: float, t: float) -> float:
    teeth = 0.7854 * a * b**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
    return teeth - 1.508 * a * (s**2 + t**2) + 7.4777 * (s**3 + t**3) + 0.7854 * (p * s**2 + q * t**2)


def reducer_limits(a: float, b: float, z: int, p: float, q: float, s: float, t: float) -> list[float]:
    return [
        27 / (a * b**2 * z) - 1,
        397.5 / (a * b**2 * z**2) - 1,
        1.93 * p**3 / (b * z * s**4) - 1,
        1.93 * q**3 / (b * z * t**4) - 1,
        math.sqrt((745 * p / (b * z)) ** 2 + 16.9e6) / (110 * s**3) - 1,
        math.sqrt((745 * q / (b * z)) ** 2 + 157.5e6) / (85 * t**3) - 1,
        b * z / 40 - 1,
        5 * b / a - 1,
        a / (12 * b) - 1,
        (1.5 * s + 1.9) / p - 1,
        (1.1 * t + 1.9) / q - 1,
    ]


def truss_cost(outer: float, middle: float) -> float:
    return (2 * math.sqrt(2) * outer + middle) * 100


def truss_limits(outer: float, middle: float) -> list[float]:
    root = math.sqrt(2)
    both = root * outer**2 + 2 * outer * middle
    return [
        (root * outer + middle) / both - 1,
        middle / both - 1,
        1 / (root * middle + outer) - 1,
    ]


def gear_cost(a: int, b: int, c: int, d: int) -> float:
    return (1 / 6.931 - a * b / (c * d)) ** 2


def process_cost(v: float, w: float, x: float, y: float, z: float) -> float:
    return 5.3578547 * x**2 + 0.8356891 * v * z + 37.293239 * v - 40792.141


def process_limits(v: float, w: float, x: float, y: float, z: float) -> list[float]:
    first = 85.334407 + 0.0056858 * w * z + 0.0006262 * v * y - 0.0022053 * x * z
    second = 80.51249 + 0.0071317 * w * z + 0.0029955 * v * w + 0.0021813 * x**2
    third = 9.300961 + 0.0047026 * x * z + 0.0012547 * v * x + 0.0019085 * x * y
    return [-first, first - 92, 90 - second, second - 110, 20 - third, third - 25]


def cantilever_cost(**widths: float) -> float:
    return 0.0624 * sum(widths.values())


def cantilever_limits(**widths: float) -> list[float]:
    return [sum(k / width**3 for k, width in zip((61, 37, 19, 7, 1), widths.values(), strict=True)) - 1]


def column_cost(d: float, t: float) -> float:
    return 9.8 * d * t + 2 * d


def column_limits(d: float, t: float) -> list[float]:
    load, stress, e, length = 2500.0, 500.0, 0.85e6, 250.0
    return [
        load / (math.pi * d * t * stress) - 1,
        8 * load * length**2 / (math.pi**3 * e * d * t * (d**2 + t**2)) - 1,
    ]


def exchanger_cost(a: float, b: float, c: float, **temperatures: float) -> float:
    return a + b + c


def exchanger_limits(a: float, b: float, c: float, p: float, q: float, r: float, s: float, t: float) -> list[float]:
    return [
        0.0025 * (p + r) - 1,
        0.0025 * (q + s - p) - 1,
        0.01 * (t - q) - 1,
        (-a * r + 833.33252 * p + 100 * a - 83_333.333) / 1e5,
        (-b * s + 1250 * q + b * p - 1250 * p) / 1e5,
        (-c * t + 1_250_000 + c * q - 2500 * q) / 1e5,
    ]


INCH = l2e.Float(0.0625, 99 * 0.0625, step=0.0625)
TEETH = l2e.Int(12, 60)
HOT = (10, 1000)

DESIGNS = {
    "pressure vessel": Design(
        l2e.Space(shell=INCH, head=INCH, r=(10, 200), length=(10, 200)), vessel_cost, vessel_limits, 6059.714335
    ),
    "welded beam": Design(
        l2e.Space(h=(0.1, 2), l=(0.1, 10), t=(0.1, 10), b=(0.1, 2)), beam_cost, beam_limits, 1.724852309
    ),
    "spring": Design(
        l2e.Space(wire=(0.05, 2), coil=(0.25, 1.3), turns=(2, 15)), spring_cost, spring_limits, 0.012665233
    ),
    "speed reducer": Design(
        l2e.Space(a=(2.6, 3.6), b=(0.7, 0.8), z=l2e.Int(17, 28), p=(7.3, 8.3), q=(7.3, 8.3), s=(2.9, 3.9), t=(5, 5.5)),
        reducer_cost,
        reducer_limits,
        2994.471066,
    ),
    "three-bar truss": Design(l2e.Space(outer=(1e-3, 1), middle=(1e-3, 1)), truss_cost, truss_limits, 263.895843),
    "gear train": Design(l2e.Space(a=TEETH, b=TEETH, c=TEETH, d=TEETH), gear_cost, None, 2.700857e-12),
    "Himmelblau's process": Design(
        l2e.Space(v=(78, 102), w=(33, 45), x=(27, 45), y=(27, 45), z=(27, 45)),
        process_cost,
        process_limits,
        -30665.538672,
    ),
    "cantilever": Design(
        l2e.Space({f"w{i}": (0.01, 100) for i in range(5)}), cantilever_cost, cantilever_limits, 1.339956
    ),
    "tubular column": Design(l2e.Space(d=(2, 14), t=(0.2, 0.8)), column_cost, column_limits, 26.499497),
    "heat exchanger": Design(
        l2e.Space(a=(100, 10_000), b=(1000, 10_000), c=(1000, 10_000), p=HOT, q=HOT, r=HOT, s=HOT, t=HOT),
        exchanger_cost,
        exchanger_limits,
        7049.248021,
    ),
}


def solve(design: Design, per_dimension: int, seed: int) -> Any:
    d = len(design.space.free)
    return l2e.minimize(design.cost, design.space, constraints=design.limits, budget=per_dimension * d, rng=seed)


def gap(design: Design, result: Any) -> float:
    """Relative to the best known value; the gear train's is as good as 0."""
    if not result.get("feasible", True):
        return math.inf
    return (result.fun - design.best) / (1.0 if design.limits is None else abs(design.best))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-dimension", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = {}
    for name, design in DESIGNS.items():
        gaps = [gap(design, solve(design, args.per_dimension, seed)) for seed in range(args.seeds)]
        rows[name] = {"best": design.best, "gaps": [float(f"{one:.3g}") for one in gaps]}
        solved = sum(one <= 1e-4 for one in gaps)
        print(f"{name:22} {solved} of {len(gaps)} seeds; median gap {np.median(gaps):.2g}", flush=True)
    if args.out is not None:
        args.out.write_text(json.dumps({"per_dimension": args.per_dimension, "designs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
