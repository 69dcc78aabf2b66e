"""`Optimizer`: the same searches with the loop in the user's hands."""

import os
import time
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from l2e import _saved_run
from l2e._result import collect
from l2e._setup import prepare, seconds, target_value
from l2e.catalog import DEFAULT_METHOD
from l2e.evaluator import BudgetExhausted, Evaluator, StopSearch
from l2e.optimizer import AbstractOptimizer
from l2e.program import AbstractProgram


class Optimizer:
    """A search by ask and tell.

    ```python
    opt = l2e.Optimizer(bounds=[(-5, 5)] * 10, method="cmaes", budget=2000, rng=0)
    while not opt.stop():
        points = opt.ask()                      # (n, d); the same batch until it is told
        opt.tell(points, [f(x) for x in points])
    opt.result().x
    ```

    **Arguments:** as in `minimize`. Only native methods can be driven so (`l2e methods` marks them).
    """

    def __init__(
        self,
        *,
        bounds: Any,
        method: str | AbstractOptimizer[Any] | AbstractProgram = DEFAULT_METHOD,
        budget: int = 10_000,
        x0: Any = None,
        rng: Any = None,
        population_size: int | None = None,
        target: float | None = None,
        max_seconds: float | None = None,
    ):
        setup = prepare(bounds, method, budget, x0, rng, population_size)
        driver = setup.driver()
        if driver is None:
            raise ValueError(f"method {setup.method!r} runs its own loop and has no ask/tell; use l2e.minimize")
        self._setup = setup
        self._meter = Evaluator(_not_called, setup.space, setup.budget)
        self._driver = driver
        self._target = target_value(target)
        self._max_seconds = seconds("max_seconds", max_seconds)
        self._began: float | None = None  # the clock starts with the first ask, after compilation

    @property
    def method(self) -> str:
        """The method's name."""
        return self._setup.method

    def ask(self) -> np.ndarray:
        """The next points to evaluate, shape (n, d), inside the box; never more than the budget has left.

        Asking again before `tell` gives the same batch, so a crashed evaluation may simply ask again.
        """
        reasons = self.stop()
        if "budget" in reasons:
            raise BudgetExhausted(f"all {self._setup.budget} evaluations are used")
        if reasons:
            raise StopSearch(f"the search is over: {reasons}")
        if self._began is None:
            self._began = time.monotonic()
        return self._batch()

    def tell(self, points: Any, values: Any) -> None:
        """Give the values of the batch last asked, in any order; NaN, None or an infinity marks a failed evaluation."""
        batch = self._batch()
        given = np.asarray(points, dtype=np.float64)
        numbers = np.asarray([np.nan if value is None else float(value) for value in np.ravel(np.asarray(values))])
        if given.shape != batch.shape or numbers.shape != (len(batch),):
            raise ValueError(
                f"tell needs the {len(batch)} points last asked, shape {batch.shape}, and {len(batch)} values; "
                f"got shapes {given.shape} and {numbers.shape}"
            )
        order = _match(batch, given)
        self._driver.tell(self._meter.record(given, numbers)[order])

    def stop(self) -> dict[str, Any]:
        """Reasons to stop, as a dict from name to fact; empty while the search should go on."""
        reasons: dict[str, Any] = {}
        if self._meter.remaining <= 0:
            reasons["budget"] = self._setup.budget
        if self._target is not None and self._meter.best_f <= self._target:
            reasons["target"] = self._target
        if self._driver.converged:
            reasons["converged"] = True
        began = time.monotonic() if self._began is None else self._began
        if self._max_seconds is not None and time.monotonic() - began >= self._max_seconds:
            reasons["max_seconds"] = self._max_seconds
        return reasons

    def result(self) -> OptimizeResult:
        """What was found so far, as scipy's `OptimizeResult`."""
        reason, fact = next(iter(self.stop().items()), ("running", None))
        message = "the search is going on" if reason == "running" else f"stopped by {reason}: {fact}"
        return collect(self._meter, self._setup.method, reason, message, self._driver)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole search to a file, from which `load` goes on exactly."""
        _saved_run.save_run(path, self._driver.state, self._meter.read(), self._facts)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, method: AbstractOptimizer[Any] | AbstractProgram | None = None
    ) -> "Optimizer":
        """Go on with a saved search. If it was begun with an optimizer object, that object is needed again."""
        facts = _saved_run.saved_search(path)
        fresh = cls(
            bounds=facts["bounds"],
            method=method or facts["method"],
            budget=facts["budget"],
            x0=facts["x0"],
            rng=_saved_run.saved_key(path),
            population_size=facts["population_size"],
            target=facts.get("target"),
            max_seconds=facts.get("max_seconds"),
        )
        fresh._meter.resume(_saved_run.load_run(path, fresh._driver, fresh._facts))
        return fresh

    def _batch(self) -> np.ndarray:
        return self._driver.ask()[: self._meter.remaining]

    @property
    def _facts(self) -> dict[str, Any]:
        return self._setup.facts | {"target": self._target, "max_seconds": self._max_seconds}


def _match(batch: np.ndarray, given: np.ndarray) -> np.ndarray:
    """For each asked point the row in which it was given."""
    if np.array_equal(batch, given):
        return np.arange(len(batch))
    places: dict[bytes, list[int]] = {}
    for row, point in enumerate(given):
        places.setdefault(point.tobytes(), []).append(row)
    order = []
    for i, point in enumerate(batch):
        rows = places.get(point.tobytes())
        if not rows:
            raise ValueError(f"point {i} of the batch last asked is not among the points told; tell what ask() gave")
        order.append(rows.pop(0))
    return np.asarray(order)


def _not_called(point: Any) -> float:
    raise AssertionError("the meter of an ask/tell search calls no function")
