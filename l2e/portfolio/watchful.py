"""The default method that notices noise by itself: where values look noisy, a point is evaluated again.

A function that is rough, jumps or has many minima can look like noise, and noise like such a function. What tells them
apart is the same point evaluated again. So when quasi-Newton says that differences of nearby values are noise, is stuck
(maybe at a value that was luck), a line through the start turns too often for it to be tried, or what was seen around
the best point cannot be explained (`l2e.portfolio.unexplained`), the best point is evaluated twice more. If the values
do not differ, nothing but two evaluations is lost. If they do, a search that relied on differences goes on as
`noisy=True` would, with all that was seen; another one goes on as it is, and in the end candidates are compared. Near
the end a best value that stands alone is doubted, too: rare outliers are noticed by nothing else, and are what a search
ends with.
"""

import dataclasses
import functools
import math
from collections.abc import Generator

import numpy as np

from l2e.core.box import Box
from l2e.core.lattice import MixedBox
from l2e.core.program import AbstractProgram
from l2e.core.search import Account, Assessment, Known, Noise, Span
from l2e.portfolio.evaluated import Evaluated
from l2e.portfolio.method import Portfolio
from l2e.portfolio.noisy import SEARCHED, Noisy
from l2e.portfolio.policy import LARGE_ABOVE
from l2e.portfolio.reasons import Reason
from l2e.portfolio.transfer.method import Transfer
from l2e.portfolio.unexplained import SAME, Doubt, size_of

SUSPICIOUS = frozenset({str(Reason.NOISY), str(Reason.WAVY), str(Reason.STUCK)})
"""Notes of the method after which a point is evaluated again."""

REPEATS = 2
"""How often."""

LEAST_LEFT = 30
"""With fewer evaluations left per dimension no search begins anew under noise."""

LATE, LEAST_TO_DECIDE = 0.9, 16
"""A best value that stands alone is doubted when this share of the budget is used and at least so many are left."""

ALONE, OTHERS = 3.0, (0.1, 0.75)
"""It stands alone if it is this many times farther below the first of these quantiles than that is below the second:
the values of a search crowd towards the best."""

CHECK = "checking for noise"
"""The name of the repeated evaluations in the trace."""


@dataclasses.dataclass(frozen=True, eq=False)
class Watchful(AbstractProgram):
    """The default method, and from where noise was noticed on the one for noisy functions.

    **Arguments:** `inner`: the default method, with or without a model of a family.
    """

    inner: Portfolio | Transfer

    def batches(
        self, space: Box, seed: int, budget: int, start: np.ndarray | None, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        inner = Account(notes=account.notes, known=account.known, facts=account.facts)
        search = self.inner.batches(space, seed, budget, start, inner)
        seen = Evaluated()
        batch = next(search)
        doubt = Doubt(space)
        checks: list[Span] = []
        noticed = isolated = False

        def spans() -> list[Span]:
            return functools.reduce(_with, checks, list(inner.spans))

        while True:
            account.spans = spans()
            told = yield batch
            seen.add(batch, told)
            batch = search.send(told)
            used = seen.count + REPEATS * len(checks)
            left = budget - used
            suspicious = not account.notes.isdisjoint(SUSPICIOUS)
            anew = suspicious and left >= LEAST_LEFT * space.dimension
            if account.noise is not None:
                if anew or used >= SEARCHED * budget:
                    break
                continue
            early = not noticed and left >= LEAST_TO_DECIDE and (suspicious or doubt.look(seen))
            if doubt.flat:
                account.notes.add(str(Reason.FLAT))
            late = not isolated and LATE * budget <= used <= budget - LEAST_TO_DECIDE
            if not math.isfinite(seen.best_f) or not (early or (late and _isolated(seen.values))):
                isolated = isolated or late
                continue
            noticed, isolated = True, isolated or not early
            check = Span(CHECK, used, used + REPEATS, "no noise")
            account.spans = [*_until(spans(), used), check]
            again = yield np.repeat(seen.best_x[None], REPEATS, axis=0)
            values = seen.values
            account.noise = _noise(seen.best_x, np.append(seen.best_f, again), values)
            checks.append(check)
            if account.noise is not None:
                checks[-1] = check._replace(reason="noise")
                if anew or check.end >= SEARCHED * budget:
                    break
        used = seen.count + REPEATS * len(checks)
        so_far = _until(spans(), used)
        ended = [one._replace(reason=str(Reason.LIMIT)) if one.reason == Reason.RUNNING else one for one in so_far]
        account.spans = ended
        method = Noisy(self.inner)
        if anew:
            yield from self._under_noise(method, space, seed, budget - used, seen.known(), account)
        else:
            yield from method.decide(space, *seen.known(), budget - used, used, account)

    def _under_noise(
        self, method: Noisy, space: Box, seed: int, budget: int, seen: Known, account: Account
    ) -> Generator[np.ndarray, np.ndarray, None]:
        """Go on with what is left as if the function had been said to be noisy."""
        spans, used = list(account.spans), account.spans[-1].end
        inner = Account(notes=account.notes, known=[*account.known, seen])
        passed_on = len(account.known)
        search = method.batches(space, seed, budget, None, inner)
        batch = next(search)
        while True:
            account.spans = [*spans, *(_moved(one, used) for one in inner.spans)]
            told = yield batch
            inner.known.extend(account.known[passed_on:])
            passed_on = len(account.known)
            try:
                batch = search.send(told)
            except StopIteration:
                return
            finally:
                account.recommended = inner.recommended

    def assess(self, space: Box, budget: int, values: np.ndarray, account: Account) -> Assessment | None:
        said = self.inner.assess(space, budget, values, account)
        if said is None or account.noise is None:
            return said
        return Assessment(None, (*said.warnings, account.noise.sentence))  # the shares were measured without repeats

    def with_workers(self, workers: int) -> "Watchful":
        return dataclasses.replace(self, inner=self.inner.with_workers(workers))


def notices(space: Box) -> bool:
    """Whether noise can be noticed on such a box: only the parts for continuous variables, and not too many of them,
    look at differences of nearby values.
    """
    return not isinstance(space, MixedBox) and space.dimension <= LARGE_ABOVE


def _isolated(values: np.ndarray) -> bool:
    """Whether the best value is far below most others."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, OTHERS)
    return bool(low - finite.min() > ALONE * (high - low))


def _noise(point: np.ndarray, values: np.ndarray, seen: np.ndarray) -> Noise | None:
    """What several values of one point say; None if they are the same, as far as numbers go."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return None
    if not float(finite.max() - finite.min()) > SAME * size_of(finite, seen):
        return None
    return Noise(point.copy(), tuple(finite.tolist()))


def _with(spans: list[Span], check: Span) -> list[Span]:
    """Spans of the method and a check between them, of which the method knows nothing."""
    after = [one._replace(begin=max(one.begin, check.begin)) for one in spans if one.end > check.begin]
    return [*_until(spans, check.begin), check, *(_moved(one, REPEATS) for one in after)]


def _until(spans: list[Span], used: int) -> list[Span]:
    """Spans of what was evaluated by then."""
    return [one._replace(end=min(one.end, used)) for one in spans if one.begin < used]


def _moved(span: Span, by: int) -> Span:
    return span._replace(begin=span.begin + by, end=span.end + by)
