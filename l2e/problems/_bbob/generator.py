"""COCO's legacy random generator: the numbers from which every official BBOB instance is made.

Hansen, Finck, Ros, Auger (2009), "Real-Parameter Black-Box Optimization Benchmarking 2009: Noiseless Functions
Definitions", RR-6829. An instance is a function of one integer seed; the generator is a minimal standard generator
whose numbers are shuffled by a table of 32 (Bays and Durham), so instances can be rebuilt anywhere, bit for bit.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

_MODULUS = 2**31 - 1
_MULTIPLIER = 16807
_WARM_UP = 40
_TABLE = 32
_TABLE_STEP = 67108865
_TINY = 1e-99  # stands for a zero, whose logarithm does not exist
_BLOCK = 64
_SECOND_STREAM = 1_000_000  # distance of the seeds of an instance's two rotations


class GallagherPeaks(NamedTuple):
    """The peaks of f21 and f22: places in the box, one diagonal curvature per peak, heights; the first is the best."""

    places: Float[ndarray, "p d"]
    curvatures: Float[ndarray, "p d"]
    heights: Float[ndarray, "p"]


def seed_of(function: int, instance: int) -> int:
    """The seed of an instance; f4 and f18 share the numbers of f3 and f17."""
    return {4: 3, 18: 17}.get(function, function) + 10_000 * instance


def uniform(n: int, seed: int) -> Float[ndarray, "n"]:
    """n numbers in (0, 1] for a seed."""
    seeds = _congruential(_WARM_UP + n, seed).tolist()
    table = seeds[_WARM_UP - _TABLE : _WARM_UP][::-1]  # filled from its end
    current, shuffled = table[0], []
    for fresh in seeds[_WARM_UP:]:
        place = current // _TABLE_STEP
        current = table[place]
        table[place] = fresh
        shuffled.append(current)
    numbers = np.array(shuffled, dtype=np.float64) / _MODULUS
    return np.where(numbers == 0, _TINY, numbers)


def gauss(n: int, seed: int) -> Float[ndarray, "n"]:
    """n normal numbers for a seed, by the cosine half of Box and Muller."""
    numbers = uniform(2 * n, seed)
    logs = np.array([math.log(number) for number in numbers[:n].tolist()])
    cosines = np.array([math.cos(angle) for angle in (2 * np.pi * numbers[n:]).tolist()])
    normal = np.sqrt(-2 * logs) * cosines
    return np.where(normal == 0, _TINY, normal)


def rotation(dimension: int, seed: int) -> Float[ndarray, "d d"]:
    """A random rotation: normal columns, made orthonormal one after another (modified Gram-Schmidt).

    All sums run in COCO's order, one number after another: the normal columns can be nearly dependent, and then
    another order of rounding would show in the values of f19, where it is magnified a millionfold. Columns are done
    in blocks that stay in the processor's cache.
    """
    normal = gauss(dimension * dimension, seed).reshape(dimension, dimension).T
    finished = np.empty((dimension, dimension))  # row j holds column j of the rotation
    for part in np.array_split(np.arange(dimension), -(-dimension // _BLOCK)):
        block = np.ascontiguousarray(normal[:, part])
        for j in range(part[-1] + 1):
            if j >= part[0]:
                column = block[:, j - part[0]]
                finished[j] = column / np.sqrt(np.cumsum(column * column)[-1])
            unit = finished[j][:, None]
            block -= unit * np.add.reduce(block * unit, axis=0)  # adds row by row; done columns are not used again
    return np.ascontiguousarray(finished.T)


def rotations(function: int, dimension: int, seed: int) -> tuple[Float[ndarray, "d d"], Float[ndarray, "d d"]]:
    """R, the rotation next to the point, and Q, in the order in which COCO takes them from the seed.

    A function that has no rotation gets identities, one that has a single rotation gets it twice.
    """
    if function in (1, 2, 3, 4, 5, 8, 20):
        return np.eye(dimension), np.eye(dimension)
    if function in (9, 10, 11, 12, 14, 19, 21, 22):
        only = rotation(dimension, seed + _SECOND_STREAM if function in (10, 11, 12, 14) else seed)
        return only, only
    first, second = rotation(dimension, seed), rotation(dimension, seed + _SECOND_STREAM)
    return (first, second) if function in (6, 7, 13, 23, 24) else (second, first)


def shift(function: int, dimension: int, seed: int) -> Float[ndarray, "d"]:
    """The shift on a grid of 0.0008 in [-4, 4], never zero."""
    stream = seed + _SECOND_STREAM if function == 12 else seed
    numbers = 8 * np.floor(1e4 * uniform(dimension, stream)) / 1e4 - 4
    return np.where(numbers == 0, -1e-5, numbers)


def signs(function: int, dimension: int, seed: int) -> Float[ndarray, "d"]:
    """The signs that mirror f20 (from uniform numbers) and f24 (from normal ones)."""
    numbers = uniform(dimension, seed) - 0.5 if function == 20 else gauss(dimension, seed)
    return np.where(numbers < 0, -1.0, 1.0)


def offset(function: int, instance: int) -> float:
    """The value of the optimum: a Cauchy number, rounded to two digits, within [-1000, 1000]."""
    seed = seed_of(function, instance)
    ratio = gauss(1, seed)[0] / gauss(1, seed + 1)[0]
    return float(np.clip(np.floor(1e4 * ratio + 0.5) / 100, -1000, 1000))


def gallagher_peaks(function: int, dimension: int, seed: int) -> GallagherPeaks:
    """The peaks of f21 (101 in [-5, 5]) or f22 (21 in [-4.9, 4.9])."""
    count, half_width, first_condition = (101, 5.0, np.sqrt(1e3)) if function == 21 else (21, 4.9, np.sqrt(1e6))
    order = _permutation(count - 1, seed)
    conditions = np.append(first_condition, 1e3 ** (order / (count - 2)))
    powers = np.stack([_permutation(dimension, seed + 1000 * i) for i in range(count)]) / (dimension - 1) - 0.5
    places = 2 * half_width * uniform(dimension * count, seed).reshape(count, dimension) - half_width
    places[0] *= 0.8
    heights = np.append(10.0, np.linspace(1.1, 9.1, count - 1))
    return GallagherPeaks(places, conditions[:, None] ** powers, heights)


def _permutation(n: int, seed: int) -> Int[ndarray, "n"]:
    return np.argsort(uniform(n, seed), kind="stable")


def _congruential(n: int, seed: int) -> Int[ndarray, "n"]:
    """seed * 16807**k modulo 2**31 - 1 for k = 1..n; the powers by doubling, as products stay below 2**62.

    Seeds above the modulus (instances above 214,000) are reduced first; the C code is not defined there.
    """
    start = max(1, seed % _MODULUS)
    powers = np.array([_MULTIPLIER], dtype=np.int64)
    while len(powers) < n:
        powers = np.concatenate([powers, powers * powers[-1] % _MODULUS])
    return powers[:n] * start % _MODULUS
