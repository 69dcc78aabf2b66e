"""The search beyond 100 dimensions: a race of two, then the structure of the function, then whoever gains most.

1. L-BFGS and a separable evolution strategy start from the same point; who is ahead gets most of the turns.
2. With enough to spend, differential grouping finds variables that interact with no other and groups of those that do.
3. Each group, the separable variables and the two searches of all variables are units; the next turn goes to the unit
   that gained most per evaluation in its last one, or, if it had none, promises most by its share of the gradient.
"""

import math

import numpy as np

from l2e.portfolio.large.axes import Axes, Eigenvectors, SomeAxes
from l2e.portfolio.large.descent import Descent
from l2e.portfolio.large.entry import LITTLE, Entry
from l2e.portfolio.large.evolution import SeparableEvolution
from l2e.portfolio.large.found import units_of
from l2e.portfolio.large.grouping import MOST, Grouping, Structure
from l2e.portfolio.large.pattern import Pattern
from l2e.portfolio.large.windows import Windows
from l2e.portfolio.reasons import Reason
from l2e.portfolio.run import HALF, WIDTH, Run, Steps
from l2e.portfolio.searches import Nothing

RACE = 12
"""Evaluations per dimension of the race, if structure is looked for afterwards."""

STRUCTURE_FROM = 40
"""Evaluations per dimension from which on structure is looked for."""

FOLLOWER, SHORT_FOLLOWER = 0.25, 0.1
"""Who is behind in the race gets this share of what the leader got; the second if the race is the whole search."""

SHORT_GRADIENTS, GRADIENTS = 2, 4
"""Steps of L-BFGS in one turn: in a race that is the whole search, and else."""

EVOLUTION_TURN, SHORT_TURN, EVOLUTION_STEP = 2, 1, 0.1
"""Evaluations per dimension of one turn of the evolution strategy, the second if the race is the whole search; and its
first standard deviation in widths of the cube: half as wide as in few dimensions, where steps are shorter by the root
of their number."""

REVIVED = 1e-3
"""A unit that gained nothing is tried again when the value's size has fallen to this share: it may have been hidden by
rounding."""

REGROUPED = 1e-6
"""Separable variables are looked at again when the value's size has fallen to this share: weak groups hide in
rounding."""

OPTIMISM = 10.0
"""The promise of a unit that had no turn yet is taken this many times: one turn tells."""

PAYS = 3
"""Overlapping groups are searched together if their first turn takes less than one in so many of the evaluations left,
and without optimism."""

POLISH, POLISHED_FROM = 3, 15
"""Evaluations per dimension that are left to L-BFGS from the best point when evolution has had the rest, if there are
so many in all."""

STALLED = 20
"""All stall if this many evaluations per dimension gained hardly anything."""

MORE = 0.02
"""Groups may take this share of the evaluations that are left, even if that is more."""

BEHIND = 0.4
"""Share of all evaluations up to which evolution goes on without having the best value."""

AT_RANDOM = 0.03
"""Share of the turns that go to any unit."""


class LargeSearch:
    """One search; `search` is the generator that does it."""

    def search(self, run: Run, start: np.ndarray | None = None) -> Steps:
        """Spend the whole budget, whatever the values; it never ends by itself and never raises.

        **Arguments:** `start`: one point or several, of which the best is taken; the best known one, or the middle of
        the cube, if there is none.
        """
        if start is not None or not math.isfinite(run.best_f):
            points = run.best_x if start is None else start
            yield from run.spend("start", run.evaluate_aside(points), lambda values: Reason.DONE)
        return (yield from _Large(run).search())


class _Large:
    """One search from the best point known."""

    def __init__(self, run: Run):
        self.run, self.first = run, run.best_f
        self._structured = run.policy.has("coordinates") and run.budget >= STRUCTURE_FROM * run.dimension
        self.everything = np.arange(run.dimension)
        self._descent = Descent(self.everything, GRADIENTS)
        self.descent = Entry(self._descent)
        self.evolution = Entry(self._evolution(run.best_x, EVOLUTION_STEP * WIDTH))
        self.entries: list[Entry] = []
        self._restarts = 0
        self._gained = 0, math.inf
        self._separable, self._grouped_at = self.everything[:0], math.inf

    def search(self) -> Steps:
        run = self.run
        has_newton, has_global = run.policy.has("newton"), run.policy.has("global")
        structured = self._structured
        racing = [e for e, has in ((self.descent, has_newton), (self.evolution, has_global)) if has]
        polish = POLISH * run.dimension if has_newton and run.budget >= POLISHED_FROM * run.dimension else 0
        self._descent.alone, self._descent.gradients = True, GRADIENTS if structured else SHORT_GRADIENTS
        yield from self._race(racing, run.used + RACE * run.dimension if structured else run.budget - polish)
        self._descent.alone, self._descent.gradients = False, GRADIENTS
        self.entries = racing
        leads, self.descent.rate = self._leads(), None
        if structured:
            yield from self._find_structure(self.everything)
            yield from self._begin()
        self._gained = run.used, run.best_f
        rugged = structured and has_global and self._amorphous()
        while True:
            if rugged and run.used < run.budget - polish and (leads or self._stalls()):
                yield from self._committed(run.budget - polish)
            if self._hidden():
                yield from self._find_structure(self._separable)
            yield from self._play(self._next())

    def _race(self, racing: list[Entry], limit: float) -> Nothing:
        """Turns of the two searches of all variables; both follow their own way."""
        spent = {id(entry): 0 for entry in racing}
        follower = FOLLOWER if self._structured else SHORT_FOLLOWER
        racing = [entry for entry in racing if entry is not self.descent or math.isfinite(self.run.best_f)]
        while racing and self.run.used < limit:
            entry = min(racing, key=lambda e: (len(e.own) > 1, e.projected(self.run.remaining / e.unit.cost())))
            behind = [e for e in racing if spent[id(e)] < follower * spent[id(entry)]]
            entry = behind[0] if behind else entry
            before = self.run.used
            reason = yield from self._play(entry)
            spent[id(entry)] += self.run.used - before
            if reason is not None:
                racing = [e for e in racing if e is not entry]

    def _leads(self) -> bool:
        """Whether evolution has come further than L-BFGS, each on its own way."""
        ours, theirs = self.evolution.own, self.descent.own
        return bool(ours and theirs) and ours[-1] < theirs[-1]

    def _amorphous(self) -> bool:
        """Whether no structure was found that anybody could use."""
        return not any(isinstance(e.unit, Axes | Eigenvectors | Windows) for e in self.entries)

    def _committed(self, limit: float) -> Nothing:
        """Evolution alone, again and again with larger populations: on rugged functions its gains come late, and those
        of others only look larger before. Where it ends, L-BFGS goes on from the best point."""
        while self.run.used < limit:
            reason = yield from self._play(self.evolution)
            if reason is not None or self.evolution.stagnates():
                yield from self._polished(limit)
                self._restart()

    def _polished(self, limit: float) -> Nothing:
        """L-BFGS from the best point, as long as it gains something."""
        before, reason = math.inf, None
        while self.descent in self.entries and self.run.used < limit and reason is None:
            if before - self.run.best_f < LITTLE * self._scale():
                break
            before = self.run.best_f
            reason = yield from self._play(self.descent)

    def _scale(self) -> float:
        """What gains are measured by: all that was gained, or the value itself."""
        return min(self.first - self.run.best_f, abs(self.run.best_f))

    def _stalls(self) -> bool:
        """Whether hardly anything was gained for a while and L-BFGS is stuck.

        While it is not, small gains are those of a function that is smooth, however small they are beside its value.
        """
        run = self.run
        if self._gained[1] - run.best_f > LITTLE * self._scale():
            self._gained = run.used, run.best_f
        return self._stuck() and run.used - self._gained[0] > STALLED * run.dimension

    def _stuck(self) -> bool:
        """Whether L-BFGS gained nothing in its last turn, or is left out."""
        return self.descent not in self.entries or self.descent.rate == 0.0

    def _play(self, entry: Entry) -> Steps:
        """One turn; what it gained per evaluation is noted. A unit that raises gains nothing and is tried no more."""
        run, used, value = self.run, self.run.used, self.run.best_f
        reason: Reason | None = None
        try:
            reason = yield from run.spend(entry.unit.name, entry.unit.turn(run), lambda r: r or Reason.LIMIT)
        except Exception as error:  # noqa: BLE001 - no value that a function returns may end a search
            run.fail(entry.unit.name, error)
            self.entries = [e for e in self.entries if e is not entry]
            reason = Reason.FAILED
        gain = value - run.best_f if math.isfinite(value) else 0.0
        entry.rate = 0.0 if reason is not None else gain / max(run.used - used, 1)
        entry.beside = self.descent.rate
        entry.value = run.best_f
        entry.own.append(getattr(entry.unit, "level", run.best_f))
        entry.spent += run.used - used
        if entry is self.evolution and reason is None and entry.spent < BEHIND * run.used:
            ahead = run.best_f - entry.projected(run.remaining / entry.unit.cost())
            entry.rate = max(entry.rate, ahead / max(run.remaining, 1))
        return reason

    def _find_structure(self, members: np.ndarray) -> Nothing:
        run = self.run
        grouping = Grouping(run.best_x, members)
        most = min(max(MOST * len(members), MORE * run.remaining), 0.2 * run.remaining)
        try:
            found = yield from run.spend("groups", grouping.find(run, most), _told)
        except Exception as error:  # noqa: BLE001 - no value that a function returns may end a search
            run.fail("groups", error)
            return
        if len(found.separable) > 1 and len(found.separable) != len(self._separable):
            self.entries = [e for e in self.entries if e.unit.members is not self._separable]
            self.entries.append(Entry(Axes(found.separable)))
        self.entries.extend(Entry(unit) for unit in (yield from units_of(run, found)))
        self._separable, self._grouped_at = found.separable, run.best_f

    def _begin(self) -> Nothing:
        """What is decided at once when the structure is known."""
        for entry in [e for e in self.entries if isinstance(e.unit, SomeAxes)]:
            yield from self._play(entry)
        axes = [e for e in self.entries if isinstance(e.unit, Axes) and e.rate is None]
        for entry in axes:
            yield from self._play(entry)  # nothing is better where variables are as good as separable

    def _hidden(self) -> bool:
        """Whether groups may have been hidden among the separable variables by rounding."""
        return len(self._separable) > 1 and abs(self.run.best_f) < REGROUPED * abs(self._grouped_at)

    def _next(self) -> Entry:
        """Whose turn it is."""
        run = self.run
        for entry in self.entries:
            if entry.rate == 0.0 and abs(run.best_f) < REVIVED * abs(entry.value):
                entry.rate = None
        if self.entries and run.rng.uniform() < AT_RANDOM:
            return self.entries[run.rng.integers(len(self.entries))]
        best = max(self.entries, key=self._promise, default=None)
        if best is None or self._promise(best) <= 0:
            return self._elsewhere()
        return best

    def _promise(self, entry: Entry) -> float:
        """Gain per evaluation: that of the last turn, or before the first what its share of the gradient says.

        Where nothing else is known of a function, moves along axes that interact are not worth it while L-BFGS gains:
        its memory is of the way that it went.
        """
        if isinstance(entry.unit, SomeAxes) and not entry.unit.additive and not self._stuck() and self._amorphous():
            return 0.0
        if entry.rate is not None:
            return entry.rate * self._faded(entry)
        unit, run = entry.unit, self.run
        scale = min(abs(run.best_f), self.first - run.best_f) or abs(run.best_f)
        optimism = OPTIMISM
        if isinstance(unit, Pattern):  # its first turn is dear, and pays in those after it
            optimism = float(run.remaining > PAYS * unit.cost())
        return optimism * self._share(unit.members) * scale / unit.cost()

    def _faded(self, entry: Entry) -> float:
        """How much smaller the gains of L-BFGS have become since a unit had its last turn: others' fall alike."""
        now, then = self.descent.rate, entry.beside
        return min(1.0, now / then) if now and then and self._amorphous() else 1.0

    def _share(self, members: np.ndarray) -> float:
        """The share of the gradient that these variables have."""
        gradient = getattr(self.descent.unit, "latest", None)
        if gradient is None:
            return len(members) / self.run.dimension
        sizes = np.abs(np.nan_to_num(gradient, nan=0.0, posinf=0.0, neginf=0.0))
        return float(sizes[members].sum() / sizes.sum()) if sizes.any() else len(members) / self.run.dimension

    def _elsewhere(self) -> Entry:
        """Nobody gains: any unit again, or an evolution strategy from anywhere with a larger population."""
        run = self.run
        number = int(run.rng.integers(2 * len(self.entries) + 1)) if self.entries else 0
        if number < len(self.entries):
            return self.entries[number]
        self._restart()
        return self.evolution

    def _restart(self) -> None:
        """Another evolution strategy."""
        run = self.run
        self._restarts += 1
        mean = run.rng.uniform(-HALF, HALF, run.dimension)
        fresh = self._evolution(mean, run.policy.restart_step * WIDTH, 2 ** min(self._restarts, 6))
        self.entries = [entry for entry in self.entries if entry is not self.evolution]
        self.evolution = Entry(fresh)
        self.entries.append(self.evolution)

    def _evolution(self, mean: np.ndarray, sigma: float, populations: int = 1) -> SeparableEvolution:
        unit = SeparableEvolution(self.everything, mean, sigma, 1, populations)
        turn = EVOLUTION_TURN if self._structured else SHORT_TURN
        unit.generations = math.ceil(turn * self.run.dimension / unit.population)
        return unit


def _told(found: Structure) -> str:
    return f"{len(found.separable)} separable, {len(found.groups)} groups, {len(found.rest)} others"
