"""The test problems of the paper's BBOB-surrogate-10D: true BBOB functions, other instances than those of BBOB-10D.

On the benchmark platform that the paper used, only the training half of this suite holds networks; its test half holds
the functions themselves. For each of f1, f2, ..., f24 in turn the platform draws a placement, constructs the function
for the network's sake, creates the network, and constructs the function once more for the test. Some of the networks
are KANs, and creating a KAN seeds numpy with 1, which is why several functions share their shift and their offset.
"""

from numpy.random import RandomState

from l2e.problems._bbob.paper import SEED, Extras, Placement, draw_extras, draw_placement, instance
from l2e.problems._bbob.suite import BBOB, check_function

DIMENSION = 10

PAPER_SURROGATE_TEST = (3, 4, 7, 8, 9, 12, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24)
"""The functions of the paper's table, in the order of its columns."""

_KANS = (1, 2, 4, 6, 9, 12, 14, 23)
"""The functions whose network is a KAN on the platform."""

_KAN_SEED = 1


def paper_surrogate(function: int) -> BBOB:
    """The paper's instance of a BBOB function in its BBOB-surrogate-10D, ten dimensions.

    ```python
    problem = l2e.problems.paper_surrogate(function=3)
    problem.optimum.f  # 2500
    ```

    **Arguments:** `function`: 1 to 24; the paper's table has the 16 of `PAPER_SURROGATE_TEST`.

    **Raises:** `ValueError` or `TypeError` for anything else.
    """
    function = check_function(function)
    stream = RandomState(SEED)
    for earlier in range(1, function):
        *_, stream = _draw(earlier, stream)
    placement, extras, _ = _draw(function, stream)
    return instance(function, placement, extras)


def _draw(function: int, stream: RandomState) -> tuple[Placement, Extras, RandomState]:
    """What the function of the test is made of, and the stream from which the next function is drawn."""
    placement = draw_placement(DIMENSION, stream)
    draw_extras(function, placement.shift, stream)
    if function in _KANS:
        stream = RandomState(_KAN_SEED)
    if function == 8:  # its first construction scales the shift in place
        placement = placement._replace(shift=0.75 * placement.shift)
    return placement, draw_extras(function, placement.shift, stream), stream
