"""A space of named parameters, and the box of coordinates in which it is searched."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from l2e.core.box import Box, box
from l2e.core.errors import unknown
from l2e.core.lattice import MixedBox, Steps
from l2e.core.parameters import Fixed, Parameter, parameter

BETWEEN = "."
"""Between the names of nested parameters."""


class Space:
    """Named parameters of all kinds.

    ```python
    space = l2e.Space(lr=l2e.Log(1e-6, 1), layers=l2e.Int(1, 20), solver=l2e.Choice("a", "b"), momentum=(0, 1), seed=7)
    ```

    **Arguments:** parameters by name, or a mapping of them, or both; a mapping inside is a group of parameters, which
    comes back as a dictionary. A parameter is `Float`, `Log`, `Int`, `Choice`, `Bool`, `Unbounded`, a pair
    `(low, high)` for a float, or any other value, which is fixed. Equal ends make a fixed value, too.
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None, /, **named: Any):
        self.parameters: dict[str, Parameter] = dict(_flattened({**(parameters or {}), **named}, ()))
        """Each parameter by its full name, nested ones as `group.name`."""
        if not self.free:
            raise ValueError("a space needs at least one parameter that is not fixed")
        self.box = _box(self.free)
        """The box of coordinates in which the space is searched."""

    @property
    def free(self) -> dict[str, Parameter]:
        """The parameters that are not fixed."""
        return {name: one for name, one in self.parameters.items() if not isinstance(one, Fixed)}

    def __repr__(self) -> str:
        return f"Space({', '.join(f'{name}={one!r}' for name, one in self.parameters.items())})"

    def params(self, point: np.ndarray) -> dict[str, Any]:
        """The parameters that a point of the box stands for, nested as they were given."""
        values: dict[str, Any] = {}
        for name, one, columns in self._columns():
            _put(values, name, one.decode(np.asarray(point)[columns]))
        return values

    def vector(self, point: np.ndarray) -> np.ndarray:
        """One number for each free parameter: its value, or its option's place among the options."""
        free = [(one, columns) for _, one, columns in self._columns() if not isinstance(one, Fixed)]
        return np.asarray([one.number(one.decode(np.asarray(point)[columns])) for one, columns in free])

    def point(self, given: Any) -> np.ndarray:
        """The point of the box for parameters as a dictionary, nested or by full names, or as a vector of numbers.

        **Raises:** `ValueError` that names the parameter that is missing, unknown, or has a value it cannot have.
        """
        if not isinstance(given, Mapping):
            given = self._from_vector(given)
        flat = dict(_flat_values(given, self.parameters))
        for name in flat:
            if name not in self.parameters:
                raise unknown("parameter", name, self.parameters)
        coordinates: list[float] = []
        for name, one in self.parameters.items():
            if name not in flat and not isinstance(one, Fixed):
                raise ValueError(f"parameter {name!r} is missing")
            coordinates += _encode(name, one, flat[name]) if name in flat else []
        return np.clip(coordinates, self.box.lower, self.box.upper)

    def _from_vector(self, given: Any) -> dict[str, Any]:
        numbers = np.asarray(given, dtype=np.float64)
        if numbers.shape != (len(self.free),):
            raise ValueError(f"a vector of parameters has one number for each of {', '.join(self.free)}; got {given!r}")
        pairs = zip(self.free.items(), numbers.tolist(), strict=True)
        return {name: _named(name, one.from_number, number) for (name, one), number in pairs}

    def _columns(self) -> Iterator[tuple[str, Parameter, slice]]:
        first = 0
        for name, one in self.parameters.items():
            yield name, one, slice(first, first + len(one.ends))
            first += len(one.ends)


def _flattened(given: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, Parameter]]:
    for key, one in given.items():
        if not isinstance(key, str) or not key or BETWEEN in key:
            raise ValueError(f"names of parameters are words without {BETWEEN!r}, got {key!r}")
        path = (*above, key)
        if isinstance(one, Mapping):
            yield from _flattened(one, path)
        else:
            yield BETWEEN.join(path), _named(BETWEEN.join(path), parameter, one)


def _flat_values(given: Mapping[str, Any], known: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in given.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and name not in known:
            yield from _flat_values(value, known, f"{name}{BETWEEN}")
        else:
            yield name, value


def _named(name: str, make: Any, given: Any) -> Any:
    try:
        return make(given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"parameter {name!r}: {error}") from error


def _encode(name: str, one: Parameter, value: Any) -> list[float]:
    try:
        return one.encode(value)
    except ValueError as error:
        raise ValueError(f"parameter {name!r} {error}") from error


def _put(values: dict[str, Any], name: str, value: Any) -> None:
    *groups, last = name.split(BETWEEN)
    for group in groups:
        values = values.setdefault(group, {})
    values[last] = value


def _box(free: Mapping[str, Parameter]) -> Box:
    """The box of the free parameters, with what is known of its coordinates."""
    ends: list[tuple[float, float]] = []
    steps: dict[int, Steps] = {}
    groups: list[tuple[int, ...]] = []
    for one in free.values():
        places = one.steps
        if places is not None:
            steps[len(ends)] = places
        elif len(one.ends) > 1:
            groups.append(tuple(range(len(ends), len(ends) + len(one.ends))))
        ends += one.ends
    plain = box(ends)
    return MixedBox(plain.lower, plain.upper, steps, tuple(groups)) if steps or groups else plain
