"""Constrained searches over a grid of integers and options.

Evolution strategies on the augmented Lagrangian over the grid alternate with descents: quadratic programming along the
continuous coordinates, at the best point and at its neighbours on the grid, from which the best one is gone on.
"""

from collections.abc import Generator

import numpy as np

from l2e.portfolio.constrained.run import Constrained
from l2e.portfolio.constrained.search import GROWTH, best_of, set_units
from l2e.portfolio.constrained.sqp import Sqp
from l2e.portfolio.mixed.evolution import MixedEvolution
from l2e.portfolio.mixed.run import MixedRun
from l2e.portfolio.mixed.search import sample_new
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import WIDTH, Batches, finish, tamed
from l2e.portfolio.searches import Finished, Nothing, take_turns
from l2e.portfolio.surrogate import Surrogate

PAUSE = 12
"""Evaluations per dimension of an evolution strategy between two descents."""

NEIGHBOUR = 8
"""Evaluations per continuous coordinate that a neighbour's descent may spend."""

FIRST_REACH = 4
"""The first neighbours are this share of the places of the longest coordinate away."""

FIRST_STEP, RESTART_STEP = 0.2, 0.3
"""Of the evolution strategies, as shares of the cube's width."""


class ConstrainedMixedRun(MixedRun):
    """A `MixedRun` whose experts see the merit instead of the values."""

    def __init__(self, state: Constrained, *args: object):
        super().__init__(*args)  # pyright: ignore[reportArgumentType]
        self.state = state
        self._raw: dict[bytes, tuple[np.ndarray, float, np.ndarray]] = {}

    def _ask(self, batch: np.ndarray) -> Batches:
        f = tamed((yield batch))
        self.used += len(batch)
        c = self.state.at(batch)
        self.state.note(batch, f, c)
        for point, value, constraints in zip(batch, f.tolist(), c, strict=True):
            self._raw[self.key(point)] = (point.copy(), value, constraints)
        merit = np.where(np.isfinite(f), self.state.merit(f, c), np.inf)
        self._seen(batch, merit)
        return merit

    def know(self, points: np.ndarray, values: np.ndarray, given: np.ndarray) -> None:
        batch, c = self.grid.snap(points), self.state.of_known(given)
        self.state.note(batch, values, c)
        for point, value, constraints in zip(batch, values.tolist(), c, strict=True):
            self._raw[self.key(point)] = (point.copy(), value, constraints)
        super().know(points, self.state.merit(values, c), given)

    def measure(self, points: np.ndarray) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Have points of the cube evaluated: values and constraints."""
        batch = self.grid.snap(np.atleast_2d(points))
        yield from self.evaluate(batch)
        return self._looked_up(batch)

    def look_aside(self, points: np.ndarray) -> Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The same for points that models must not see."""
        batch = self.grid.snap(np.atleast_2d(points))
        yield from self.evaluate_aside(batch)
        return self._looked_up(batch)

    def _looked_up(self, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [self._raw[self.key(point)] for point in batch]
        return np.asarray([f for _, f, _ in found]), np.asarray([c for _, _, c in found])

    def renew(self) -> None:
        """After a change of the merit: what was seen, by the new one."""
        seen = list(self._raw.values())
        points = np.asarray([x for x, _, _ in seen])
        f, c = np.asarray([f for _, f, _ in seen]), np.asarray([c for _, _, c in seen])
        merit = np.where(np.isfinite(f), self.state.merit(f, c), np.inf)
        self.forget()
        self.remember(points, merit)
        best = int(np.argmin(merit))
        self.best_x, self.best_f = points[best].copy(), float(merit[best])


def search_constrained_grid(run: ConstrainedMixedRun, start: np.ndarray | None = None) -> Nothing:
    """Spend the budget; ends early only where every point there is was evaluated."""
    if start is not None or not run.state.begun:
        first = np.zeros((1, run.dimension)) if start is None else start
        yield from run.spend("start", run.evaluate(first), lambda values: Reason.DONE)
    set_units(run)
    run.renew()
    widest = int(run.grid.counts.max(initial=1)) // FIRST_REACH
    yield from run.spend("descent", _settle(run, max(widest, 1)))
    yield from take_turns(run, "constrained search", lambda turn: _evolve(run, turn), lambda: sample_new(run))


def _evolve(run: ConstrainedMixedRun, turn: int) -> Nothing:
    policy, fresh = run.policy, turn > 0
    point = run.grid.random(run.rng, 1)[0] if fresh else run.best_x
    surrogate = Surrogate(policy, policy.wide, policy.trust_margin) if policy.has("surrogate") else None
    search = MixedEvolution(
        run.grid, point, (RESTART_STEP if fresh else FIRST_STEP) * WIDTH, surrogate, local=not fresh
    )
    while True:
        reason = yield from run.spend("evolution", finish(search, run, run.used + PAUSE * run.dimension))
        yield from run.spend("descent", _settle(run))
        _follow(run)
        if reason is not Reason.LIMIT:
            return
        search.best_f = np.inf


def _follow(run: ConstrainedMixedRun) -> None:
    state = run.state
    c = best_of(state)[2]
    state.merit.follow(c)
    if state.constraints.missed(c).any():
        state.merit.penalty *= GROWTH
    run.renew()


def _settle(run: ConstrainedMixedRun, reach: int = 1) -> Finished:
    """Descend at the best point, then from its neighbours, as long as one of them is better.

    **Arguments:** `reach`: how many steps away the first neighbours are; it is halved down to one.
    """
    yield from _descend(run, best_of(run.state)[0], np.inf)
    while reach >= 1 and run.remaining > 0:
        for point in _neighbours(run, best_of(run.state)[0], reach):
            before = _rank(run)
            yield from _descend(run, point, NEIGHBOUR * (len(run.grid.continuous) + 1))
            if _rank(run) < before:
                break
        else:
            reach //= 2
    yield from _descend(run, best_of(run.state)[0], np.inf)
    return Reason.CONVERGED


def _rank(run: ConstrainedMixedRun) -> tuple[float, float]:
    state = run.state
    return (0.0, state.best_f) if state.best_x is not None else (state.violation, state.near_f)


def _descend(run: ConstrainedMixedRun, x: np.ndarray, most: float) -> Nothing:
    f, c = yield from run.measure(x)
    if not len(run.grid.continuous):
        return
    search = Sqp(x, float(f[0]), c[0], run.grid.continuous)
    yield from search.go(run, run.used + most)
    best = run.state.best_x
    if best is not None and np.abs(best - search.x).max() < 1e-4:
        run.account.multipliers = search.multipliers


def _neighbours(run: ConstrainedMixedRun, x: np.ndarray, reach: int) -> list[np.ndarray]:
    """Points some steps or one option away, in random order."""
    near = [run.grid.neighbours(x, j, reach) for j in range(len(run.grid.stepped))]
    for g, option in enumerate(run.grid.options(x)):
        count = len(run.grid.groups[g])
        others = np.repeat(x[None], count, axis=0)
        run.grid.choose(others, g, np.arange(count))
        near.append(np.delete(others, option, axis=0))
    points = np.concatenate(near) if near else np.empty((0, run.dimension))
    return list(points[run.rng.permutation(len(points))])
