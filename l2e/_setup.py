"""What `minimize` and `Optimizer` are told, checked at the door."""

import hashlib
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from l2e import _runtime, catalog
from l2e._space import Box, box
from l2e.catalog import Searcher
from l2e.contestant import AbstractContestant
from l2e.driver import AbstractDriver, search
from l2e.evaluator import Evaluator
from l2e.optimizer import AbstractOptimizer
from l2e.program import AbstractProgram, ProgramDriver
from l2e.solve import Driver


@dataclass(frozen=True)
class Setup:
    """A search ready to begin."""

    space: Box
    method: str
    searcher: Searcher
    budget: int
    key: jax.Array
    start: np.ndarray | None
    population_size: int | None

    def driver(self) -> AbstractDriver | None:
        """What runs the searcher batch by batch, or None if it runs a loop of its own."""
        _runtime.refuse_tracing()
        if isinstance(self.searcher, AbstractProgram):
            return ProgramDriver(self.searcher, self.space, self.seed, self.budget, self.start)
        if isinstance(self.searcher, AbstractContestant):
            return None
        return Driver(self.searcher, self.space, self.key, self.start)

    def search(self, evaluate: Evaluator, driver: AbstractDriver | None = None) -> str:
        """Run the searcher until it ends by itself, and say why; `StopSearch` of the evaluator comes through.

        **Arguments:** `evaluate`: the meter; `driver`: the one to run, if it is to be asked afterwards.
        """
        driver = driver or self.driver()
        if driver is not None:
            return search(driver, evaluate)
        assert isinstance(self.searcher, AbstractContestant)
        return self.searcher.run(evaluate, self.space, self.seed, self.start)

    @property
    def facts(self) -> dict[str, Any]:
        """What makes two searches the same, for checkpoints; plain JSON."""
        bounds = np.stack([np.asarray(self.space.lower), np.asarray(self.space.upper)], axis=1)
        return {
            "method": self.method,
            "bounds": bounds.tolist(),
            "budget": self.budget,
            "key": np.asarray(jax.random.key_data(self.key)).tolist(),
            "x0": None if self.start is None else self.start.tolist(),
            "population_size": self.population_size,
            "searcher": _fingerprint(self.searcher),
        }

    @property
    def seed(self) -> int:
        """An integer seed for searchers that want one, drawn from the key."""
        with _runtime.float64():
            return int(jax.random.bits(self.key, dtype=np.uint32) >> 1)


def prepare(
    bounds: Any, method: Any, budget: Any, x0: Any = None, rng: Any = None, population_size: Any = None
) -> Setup:
    """Check everything a search is told; errors say what was given and what is allowed."""
    space = box(bounds)
    evaluations = _positive("budget", budget)
    size = None if population_size is None else _positive("population_size", population_size)
    name, searcher = _searcher(method, space.dimension, evaluations, size)
    return Setup(space, name, searcher, evaluations, _runtime.as_key(rng), _start(x0, space), size)


def _searcher(method: Any, dimension: int, budget: int, size: int | None) -> tuple[str, Searcher]:
    if isinstance(method, AbstractOptimizer | AbstractContestant):
        if size is not None:
            raise ValueError("population_size goes with a method's name; an optimizer object has its own")
        return type(method).__name__, method
    if not isinstance(method, str):
        raise TypeError(f"method must be a name or an optimizer, got {type(method).__name__}")
    return method, catalog.method(method).build(dimension, budget, size)


def _fingerprint(searcher: Searcher) -> str:
    """A digest of all fields of a searcher, so that a saved search is not continued by another one."""
    arrays, static = _runtime.split(searcher)
    digest = hashlib.sha256(repr((type(searcher).__qualname__, static.facts)).encode())
    for array in arrays:
        digest.update(np.asarray(array).tobytes())
    return digest.hexdigest()[:16]


def seconds(what: str, given: Any) -> float | None:
    """A positive number of seconds, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float | np.number):
        raise TypeError(f"{what} must be a number of seconds, got {given!r}")
    if not (np.isfinite(given) and given > 0):
        raise ValueError(f"{what} must be a positive number of seconds, got {given}")
    return float(given)


def target_value(given: Any) -> float | None:
    """A number to reach, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float | np.number):
        raise TypeError(f"target must be a number, got {given!r}")
    if np.isnan(given):
        raise ValueError("target must be a number, got NaN")
    return float(given)


def _positive(what: str, given: Any) -> int:
    whole = isinstance(given, int | np.integer) or (isinstance(given, float) and given.is_integer())
    if isinstance(given, bool) or not whole:
        raise TypeError(f"{what} must be a whole number, got {given!r}")
    if given < 1:
        raise ValueError(f"{what} must be at least 1, got {given}")
    return int(given)


def _start(x0: Any, space: Box) -> np.ndarray | None:
    if x0 is None:
        return None
    start = np.asarray(x0, dtype=np.float64)
    if start.shape != (space.dimension,):
        raise ValueError(f"x0 must have shape ({space.dimension},), got {start.shape}")
    if not np.isfinite(start).all():
        raise ValueError("x0 must hold finite numbers only")
    outside = np.flatnonzero((start < space.lower) | (start > space.upper))
    if outside.size:
        i = int(outside[0])
        raise ValueError(f"x0[{i}] = {start[i]} is outside its bounds ({space.lower[i]}, {space.upper[i]})")
    return start
