"""Attack the default method with odd values: huge, tiny, tied, missing. It must neither raise nor ask for NaN.

    python tools/attack_values.py --runs 20000 --workers 2

Every run draws a kind of landscape, a box, a dimension from 1 to 12 and a number of evaluations per dimension (1 to 60
unless `--per-dimension` says otherwise), and is made either by `l2e.minimize` or by ask and tell. The table counts, by
kind, the runs, the exceptions that came out, the batches that held a point outside the box or not a number, and the
runs in which one part of the method failed inside and handed over to another. Exceptions are shown with the number of
the run; `--only NUMBER` repeats it.
"""

import argparse
import collections
import dataclasses
import functools
import hashlib
import sys
import traceback
import warnings
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

import l2e
from l2e.core.box import Box
from l2e.core.search import Account
from l2e.portfolio.method import Portfolio
from l2e.portfolio.weights import shipped_gate

LARGEST = sys.float_info.max
SMALLEST = 5e-324
"""The smallest positive number there is, a subnormal one."""

DIMENSIONS = (1, 12)
PER_DIMENSION = (1, 60)
"""Evaluations per dimension."""

SHOWN = 5
"""Tracebacks printed in full."""

Landscape = Callable[[np.ndarray], float]
Draw = Callable[[np.random.Generator, int], Landscape]


def bowl(rng: np.random.Generator, d: int) -> Landscape:
    """A plain quadratic in the unit cube, of a condition up to 1e6; the others are made of it."""
    centre, scales = rng.uniform(0, 1, d), 10.0 ** rng.uniform(0, 6 * rng.random(), d)
    return lambda x: float((scales * (x - centre) ** 2).sum())


def chance(x: np.ndarray, salt: int) -> float:
    """A number in [0, 1) that depends on the point alone."""
    digest = hashlib.blake2b(x.tobytes() + salt.to_bytes(8, "little"), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2.0**64


def likelihood(rng: np.random.Generator, d: int) -> Landscape:
    """-exp(-k |x - c|^2): flat to the last digit nearly everywhere."""
    centre, narrow = rng.uniform(0, 1, d), 10.0 ** rng.uniform(0, 4)
    return lambda x: -float(np.exp(-narrow * ((x - centre) ** 2).sum()))


def penalty(rng: np.random.Generator, d: int) -> Landscape:
    """A huge number on a part of the box."""
    inner, size = bowl(rng, d), rng.choice([1e100, 1e200, 1e300, LARGEST, np.inf])
    normal, share = rng.standard_normal(d), rng.uniform(-0.5, 0.5)
    return lambda x: float(size) if normal @ (x - 0.5) > share else inner(x)


def random_penalty(rng: np.random.Generator, d: int) -> Landscape:
    """A huge number at random points."""
    inner, size, share, salt = bowl(rng, d), rng.choice([1e150, 1e300, LARGEST]), rng.random(), int(rng.integers(2**60))
    return lambda x: float(size) if chance(x, salt) < share else inner(x)


def both_signs(rng: np.random.Generator, d: int) -> Landscape:
    """The largest number on one side, minus it on the other."""
    normal = rng.standard_normal(d)
    return lambda x: LARGEST if normal @ (x - 0.5) > 0 else -LARGEST


def constant(rng: np.random.Generator, d: int) -> Landscape:
    """One value."""
    value = float(rng.choice([0.0, 1.0, -7.25, 1e16, SMALLEST, -SMALLEST, 1e300, LARGEST, -LARGEST]))
    return lambda x: value


def steps(rng: np.random.Generator, d: int) -> Landscape:
    """A few levels."""
    inner, levels, height = bowl(rng, d), int(rng.integers(1, 6)), 10.0 ** rng.uniform(-320, 300)
    top = max(inner(np.zeros(d)), inner(np.ones(d)))
    return lambda x: float(np.floor(levels * min(inner(x) / top, 1.0)) * height)


def rounded(rng: np.random.Generator, d: int) -> Landscape:
    """Some coordinates count by their integer part only."""
    inner, cells = bowl(rng, d), rng.integers(1, 20, d)
    which = rng.random(d) < rng.random()
    return lambda x: inner(np.where(which, np.floor(cells * x) / cells, x))


def plateau(rng: np.random.Generator, d: int) -> Landscape:
    """Cut off above or below."""
    inner, from_above = bowl(rng, d), bool(rng.random() < 0.5)
    level = inner(rng.uniform(0, 1, d))
    return lambda x: min(inner(x), level) if from_above else max(inner(x), level)


def tiny(rng: np.random.Generator, d: int) -> Landscape:
    """Differences near the smallest numbers, or below."""
    inner, size = bowl(rng, d), 10.0 ** rng.uniform(-330, -280)
    return lambda x: inner(x) * size


def subnormal(rng: np.random.Generator, d: int) -> Landscape:
    """Small multiples of the smallest number."""
    inner, levels = bowl(rng, d), int(rng.integers(1, 1000))
    return lambda x: float(np.floor(levels * min(inner(x), 1e3))) * SMALLEST


def huge(rng: np.random.Generator, d: int) -> Landscape:
    """Values up to the largest number, or beyond."""
    inner, size, sign = bowl(rng, d), 10.0 ** rng.uniform(90, 308), rng.choice([-1.0, 1.0])
    return lambda x: float(sign * inner(x) * size)


def powers(rng: np.random.Generator, d: int) -> Landscape:
    """All magnitudes from 1e-320 to 1e308 within one box."""
    inner, low, high = bowl(rng, d), rng.uniform(-320, 0), rng.uniform(0, 308)
    top = max(inner(np.zeros(d)), inner(np.ones(d)))
    return lambda x: float(10.0 ** (low + (high - low) * min(inner(x) / top, 1.0)))


def explosive(rng: np.random.Generator, d: int) -> Landscape:
    """exp of a quadratic: infinite far from its minimum."""
    inner, size = bowl(rng, d), 10.0 ** rng.uniform(0, 6)
    return lambda x: float(np.exp(size * inner(x)))


def logarithm(rng: np.random.Generator, d: int) -> Landscape:
    """log, minus infinity at its minimum; or minus log, infinite there."""
    inner, sign = bowl(rng, d), rng.choice([-1.0, 1.0])
    cells = int(rng.integers(2, 30))
    return lambda x: float(sign * np.log(inner(np.round(cells * x) / cells)))


def pole(rng: np.random.Generator, d: int) -> Landscape:
    """1 / |x - c|^2 with either sign, to some power."""
    centre, power, sign = rng.uniform(0, 1, d), rng.uniform(1, 60), rng.choice([-1.0, 1.0])
    return lambda x: float(sign * ((x - centre) ** 2).sum() ** -power)


def missing(rng: np.random.Generator, d: int) -> Landscape:
    """NaN at random points."""
    inner, share, salt = bowl(rng, d), rng.random(), int(rng.integers(2**60))
    return lambda x: float("nan") if chance(x, salt) < share else inner(x)


def nowhere(rng: np.random.Generator, d: int) -> Landscape:
    """No value at all."""
    value = float(rng.choice([np.nan, np.inf, -np.inf]))
    return lambda x: value


def island(rng: np.random.Generator, d: int) -> Landscape:
    """Values in a small part of the box only."""
    inner, centre, radius = bowl(rng, d), rng.uniform(0, 1, d), rng.uniform(0.05, 0.5)
    return lambda x: inner(x) if np.abs(x - centre).max() < radius else float("nan")


def needle(rng: np.random.Generator, d: int) -> Landscape:
    """Flat but for a hole."""
    centre, radius, depth = rng.uniform(0, 1, d), rng.uniform(0.01, 0.4), 10.0 ** rng.uniform(-320, 308)
    return lambda x: -depth if np.abs(x - centre).max() < radius else 0.0


def ties(rng: np.random.Generator, d: int) -> Landscape:
    """Two values."""
    normal, pair = rng.standard_normal(d), 10.0 ** rng.uniform(-320, 308, 2)
    return lambda x: float(pair[int(normal @ (x - 0.5) > 0)])


def offset(rng: np.random.Generator, d: int) -> Landscape:
    """A large constant in which the differences drown."""
    inner, size = bowl(rng, d), 10.0 ** rng.uniform(10, 300)
    return lambda x: inner(x) + size


def slope(rng: np.random.Generator, d: int) -> Landscape:
    """Linear, as steep as numbers go."""
    normal, size = rng.standard_normal(d), 10.0 ** rng.uniform(-310, 307)
    return lambda x: float(normal @ x) * size


def kink(rng: np.random.Generator, d: int) -> Landscape:
    """|x - c| to a power below one: infinitely steep at its minimum."""
    centre, power, size = rng.uniform(0, 1, d), rng.uniform(0.01, 1), 10.0 ** rng.uniform(-150, 150)
    return lambda x: float((np.abs(x - centre) ** power).sum() * size)


def noise(rng: np.random.Generator, d: int) -> Landscape:
    """A quadratic under noise of any size."""
    inner, size, salt = bowl(rng, d), 10.0 ** rng.uniform(-20, 300), int(rng.integers(2**60))
    return lambda x: inner(x) + size * chance(x, salt)


def anything(rng: np.random.Generator, d: int) -> Landscape:
    """Random numbers of all magnitudes and both signs."""
    salt = int(rng.integers(2**60))

    def value(x: np.ndarray) -> float:
        own = np.random.default_rng(int(chance(x, salt) * 2**63))
        return float(own.choice([-1.0, 1.0]) * 10.0 ** own.uniform(-323, 308.2))

    return value


def counting(rng: np.random.Generator, d: int) -> Landscape:
    """Better, or worse, with every call, wherever the point is."""
    step, calls = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-300, 300), 0

    def value(x: np.ndarray) -> float:
        nonlocal calls
        calls += 1
        return float(calls * step)

    return value


DRAWN: tuple[Draw, ...] = (
    bowl,
    likelihood,
    penalty,
    random_penalty,
    both_signs,
    constant,
    steps,
    rounded,
    plateau,
    tiny,
    subnormal,
    huge,
    powers,
    explosive,
    logarithm,
    pole,
    missing,
    nowhere,
    island,
    needle,
    ties,
    offset,
    slope,
    kink,
    noise,
    anything,
    counting,
)
KINDS: dict[str, Draw] = {draw.__name__: draw for draw in DRAWN}


@dataclasses.dataclass(frozen=True, eq=False)
class Watched(Portfolio):
    """The default method, with an eye on what it asks for and writes down."""

    accounts: list[Account] = dataclasses.field(default_factory=list)
    refused: list[np.ndarray] = dataclasses.field(default_factory=list)

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        self.accounts.append(account)
        search = super().batches(space, seed, budget, start, account)
        values: Any = None
        while True:
            points = search.send(values)
            if not ((points >= space.lower) & (points <= space.upper)).all():
                self.refused.append(points)
            values = yield points


def trained() -> Watched:
    """The method `auto`, watched: with its trained gate."""
    return Watched(shipped_gate())


class Outcome(NamedTuple):
    """What became of one run."""

    number: int
    kind: str
    error: str | None
    refused: int
    handed_over: tuple[str, ...]
    text: str


def attack(
    number: int, draw: Draw, rng: np.random.Generator, dimension: int, budget: int, method: Watched, tell: bool
) -> Outcome:
    """One run, by ask and tell or by `minimize`."""
    inner = draw(rng, dimension)
    width = 10.0 ** rng.uniform(-6, 6, dimension) if rng.random() < 0.5 else np.full(dimension, 10.0)
    lower = -width * rng.random(dimension)
    bounds = np.stack([lower, lower + width], axis=1)
    start = lower + width * rng.random(dimension) if rng.random() < 0.3 else None

    def value(x: np.ndarray) -> float:
        with np.errstate(all="ignore"):
            return inner((np.asarray(x) - lower) / width)

    seed = int(rng.integers(2**31))
    error, text = None, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that the objective fails
            if tell:
                search = l2e.Optimizer(bounds=bounds, budget=budget, x0=start, rng=seed, method=method)
                while not search.stop():
                    points = search.ask()
                    search.tell(points, [value(x) for x in points])
            else:
                l2e.minimize(value, start, bounds=bounds, budget=budget, rng=seed, method=method)
    except Exception as problem:  # noqa: BLE001 - what this program is for
        place = traceback.extract_tb(problem.__traceback__)[-1]
        error = f"{type(problem).__name__} in {place.filename.rpartition('/')[2]}:{place.lineno}: {problem}"
        text = traceback.format_exc()
    failed = [span for account in method.accounts for span in account.spans if span.reason.startswith("failed")]
    handed_over = tuple(f"{span.part} {span.reason}" for span in failed)
    return Outcome(number, draw.__name__, error, len(method.refused), handed_over, text)


def run(number: int, seed: int, per_dimension: tuple[int, int] = PER_DIMENSION) -> Outcome:
    """Draw and play the run of this number."""
    rng = np.random.default_rng((seed, number))
    draw = DRAWN[number % len(DRAWN)]
    dimension = int(rng.integers(DIMENSIONS[0], DIMENSIONS[1] + 1))
    budget = dimension * int(rng.integers(per_dimension[0], per_dimension[1] + 1))
    return attack(number, draw, rng, dimension, budget, trained(), tell=bool(rng.random() < 0.5))


def table(outcomes: list[Outcome]) -> str:
    """By kind: runs, exceptions, batches with a bad point, runs with a hand-over inside."""
    rows = [("kind", "runs", "exceptions", "bad points", "hand-overs")]
    for kind in (*KINDS, "all"):
        here = [outcome for outcome in outcomes if kind in (outcome.kind, "all")]
        counts = (
            len(here),
            sum(outcome.error is not None for outcome in here),
            sum(outcome.refused for outcome in here),
            sum(bool(outcome.handed_over) for outcome in here),
        )
        runs, errors, refused, handed = (str(count) for count in counts)
        rows.append((kind, runs, errors, refused, handed))
    return "\n".join(f"{row[0]:16s}" + "".join(f"{cell:>12s}" for cell in row[1:]) for row in rows)


def main() -> int:
    """Play, print the table and what failed; 1 if anything came out that must not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--per-dimension",
        type=int,
        nargs=2,
        default=PER_DIMENSION,
        metavar=("LEAST", "MOST"),
        help="evaluations per dimension; populations and other starts search from 500 on",
    )
    parser.add_argument("--only", type=int, help="play only the run of this number")
    arguments = parser.parse_args()
    numbers = range(arguments.runs) if arguments.only is None else [arguments.only]
    play = functools.partial(run, seed=arguments.seed, per_dimension=tuple(arguments.per_dimension))
    if arguments.workers > 1 and arguments.only is None:
        with ProcessPoolExecutor(arguments.workers) as pool:
            outcomes = list(pool.map(play, numbers, chunksize=50))
    else:
        outcomes = [play(number) for number in numbers]
    print(table(outcomes))
    bad = [outcome for outcome in outcomes if outcome.error is not None]
    for error, count in collections.Counter(outcome.error for outcome in bad).most_common(20):
        print(f"{count:6d}  {error}")
    for outcome in bad[:SHOWN]:
        print(f"\nrun {outcome.number}, {outcome.kind}\n{outcome.text}")
    inside = collections.Counter(reason for outcome in outcomes for reason in outcome.handed_over)
    for reason, count in inside.most_common(20):
        print(f"{count:6d}  inside: {reason}")
    return 1 if bad or any(outcome.refused for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
