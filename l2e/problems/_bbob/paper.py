"""The BBOB instances of the L2E paper: one fixed instance per function, drawn from one numpy stream.

They come from the benchmark platform that the paper used, so its tables are about exactly these functions. The
formulas are those of BBOB, but f2, f3 and f4 are rotated, and shifts, rotations and offsets are not COCO's: all are
drawn in the order f1, f2, ..., f24 from numpy's Mersenne twister with seed 3849, which starts anew per dimension.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.random import RandomState

from l2e.problems._bbob.generator import GallagherPeaks
from l2e.problems._bbob.parameters import PEAKED, parameters, peaks_around
from l2e.problems._bbob.suite import BBOB, check_function, check_integer, place, search_box

PAPER_TRAIN = (1, 2, 3, 5, 15, 16, 17, 21)
"""The functions on which the paper trains."""

PAPER_TEST = (4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 18, 19, 20, 22, 23, 24)
"""The functions of the paper's tables, in the order of its columns."""

PAPER_NAMES = (
    "Sphere",
    "Ellipsoidal",
    "Rastrigin",
    "Buche_Rastrigin",
    "Linear_Slope",
    "Attractive_Sector",
    "Step_Ellipsoidal",
    "Rosenbrock_original",
    "Rosenbrock_rotated",
    "Ellipsoidal_high_cond",
    "Discus",
    "Bent_Cigar",
    "Sharp_Ridge",
    "Different_Powers",
    "Rastrigin_F15",
    "Weierstrass",
    "Schaffers",
    "Schaffers_high_cond",
    "Composite_Grie_rosen",
    "Schwefel",
    "Gallagher_101Peaks",
    "Gallagher_21Peaks",
    "Katsuura",
    "Lunacek_bi_Rastrigin",
)
"""The names of f1, f2, ..., f24 in the paper."""

SEED = 3849
"""Of the stream."""

_TWO_ROTATIONS = (6, 7, 13, 15, 16, 17, 18, 23, 24)
_SIGNED = (20, 24)
_SHRINK = {21: 1.0, 22: 0.98}
_FIRST_CONDITION = {21: 1e3, 22: 1e6}
_PEAK_COUNT = {21: 101, 22: 21}


class Placement(NamedTuple):
    """What every function takes from the stream first; the rotation as the normal numbers it is made of."""

    shift: Float[ndarray, "d"]
    rotation: Float[ndarray, "m"]
    bias: float


class Extras(NamedTuple):
    """What some functions take from the stream when they are constructed, in this order."""

    signs: Float[ndarray, "d"] | None
    peaks: GallagherPeaks | None
    rotation: Float[ndarray, "m"] | None


def paper_bbob(function: int, dimension: int = 10) -> BBOB:
    """The paper's instance of a BBOB function; its tables use 10 and 30 dimensions.

    **Arguments:** `function`: 1 to 24; `dimension`: from 2.

    **Raises:** `ValueError` or `TypeError` for anything else.
    """
    function, dimension = check_function(function), check_integer("dimension", dimension, 2)
    stream = RandomState(SEED)
    for earlier in range(1, function):
        draw_extras(earlier, draw_placement(dimension, stream).shift, stream)
    placement = draw_placement(dimension, stream)
    return instance(function, placement, draw_extras(function, placement.shift, stream))


def draw_placement(dimension: int, stream: RandomState) -> Placement:
    """Take shift, rotation and offset from the stream; building the rotation is left to `instance`."""
    shift = 0.8 * (10 * stream.random_sample(dimension) - 5)
    return Placement(shift, stream.normal(size=_normals(dimension)), 100.0 * stream.randint(1, 26))


def draw_extras(function: int, shift: Float[ndarray, "d"], stream: RandomState) -> Extras:
    """Take what the construction of a function takes from the stream."""
    signs = stream.choice([-1.0, 1.0], size=len(shift)) if function in _SIGNED else None
    peaks = _draw_peaks(function, shift, stream) if function in PEAKED else None
    return Extras(signs, peaks, stream.normal(size=_normals(len(shift))) if function in _TWO_ROTATIONS else None)


def instance(function: int, placement: Placement, extras: Extras) -> BBOB:
    """A function from what was drawn for it."""
    dimension = len(placement.shift)
    first = _rotation(placement.rotation, dimension)
    second = first if extras.rotation is None else _rotation(extras.rotation, dimension)
    peaks = None
    if extras.peaks is not None:
        peaks, x_opt = peaks_around(*extras.peaks, first), extras.peaks.places[0]
    else:
        x_opt = place(function, placement.shift if extras.signs is None else extras.signs, first)
    drawn = parameters(function, (x_opt, np.asarray(placement.bias)), (first, second), peaks, rotated=True)
    return BBOB(search_box(dimension), drawn, function, PAPER_NAMES[function - 1])


def _normals(dimension: int) -> int:
    """How many normal numbers a rotation is made of."""
    return dimension * (dimension + 1) // 2 - 1


def _draw_peaks(function: int, shift: Float[ndarray, "d"], stream: RandomState) -> GallagherPeaks:
    count, shrink, dimension = _PEAK_COUNT[function], _SHRINK[function], len(shift)
    places = shrink * (10 * stream.random_sample((count, dimension)) - 5)
    places[0] = shrink * shift
    conditions = 1e3 ** stream.permutation(np.linspace(0, 1, count - 1))
    conditions = np.append(np.sqrt(_FIRST_CONDITION[function]), conditions)
    powers = np.linspace(-0.5, 0.5, dimension)
    curvatures = np.stack([stream.permutation(condition**powers) for condition in conditions])
    return GallagherPeaks(places, curvatures, np.append(10.0, np.linspace(1.1, 9.1, count - 1)))


def _rotation(normals: Float[ndarray, "m"], dimension: int) -> Float[ndarray, "d d"]:
    """A product of Householder reflections of vectors of length d, d-1, ..., 2, with signs that make it Haar."""
    product, signs = np.eye(dimension), np.ones(dimension)
    vectors = np.split(normals, np.cumsum(np.arange(dimension, 2, -1)))
    for n, normal in enumerate(vectors):
        vector = normal.copy()
        signs[n] = np.sign(vector[0])
        vector[0] -= signs[n] * np.sqrt(np.sum(vector * vector))
        tail = product[:, n:]
        tail -= np.outer(tail @ vector, vector) * (2 / np.sum(vector * vector))
    signs[-1] = (-1) ** (1 - dimension % 2) * np.prod(signs)
    return signs[:, None] * product
