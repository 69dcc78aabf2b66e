"""The data of CEC'2013 LSGO: read from the official text files, or drawn from a seed by the same recipe.

X. Li, K. Tang, M. N. Omidvar, Z. Yang, K. Qin, "Benchmark Functions for the CEC'2013 Special Session and Competition
on Large-Scale Global Optimization", RMIT University, 2013.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

DIMENSIONS = {**dict.fromkeys(range(1, 16), 1000), **dict.fromkeys((13, 14), 905)}
"""The number of variables of each function; f13 and f14 lose five at each of their 19 overlaps."""
HALF_WIDTHS = {**dict.fromkeys(range(1, 16), 100.0), **dict.fromkeys((2, 5, 9), 5.0), **dict.fromkeys((3, 6, 10), 32.0)}
"""Each function is searched in [-w, w]^d."""
FEW = (50, 25, 25, 100, 50, 25, 25)
MANY = (50, 50, 25, 25, 100, 100, 25, 25, 50, 25, 100, 25, 100, 50, 25, 25, 25, 100, 50, 25)
SIZES = {**dict.fromkeys((4, 5, 6, 7), FEW), **dict.fromkeys((8, 9, 10, 11, 13, 14), MANY)}
"""The group sizes of the functions that have groups."""
OVERLAPS = {13: 5, 14: 5}
"""How many variables a group shares with the one before it."""
CONFLICTING = 14
"""The function whose groups each have their own optimum, also for the variables they share."""
ROSENBROCK = 12
"""The function whose file of shifts lies 1 below its optimum in each coordinate."""
ROTATED = (25, 50, 100)
"""The group sizes for which the official data have a rotation."""


class Groups(NamedTuple):
    """How the variables of a function fall into groups.

    **Fields:** `order`: the variables, counted from 0, in the order in which groups take them; `sizes`, `weights`: one
    per group; `rotations`: by group size.
    """

    order: np.ndarray
    sizes: tuple[int, ...]
    weights: np.ndarray
    rotations: dict[int, np.ndarray]


class Data(NamedTuple):
    """All numbers that define one function.

    **Fields:** `places`: the optimum, one number per variable; for f14 the optima of its groups, one after the other;
    `groups`: for the functions that have groups.
    """

    places: np.ndarray
    groups: Groups | None


def generate(function: int, seed: int) -> Data:
    """Draw data by the official recipe.

    Optima are normal around the centre of the box, with half its width as standard deviation, cut off at the box;
    weights are 10^(3 N(0, 1)); rotations and the order of variables are uniform. Group sizes are the official ones.
    """
    random = np.random.default_rng((2013, function, seed))
    sizes = SIZES.get(function)
    count = DIMENSIONS[function] if sizes is None or function != CONFLICTING else sum(sizes)
    places = HALF_WIDTHS[function] * _truncated_normal(random, count)
    if sizes is None:
        return Data(places, None)
    order = random.permutation(DIMENSIONS[function])
    weights = 10 ** (3 * random.standard_normal(len(sizes)))
    return Data(places, Groups(order, sizes, weights, {size: _rotation(random, size) for size in sorted(set(sizes))}))


def read(function: int, folder: Path) -> Data:
    """Read the official files of one function: `F4-xopt.txt`, `F4-p.txt`, `F4-s.txt`, `F4-w.txt`, `F4-R25.txt`, ...

    **Raises:** `FileNotFoundError` if the folder or a file is missing; `ValueError` if a file holds something else
    than it should.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; it should hold the CEC'2013 LSGO files F1-xopt.txt, ...")

    def numbers(what: str, count: int | None = None) -> np.ndarray:
        return _numbers(folder / f"F{function}-{what}.txt", count)

    dimension = DIMENSIONS[function]
    if function not in SIZES:
        places = numbers("xopt", dimension)
        return Data(places + 1 if function == ROSENBROCK else places, None)
    sizes = _sizes(function, folder / f"F{function}-s.txt", numbers("s"))
    places = numbers("xopt", sum(sizes) if function == CONFLICTING else dimension)
    order = _order(folder / f"F{function}-p.txt", numbers("p", dimension))
    weights = numbers("w", len(sizes))
    rotations = {size: numbers(f"R{size}", size * size).reshape(size, size) for size in sorted(set(sizes))}
    return Data(places, Groups(order, sizes, weights, rotations))


def taken(sizes: Sequence[int], overlap: int) -> int:
    """How many variables groups of these sizes take when each shares some with the one before it."""
    return sum(sizes) - overlap * (len(sizes) - 1)


def _truncated_normal(random: np.random.Generator, count: int) -> np.ndarray:
    """Standard normal numbers, those outside [-1, 1] drawn again."""
    numbers = random.standard_normal(count)
    while (outside := np.abs(numbers) > 1).any():
        numbers[outside] = random.standard_normal(outside.sum())
    return numbers


def _rotation(random: np.random.Generator, size: int) -> np.ndarray:
    """A uniformly distributed orthogonal matrix: Gram-Schmidt of normal numbers, as a QR decomposition."""
    q, r = np.linalg.qr(random.standard_normal((size, size)))
    return q * np.sign(np.diag(r))


def _numbers(path: Path, count: int | None) -> np.ndarray:
    """All numbers of a file, separated by commas, blanks or lines."""
    try:
        words = path.read_text(errors="replace").replace(",", " ").split()
    except OSError as error:
        raise FileNotFoundError(f"cannot read {path}: {error.strerror}") from error
    values = np.asarray([_number(path, word) for word in words])
    if not np.isfinite(values).all():
        raise ValueError(f"{path} holds a number that is not finite")
    if count is not None and len(values) != count:
        raise ValueError(f"{path} must hold {count} numbers, found {len(values)}")
    return values


def _number(path: Path, word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{path} must hold numbers only, found {word[:40]!r}") from None


def _sizes(function: int, path: Path, values: np.ndarray) -> tuple[int, ...]:
    if not np.isin(values, ROTATED).all():
        raise ValueError(f"{path} must hold group sizes of 25, 50 or 100, found {values.tolist()}")
    sizes, dimension = tuple(int(value) for value in values), DIMENSIONS[function]
    count = taken(sizes, OVERLAPS.get(function, 0))
    partial = SIZES[function] is FEW
    if count > dimension or not (partial or count == dimension) or not sizes:
        expected = f"some of the {dimension}" if partial else f"all {dimension}"
        raise ValueError(f"{path} must hold group sizes that take {expected} variables, found ones that take {count}")
    return sizes


def _order(path: Path, values: np.ndarray) -> np.ndarray:
    if not np.array_equal(np.sort(values), np.arange(1, len(values) + 1)):
        raise ValueError(f"{path} must hold each of the numbers 1 to {len(values)} once")
    return values.astype(np.int64) - 1
