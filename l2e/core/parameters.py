"""The kinds of parameters a space is made of, and the coordinates that stand for each.

A parameter is searched as zero or more coordinates: none if it is fixed, as many as options for a category of three or
more, else one. `decode` gives the value that coordinates stand for, `encode` the reverse.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from l2e.core.answers import description
from l2e.core.lattice import Steps

MOST_STEPS = 2**53
"""Places of a stepped parameter; beyond, floats no longer count."""

FARTHEST = 1 - 1e-9
"""How close the coordinate of an unbounded parameter comes to 1, where it would be infinite."""

SLACK = 1e-9
"""A value may miss its place or bound by this share of the step or width: decimal fractions are not exact."""


class Parameter(ABC):
    """One parameter of a space."""

    @property
    @abstractmethod
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Bounds of its coordinates."""

    @property
    def steps(self) -> Steps | None:
        """Its places, if its one coordinate is stepped."""
        return None

    @abstractmethod
    def decode(self, coordinates: np.ndarray) -> Any:
        """The value that coordinates stand for."""

    @abstractmethod
    def encode(self, value: Any) -> list[float]:
        """Coordinates of a value.

        **Raises:** `ValueError` for a value that is not allowed.
        """

    def number(self, value: Any) -> float:
        """The value as a number, for vectors: an option's place among its options, others as they are."""
        return float(value)

    def from_number(self, number: float) -> Any:
        """The value of a number, the reverse."""
        return number


@dataclasses.dataclass(frozen=True)
class Fixed(Parameter):
    """A value that is not searched, but handed to the function with the rest."""

    value: Any

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        return ()

    def decode(self, coordinates: np.ndarray) -> Any:
        return self.value

    def encode(self, value: Any) -> list[float]:
        if not same(value, self.value):
            raise ValueError(f"is fixed at {description(self.value)}, got {description(value)}")
        return []


@dataclasses.dataclass(frozen=True)
class Float(Parameter):
    """A number between two ends; with `step`, one of low, low + step, ... up to `high`."""

    low: float
    high: float
    step: float | None = None

    def __post_init__(self) -> None:
        _check_ends(self, self.low, self.high)
        _check_step(self, self.step)

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        places = self.steps
        return ((float(self.low), float(self.high)) if places is None else places.ends,)

    @property
    def steps(self) -> Steps | None:
        if self.step is None:
            return None
        return Steps(float(self.low), float(self.step), _count(self.low, self.high, self.step))

    def decode(self, coordinates: np.ndarray) -> float:
        if self.step is None:
            return float(coordinates[0])
        return float(self.low + _index(self.steps, coordinates[0]) * self.step)

    def encode(self, value: Any) -> list[float]:
        return [_inside(value, self.low, self.high)]


@dataclasses.dataclass(frozen=True)
class Log(Parameter):
    """A positive number between two ends, searched as its logarithm."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_ends(self, self.low, self.high)
        _check_positive(self, self.low)

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        return ((math.log(self.low), math.log(self.high)),)

    def decode(self, coordinates: np.ndarray) -> float:
        return min(max(math.exp(coordinates[0]), float(self.low)), float(self.high))

    def encode(self, value: Any) -> list[float]:
        return [math.log(_inside(value, self.low, self.high))]


@dataclasses.dataclass(frozen=True)
class Int(Parameter):
    """A whole number between two ends, which are included: low, low + step, ... With `log` by its logarithm."""

    low: int
    high: int
    step: int = 1
    log: bool = False

    def __post_init__(self) -> None:
        for end in (self.low, self.high, self.step):
            if isinstance(end, bool) or not isinstance(end, int | np.integer):
                raise TypeError(f"{self}: the ends and the step of an integer are whole numbers")
        _check_ends(self, self.low, self.high)
        _check_step(self, self.step)
        if self.log:
            _check_positive(self, self.low)

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        return (self.steps.ends,)

    @property
    def steps(self) -> Steps:
        return Steps(float(self.low), float(self.step), _count(self.low, self.high, self.step), self.log)

    def decode(self, coordinates: np.ndarray) -> int:
        return int(self.low) + _index(self.steps, coordinates[0]) * int(self.step)

    def encode(self, value: Any) -> list[float]:
        number = _inside(value, self.low, self.high)
        if number != round(number):
            raise ValueError(f"must be a whole number, got {description(value)}")
        return [math.log(number) if self.log else number]

    def from_number(self, number: float) -> Any:
        return round(number) if number == round(number) else number


class Choice(Parameter):
    """One of several options, whatever they are; with `ordered`, neighbours in the list are taken to be alike."""

    def __init__(self, *options: Any, ordered: bool = False):
        if len(options) < 2:
            raise ValueError(f"a choice has two or more options, got {description(list(options))}; write Choice(a, b)")
        for i, option in enumerate(options):
            if any(same(option, other) for other in options[:i]):
                raise ValueError(f"the option {description(option)} of a choice is there twice")
        self.options = options
        self.ordered = ordered

    def __repr__(self) -> str:
        order = ", ordered=True" if self.ordered else ""
        return f"{type(self).__name__}({', '.join(map(description, self.options))}{order})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and (self.options, self.ordered) == (other.options, other.ordered)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # options may have none

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        places = self.steps
        return ((0.0, 1.0),) * len(self.options) if places is None else (places.ends,)

    @property
    def steps(self) -> Steps | None:
        return Steps(0.0, 1.0, len(self.options)) if self.ordered or len(self.options) == 2 else None

    def decode(self, coordinates: np.ndarray) -> Any:
        places = self.steps
        chosen = int(np.argmax(coordinates)) if places is None else _index(places, coordinates[0])
        return self.options[chosen]

    def encode(self, value: Any) -> list[float]:
        index = self._find(value)
        if self.steps is not None:
            return [float(index)]
        return [float(i == index) for i in range(len(self.options))]

    def number(self, value: Any) -> float:
        return float(self._find(value))

    def from_number(self, number: float) -> Any:
        index = round(number)
        if index != number or not 0 <= index < len(self.options):
            raise ValueError(f"must be the place of an option, 0 to {len(self.options) - 1}, got {number:g}")
        return self.options[index]

    def _find(self, value: Any) -> int:
        for i, option in enumerate(self.options):
            if same(option, value):
                return i
        raise ValueError(f"must be one of {description(list(self.options))}, got {description(value)}")


class Bool(Choice):
    """True or False."""

    def __init__(self) -> None:
        super().__init__(False, True)

    def __repr__(self) -> str:
        return "Bool()"


@dataclasses.dataclass(frozen=True)
class Unbounded(Parameter):
    """Any number: about `around`, give or take `scale`, but far values are reached too, up to 10^9 scales away.

    It is searched as u between -1 and 1, with the value around + 2 scale u / (1 - u^2).
    """

    around: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.around) and np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"{self}: around must be finite, and scale finite and positive")

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        return ((-FARTHEST, FARTHEST),)

    def decode(self, coordinates: np.ndarray) -> float:
        u = float(coordinates[0])
        return self.around + 2 * self.scale * u / ((1 - u) * (1 + u))

    def encode(self, value: Any) -> list[float]:
        t = (_number(value) - self.around) / self.scale
        u = t / (1 + math.hypot(1, t))
        if abs(u) > FARTHEST:
            raise ValueError(f"is more than 10^9 scales away from {self.around:g}: {value!r}")
        return [u]


def parameter(given: Any) -> Parameter:
    """What people write as a parameter: one of the kinds here, a pair `(low, high)` of numbers, or a fixed value."""
    if isinstance(given, Parameter):
        return _or_fixed(given)
    if isinstance(given, tuple):
        if len(given) == 2 and all(_is_number(end) for end in given):
            return _or_fixed(Float(*given))
        raise ValueError(
            f"{description(given)} is no parameter: a pair (low, high) of numbers is a float; Choice(...) has options; "
            "Fixed(...) holds a tuple that is not to be searched"
        )
    return Fixed(given)


def _or_fixed(given: Parameter) -> Parameter:
    """A parameter, or its only value if its ends are equal."""
    if isinstance(given, Float | Log | Int) and given.low == given.high:
        return Fixed(given.low)
    return given


def same(first: Any, second: Any) -> bool:
    """Whether two values are the same, also as types: True is not 1, and 1.0 is 1."""
    if isinstance(first, bool | np.bool_) != isinstance(second, bool | np.bool_):
        return False
    try:
        return bool(first is second or first == second)
    except (TypeError, ValueError):  # arrays, which are equal in every element or not
        return bool(np.array_equal(first, second))


def _is_number(thing: Any) -> bool:
    return isinstance(thing, int | float | np.integer | np.floating) and not isinstance(thing, bool)


def _number(value: Any) -> float:
    if not _is_number(value) or not np.isfinite(value):
        raise ValueError(f"must be a finite number, got {description(value)}")
    return float(value)


def _inside(value: Any, low: float, high: float) -> float:
    number = _number(value)
    slack = SLACK * (high - low)
    if not low - slack <= number <= high + slack:
        raise ValueError(f"must be between {low} and {high}, got {description(value)}")
    return min(max(number, float(low)), float(high))


def _index(steps: Steps | None, place: float) -> int:
    assert steps is not None
    value = math.exp(place) if steps.log else place
    return min(max(round((value - steps.low) / steps.step), 0), steps.count - 1)


def _count(low: float, high: float, step: float) -> int:
    return math.floor((high - low) / step + SLACK) + 1


def _check_ends(whole: Any, low: Any, high: Any) -> None:
    if not (_is_number(low) and _is_number(high) and np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{whole}: both ends must be finite numbers; without bounds it is Unbounded(around, scale)")
    if low > high:
        raise ValueError(f"{whole}: the lower end must not be above the upper end")


def _check_positive(whole: Any, low: float) -> None:
    if not low > 0:
        raise ValueError(f"{whole}: a logarithm needs a positive lower end")


def _check_step(whole: Any, step: Any) -> None:
    if step is None:
        return
    if not (_is_number(step) and np.isfinite(step) and step > 0):
        raise ValueError(f"{whole}: the step must be a positive number")
    if (whole.high - whole.low) / step >= MOST_STEPS:
        raise ValueError(f"{whole}: there are more steps than can be counted")
