"""What the experts of one search share: evaluations so far, those that are left, random numbers, and the trace.

A search is a generator: it yields batches of points and is sent their values. So whoever drives it owns the loop (a
function to minimise, or ask and tell), and the experts read as if they called the function themselves. All of them
work in the cube [-5, 5]^D onto which the box is mapped, so lengths mean the same on every box.
"""

from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from l2e.core.search import Account, Span
from l2e.portfolio.policy import CROSS_TERMS_UP_TO, LARGE_ABOVE, Policy
from l2e.portfolio.reasons import Reason

HALF = 5.0
WIDTH = 2 * HALF
"""The working cube is [-HALF, HALF]^D; WIDTH is the length of its edges."""

HUGE = 1e100
"""Values beyond this are compressed before experts compute with them: their squares must be numbers, too."""

LONGEST_REASON = 200
"""Letters of an exception's text that the trace keeps."""

MEMORY_PER_TERM, MEMORY_PER_DIMENSION, MEMORY_EXTRA = 4, 10, 300
"""Evaluations kept for models: per coefficient of a quadratic with cross terms, or per dimension where it has none,
and some more."""

Outcome = TypeVar("Outcome")
Batches: TypeAlias = Generator[np.ndarray, np.ndarray, np.ndarray]
Steps: TypeAlias = Generator[np.ndarray, np.ndarray, Reason | None]
"""A step of an expert: it ends with None to go on, or with the reason to stop."""


class ExpertError(ArithmeticError):
    """An expert asked for a point that is not one."""


class Run:
    """The state that all experts of one search share.

    **Arguments:** `dimension`, `budget`: of the search; `rng`: the only source of random numbers; `policy`: the
    decisions; `account`: where notes on the function and the trace are written; `workers`: how many points are
    evaluated at once.
    """

    def __init__(
        self,
        dimension: int,
        budget: int,
        rng: np.random.Generator,
        policy: Policy | None = None,
        account: Account | None = None,
        workers: int = 1,
    ):
        self.dimension = dimension
        self.budget = budget
        self.rng = rng
        self.policy = policy or Policy()
        self.account = account or Account()
        self.workers = workers
        self.used = 0
        self.best_x = np.zeros(dimension)
        self.best_f = np.inf
        size = memory_size(dimension)
        self._points = np.empty((size, dimension))
        self._values = np.full(size, np.inf)
        self._remembered = 0
        self._open: int | None = None  # the place of the span that is being spent
        self.anchor: np.ndarray | None = None
        """While this is a point of the cube, the batch that is asked for holds moves from it."""

    @property
    def remaining(self) -> int:
        """Evaluations left."""
        return self.budget - self.used

    @property
    def rich(self) -> bool:
        """Whether the budget allows to look at the whole cube."""
        return self.budget >= self.policy.rich_from * self.dimension

    @property
    def notes(self) -> set[str]:
        """Words for what the experts see of the function."""
        return self.account.notes

    @property
    def exhausted(self) -> bool:
        """Whether there is no point left that was not evaluated; only a grid has so few."""
        return False

    def has_left(self, per_dimension: float) -> bool:
        """Whether at least this many evaluations per dimension are left."""
        return self.remaining >= per_dimension * self.dimension

    def evaluate(self, points: np.ndarray) -> Batches:
        """Have a batch evaluated at its mirror image inside the cube, and remember it; failures are `+inf`.

        Points are remembered where they were evaluated: the folded function has kinks that no model fits.
        """
        batch = mirror(np.atleast_2d(points))
        values = yield from self._ask(batch)
        self.remember(batch, values)
        return values

    def evaluate_aside(self, points: np.ndarray) -> Batches:
        """Have a batch evaluated that models must not see: a cluster of points outweighs all else in a fit."""
        return (yield from self._ask(mirror(np.atleast_2d(points))))

    def evaluate_beside(self, anchor: np.ndarray, moves: np.ndarray) -> Batches:
        """Have points evaluated that are moves from one: beside it the box tells more points apart than the cube.

        The best point known is then only as exact as the cube is.
        """
        self.anchor = anchor
        try:
            values = tamed((yield moves))
        finally:
            self.anchor = None
        self.used += len(moves)
        self._seen(mirror(anchor + moves), values)
        return values

    def expect(self, mean: np.ndarray, matrix: np.ndarray, population: int) -> None:
        """The next points are a generation of this size, or those of it that a model chose: mean + matrix z."""

    def look_ahead(self, points: np.ndarray) -> None:
        """These points will probably be asked for after the next batch; whoever has workers free evaluates them now."""

    def _ask(self, batch: np.ndarray) -> Batches:
        values = tamed((yield batch))
        self.used += len(batch)
        self._seen(batch, values)
        return values

    def _seen(self, batch: np.ndarray, values: np.ndarray) -> None:
        """Keep the best point, and bring the trace up to date."""
        if len(values):
            first = int(values.argmin())
            if values[first] < self.best_f:
                self.best_f, self.best_x = float(values[first]), batch[first].copy()
        self._write(Reason.BUDGET if self.used >= self.budget else Reason.RUNNING)

    def remember(self, points: np.ndarray, values: np.ndarray) -> None:
        """Keep evaluations for models."""
        n, size = len(points), len(self._values)
        place = self._remembered % size
        if place + n <= size:
            self._points[place : place + n], self._values[place : place + n] = points, values
            self._remembered += n
            return
        kept = min(n, size)
        places = (self._remembered + np.arange(n - kept, n)) % size
        self._points[places], self._values[places] = points[n - kept :], values[n - kept :]
        self._remembered += n

    def know(self, points: np.ndarray, values: np.ndarray, given: np.ndarray) -> None:
        """Take in evaluations that nobody asked for; they cost nothing. `given`: the points in the box."""
        self.remember(points, values)
        first = int(np.argmin(values))
        if values[first] < self.best_f:
            self.best_f, self.best_x = float(values[first]), points[first].copy()

    def forget(self) -> None:
        """Begin the memory anew; the best point stays known."""
        self._remembered = 0

    def memory(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The remembered finite evaluations: points, values, and how many remembered ones came after each; not to be
        written to.
        """
        count = min(self._remembered, len(self._values))
        age = (self._remembered - 1 - np.arange(count)) % len(self._values)
        finite = np.isfinite(self._values[:count])
        if finite.all():
            return self._points[:count], self._values[:count], age
        return self._points[:count][finite], self._values[:count][finite], age[finite]

    def spend(
        self, part: str, steps: Generator[np.ndarray, np.ndarray, Outcome], told: Callable[[Outcome], str] = str
    ) -> Generator[np.ndarray, np.ndarray, Outcome]:
        """Let one part search, and write down what it spent and why it stopped.

        **Arguments:** `part`: its name in the trace; `told`: the words for its outcome.
        """
        if self.used >= self.budget:
            return (yield from steps)  # computed ahead of an evaluation that will never come
        self._open = len(self.account.spans)
        self.account.spans.append(Span(part, self.used, self.used, str(Reason.RUNNING)))
        outcome = yield from steps
        self._write(told(outcome))
        self._open = None
        return outcome

    def set_aside(self, reason: str) -> str | None:
        """End the span of the part that is searching, which may be taken up again; its name, None if there is none."""
        if self._open is None:
            return None
        self._write(reason)
        part, self._open = self.account.spans[self._open].part, None
        return part

    def take_up(self, part: str | None) -> None:
        """Begin a new span of a part that was set aside."""
        if part is not None and self.used < self.budget:
            self._open = len(self.account.spans)
            self.account.spans.append(Span(part, self.used, self.used, str(Reason.RUNNING)))

    def fail(self, part: str, error: Exception) -> None:
        """Write down that the part that is searching raised this, or, if none is, this one."""
        self.notes.add(str(Reason.FAILED))
        if self._open is None:
            self._open = len(self.account.spans)
            self.account.spans.append(Span(part, self.used, self.used, str(Reason.RUNNING)))
        self._write(f"{Reason.FAILED}: {type(error).__name__}: {error}"[:LONGEST_REASON])
        self._open = None

    def _write(self, reason: str) -> None:
        """Bring the open span up to date."""
        if self._open is not None:
            span = self.account.spans[self._open]
            self.account.spans[self._open] = Span(span.part, span.begin, min(self.used, self.budget), str(reason))


class Expert(Protocol):
    """Takes steps until it has a reason to stop."""

    def step(self, run: Run) -> Steps:
        """One step; None to go on, or the reason to stop."""
        ...


def finish(expert: Expert, run: Run, limit: float = np.inf) -> Generator[np.ndarray, np.ndarray, Reason]:
    """Step an expert until it stops, or the run has used this many evaluations."""
    reason = None
    while reason is None and run.used < limit:
        reason = yield from expert.step(run)
    return Reason.LIMIT if reason is None else reason


def memory_size(dimension: int) -> int:
    """How many evaluations are kept for models, of which there are none beyond `LARGE_ABOVE` dimensions."""
    if dimension > LARGE_ABOVE:
        return MEMORY_EXTRA
    if dimension > CROSS_TERMS_UP_TO:
        return MEMORY_PER_DIMENSION * dimension + MEMORY_EXTRA
    return MEMORY_PER_TERM * ((dimension + 1) * (dimension + 2) // 2) + MEMORY_EXTRA


def tamed(values: np.ndarray) -> np.ndarray:
    """Values as experts compute with them: `+inf` for failures, and compressed beyond `HUGE`, in the same order."""
    values = np.asarray(values, dtype=np.float64)
    sizes = np.abs(values)
    if not values.size or sizes.max() <= HUGE:
        return values
    with np.errstate(invalid="ignore"):
        compressed = np.copysign(HUGE * (1 + np.log(np.maximum(sizes, HUGE) / HUGE)), values)
    return np.where(np.isfinite(values), np.where(sizes > HUGE, compressed, values), np.inf)


def mirror(points: np.ndarray) -> np.ndarray:
    """Fold the whole space onto the cube by reflection at its faces.

    **Raises:** `ExpertError` for points that are not numbers.
    """
    if not points.size or (points.max() <= HALF and points.min() >= -HALF):
        return points
    if not np.isfinite(points).all():
        raise ExpertError("asked for a point that is not a number")
    return fold(points)[0]


def fold(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mirror images inside the cube, and which coordinates run backwards there."""
    period = 2 * WIDTH
    shifted = np.mod(points + HALF, period)
    backwards = shifted > WIDTH
    return np.clip(np.where(backwards, period - shifted, shifted) - HALF, -HALF, HALF), backwards
