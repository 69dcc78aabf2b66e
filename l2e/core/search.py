"""The contract of what runs a search on the host batch by batch, and the loop that does it."""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from l2e.core.evaluator import Evaluator


class Assessment(NamedTuple):
    """A method's own assessment of its run: a confidence, None if it was not measured, and the reasons for doubt."""

    confidence: float | None
    warnings: tuple[str, ...]


class Span(NamedTuple):
    """Evaluations that one part of a method spent: who, from and up to which evaluation, and why it ended."""

    part: str
    begin: int
    end: int
    reason: str


class Known(NamedTuple):
    """Evaluations that the search did not ask for, points (n, d) of the box and their finite values."""

    points: np.ndarray
    values: np.ndarray


class Recommendation(NamedTuple):
    """A point of the box that was evaluated several times: the median or mean of its values, its error, how many."""

    x: np.ndarray
    value: float
    error: float
    evaluations: int


class Noise(NamedTuple):
    """The evidence that values are uncertain: one point `x`, and the different `values` that it has got."""

    x: np.ndarray
    values: tuple[float, ...]

    @property
    def deviation(self) -> float:
        """Their standard deviation."""
        return float(np.std(self.values, ddof=1))

    @property
    def sentence(self) -> str:
        """The evidence in words."""
        shown = ", ".join(f"{value:.6g}" for value in self.values[:-1]) + f" and {self.values[-1]:.6g}"
        times = f"one point evaluated {len(self.values)} times gave {shown}"
        return f"values are noisy: {times} (standard deviation {self.deviation:.2g})"


@dataclasses.dataclass
class Account:
    """What a method writes down about its run while it searches."""

    notes: set[str] = dataclasses.field(default_factory=set)
    """Words for what it saw of the function."""
    spans: list[Span] = dataclasses.field(default_factory=list)
    """Who had which evaluations, in order."""
    multipliers: np.ndarray | None = None
    """Of the constraints at the best point, where the method knows them."""
    recommended: Recommendation | None = None
    """What the method recommends instead of the point with the lowest value, where values are uncertain."""
    noise: Noise | None = None
    """What showed that values are uncertain, where the method looked and found it."""
    known: list[Known] = dataclasses.field(default_factory=list)
    """What the method is told without having asked; it may be told more at any time."""
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)
    """What else it has to say about the run, by name."""


class AbstractSearch(ABC):
    """A search between two batches: it holds the points to evaluate next, none once it has converged."""

    _points: np.ndarray

    @abstractmethod
    def tell(self, values: np.ndarray) -> None:
        """Give the values of the batch, `+inf` for failed ones; a shorter vector counts as `+inf` at its end."""

    def ask(self) -> np.ndarray:
        """The batch to evaluate, shape (n, d); the same until `tell`; empty once converged."""
        return self._points.copy()

    @property
    def converged(self) -> bool:
        """Whether nothing more is to be expected."""
        return len(self._points) == 0

    @property
    def account(self) -> Account:
        """What the method wrote down about its run; nothing unless it keeps an account."""
        return Account()

    def know(self, known: Known) -> None:  # noqa: B027 - most methods have no use for it
        """Tell of evaluations that were not asked for; they may inform what is asked next."""

    @property
    def part(self) -> str:
        """Which part of the method asks for the batch; empty unless it keeps an account."""
        spans = self.account.spans
        return spans[-1].part if spans else ""

    def assess(self) -> Assessment | None:
        """The method's assessment of the run so far, or None if it makes none."""
        return None


def padded(values: np.ndarray, size: int) -> np.ndarray:
    """The values of a batch of this size, `+inf` where they are missing at its end."""
    given = np.asarray(values, dtype=np.float64)
    return given if len(given) == size else np.append(given, np.full(size - len(given), np.inf))


def run(search: AbstractSearch, evaluate: Evaluator) -> str:
    """Ask, evaluate and tell until the search has converged, and say so, or the evaluator raises `StopSearch`."""
    while not search.converged:
        evaluate.part = search.part
        search.tell(evaluate(search.ask()[: max(evaluate.remaining, 1)]))
    return "the method expects no further improvement"
