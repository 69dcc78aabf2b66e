"""Call `l2e.minimize` with odd arguments and odd objectives; it must answer with a right result or a clear error.

    python tools/attack_inputs.py --runs 4000

Every run draws a method, a box, a budget and options, most of them sound and a few of them not, and an objective that
may return odd things, raise, exit, print or change its argument. What came of it is one of

- a right result: the evaluations are counted, within the budget and the box, and the best of the values returned,
- a clear error: a ValueError, TypeError, ObjectiveError or the like with a sentence of l2e's own,
- foreign words: such an error that was raised, unnoticed, inside of another library,
- a wrong result, or any other exception that came out: what this program looks for.

`--only NUMBER` repeats a run and shows it whole.
"""

import argparse
import collections
import contextlib
import decimal
import fractions
import functools
import io
import math
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import l2e
from l2e.core.errors import MissingExtraError
from l2e.core.stops import ObjectiveError

PACKAGE = str(Path(l2e.__file__).parent)
CLEAR = (ValueError, TypeError, ObjectiveError, MissingExtraError)
METHODS = ("auto", "auto", "auto", "random-search", "de", "lshade", "cmaes", "pso", "scipy-de", "scipy-slsqp", "pycma")
DIMENSIONS = (1, 2, 3, 5)
"""Few, since native methods are compiled for each."""


class Unreadable(Exception):  # noqa: N818 - the name is what a user might choose
    """An exception that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __str__ = __repr__


def raising(error: BaseException) -> Callable[[np.ndarray], Any]:
    """An objective that raises this."""

    def objective(x: np.ndarray) -> float:
        raise error

    return objective


def sphere(x: np.ndarray) -> float:
    """The sound one, of which the others are made."""
    return float(((x - 0.3) ** 2).sum())


def spoils(x: np.ndarray) -> float:
    """Changes its argument and prints."""
    value = sphere(x)
    x[:] = np.nan
    print("[bold]printed[/bold]")
    return value


def inner(x: np.ndarray) -> float:
    """Searches by itself."""
    return l2e.minimize(lambda y: float(y @ y + x @ x), bounds=[(-1, 1)], budget=3, rng=0).fun


ANSWERS: dict[str, Callable[[np.ndarray], Any]] = {
    "float": sphere,
    "numpy number": lambda x: np.float32(sphere(x)),
    "0-d": lambda x: np.asarray(sphere(x)),
    "one element": lambda x: [[sphere(x)]],
    "integer": lambda x: int(sphere(x)),
    "truth": lambda x: bool(x[0] > 0),
    "decimal": lambda x: decimal.Decimal(repr(sphere(x))),
    "fraction": lambda x: fractions.Fraction(sphere(x)),
    "nan": lambda x: math.nan if x[0] > 0 else sphere(x),
    "infinite": lambda x: -math.inf if x[0] > 0 else sphere(x),
    "too large": lambda x: 10**400 if x[0] > 0 else sphere(x),
    "too small": lambda x: -(10**400) if x[0] > 0 else sphere(x),
    "nothing": lambda x: None if x[0] > 0 else sphere(x),
    "text": lambda x: "1.0" if x[0] > 0 else sphere(x),
    "ragged": lambda x: [1.0, [2.0, 3.0]] if x[0] > 0 else sphere(x),
    "vector": lambda x: [1.0, 2.0] if x[0] > 0 else sphere(x),
    "empty": lambda x: [] if x[0] > 0 else sphere(x),
    "complex": lambda x: 1j if x[0] > 0 else sphere(x),
    "unreadable": lambda x: Unreadable() if x[0] > 0 else sphere(x),
    "raises": lambda x: raising(ValueError("[red]no[/red]"))(x) if x[0] > 0 else sphere(x),
    "raises the unreadable": lambda x: raising(Unreadable())(x) if x[0] > 0 else sphere(x),
    "exits": lambda x: raising(SystemExit(3))(x) if x[0] > 0 else sphere(x),
    "recursion": lambda x: raising(RecursionError())(x) if x[0] > 0 else sphere(x),
    "memory": lambda x: raising(MemoryError())(x) if x[0] > 0 else sphere(x),
    "stop iteration": lambda x: raising(StopIteration())(x) if x[0] > 0 else sphere(x),
    "always raises": raising(ZeroDivisionError("always")),
    "spoils": spoils,
    "searches itself": inner,
}
ODD: dict[str, tuple[Any, ...]] = {
    "bounds": (
        [(1, -1)],
        [(0, 0)],
        [(math.nan, 1)],
        [(-math.inf, math.inf)],
        "bounds",
        [("a", "b")],
        [(0, 1j)],
        np.ma.masked_array([[0.0, 1.0]], mask=True),
        np.asarray([["2020-01-01", "2020-02-01"]], dtype="datetime64[D]"),
        [],
        [(0, 1, 2)],
        5,
        [(-1e308, 1e308)],
        [(0, 5e-324)],
        None,
    ),
    "budget": (0, -1, 1.5, True, "10", 10**400, math.nan, [3], 7.0, np.int64(9)),
    "x0": ([99.0], [math.nan], [[0.1]], "x", [1j], [], object(), {}),
    "rng": (-1, 2**200, "seed", 1.5, [1, 2], object(), np.random.default_rng(3), np.random.SeedSequence(4)),
    "method": ("", "nothing", "x" * 5000, "../../etc/passwd", "a\0b", None, 3, sphere, "module:factory", "/dev/null"),
    "target": (math.nan, "1", [1], -math.inf, True),
    "max_seconds": (0, -1, math.nan, "1", math.inf),
    "timeout": (0, -1, math.nan, "1", 30.0),
    "on_error": ("ignore", None, 3, "raise"),
    "population_size": (0, -3, 1.5, "7", 10**400, 2),
    "callback": (3, lambda result: 1 / 0, raising(StopIteration()), lambda result: None),
    "args": (3, ("too many",), None),
    "vectorized": (True, "yes"),
    "checkpoint": (3, "/proc/nowhere/run.l2e", "", "a\0b"),
    "nonsense": (1,),
}


class Outcome(NamedTuple):
    """What came of one run."""

    number: int
    what: str
    odd: str
    text: str


def draw(number: int, seed: int) -> tuple[dict[str, Any], str, str]:
    """The options of a run, which of them are odd, and the name of its objective."""
    rng = np.random.default_rng((seed, number))
    dimension = int(rng.choice(DIMENSIONS))
    options: dict[str, Any] = {
        "bounds": [(-1.0, 2.0)] * dimension,
        "budget": int(rng.integers(1, 40)),
        "method": str(rng.choice(METHODS)),
        "rng": int(rng.integers(1000)),
    }
    answer = str(rng.choice(list(ANSWERS))) if rng.random() < 0.6 else "float"
    odd = [str(name) for name in rng.choice(list(ODD), rng.choice([0, 1, 1, 2]), replace=False)]
    for name in odd:
        choices = ODD[name]
        options[name] = choices[int(rng.integers(len(choices)))]
    return options, " ".join(sorted(odd)) or "nothing", answer


def play(number: int, seed: int) -> Outcome:
    """One run."""
    options, odd, answer = draw(number, seed)
    returned: list[Any] = []
    points: list[np.ndarray] = []

    def objective(x: np.ndarray, *more: Any) -> Any:
        points.append(np.array(x))
        value = ANSWERS[answer](x)
        returned.append(value)
        return value

    words = f"odd: {odd}; objective: {answer}"
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)  # of other libraries
            result = l2e.minimize(objective, **options)
    except BaseException as error:  # noqa: BLE001 - what this program is for
        return Outcome(number, judged(error, options), words, "".join(traceback.format_exception(error)))
    wrong = what_is_wrong(result, options, points, returned)
    return Outcome(number, f"wrong result: {wrong}" if wrong else "right result", words, repr(result))


def judged(error: BaseException, options: dict[str, Any]) -> str:
    """Which kind of error came out."""
    if isinstance(error, ZeroDivisionError) and options.get("callback") is not None:
        return "the callback's own error"
    if not isinstance(error, (*CLEAR, OSError)):
        return f"escaped: {type(error).__name__}"
    if "nonsense" in options:
        return "clear error"  # Python's own, which names the argument
    frames = traceback.extract_tb(error.__traceback__)
    return "clear error" if frames[-1].filename.startswith(PACKAGE) else f"foreign words: {type(error).__name__}"


def what_is_wrong(result: Any, options: dict[str, Any], points: list[np.ndarray], returned: list[Any]) -> str | None:
    """Why a result cannot be right, or None."""
    if options.get("vectorized"):
        return None
    low, high = np.asarray(options["bounds"], dtype=np.float64).T
    if result.nfev != len(points) or result.nfev > options["budget"]:
        return f"{result.nfev} evaluations counted, {len(points)} made, {options['budget']} allowed"
    if any(not ((low <= x) & (x <= high)).all() for x in points):
        return "a point outside of the box"
    numbers = [float(value) for value in returned if isinstance(value, float | np.floating) and math.isfinite(value)]
    if numbers and len(numbers) == len(returned) == len(points) and result.fun != min(numbers):
        return f"{result.fun} is not the best value, {min(numbers)}"
    return None


def main() -> int:
    """Play, count, show what must not be; 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="play only the run of this number, and show it")
    arguments = parser.parse_args()
    one = functools.partial(play, seed=arguments.seed)
    if arguments.only is not None:
        print(*one(arguments.only), sep="\n")
        return 0
    outcomes = [one(number) for number in range(arguments.runs)]
    for what, count in collections.Counter(outcome.what for outcome in outcomes).most_common():
        print(f"{count:6d}  {what}")
    bad = [outcome for outcome in outcomes if outcome.what.startswith(("wrong", "escaped"))]
    foreign = [outcome for outcome in outcomes if outcome.what.startswith("foreign")]
    for words, count in collections.Counter(outcome.text.splitlines()[-1] for outcome in foreign).most_common(10):
        print(f"{count:6d}  foreign words: {words}")
    for outcome in bad[:10]:
        print(f"\nrun {outcome.number}, {outcome.what}, {outcome.odd}\n{outcome.text[-1500:]}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
