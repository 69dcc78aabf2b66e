"""Learning a family from its functions, within a budget."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from l2e.api.archives import evolves, knowledge_of, read_past
from l2e.api.family import BUDGETS, Family, Quote
from l2e.api.family_model import FamilyModel, Judged
from l2e.api.family_plans import BEYOND, by_rule, follows
from l2e.api.minimize import minimize
from l2e.api.setup import whole_number
from l2e.core.adapter import AbstractAdapter
from l2e.core.errors import unknown
from l2e.core.keys import as_key, fold_in
from l2e.portfolio.method import Portfolio
from l2e.portfolio.transfer.knowledge import Follow, Knowledge, Plan, Plans
from l2e.portfolio.transfer.method import Transfer
from l2e.portfolio.transfer.past import Past
from l2e.portfolio.transfer.points import Points

Outcomes: TypeAlias = dict[tuple[str, float], dict[int, float]]
"""The best values that left-out members reached, by what followed the seeds ("plain" is the default) and budget."""

Options: TypeAlias = Mapping[float, Sequence[Follow]]
"""What may follow the seeds at each budget."""

PICK_AT = 20
"""Where there is a choice at every budget, what follows the seeds is decided at the budget nearest to so many
evaluations per dimension; for less together with the least budget, and for the largest one between the best two, there,
too."""

NOISE_FLOOR = 2.0
"""Regrets of noisy values below so many standard errors of the best mean count as that."""

ENOUGH, LEAST_LEFT_OUT = 8, 6
"""Left-out members with which several strategies are compared, else the rule's is judged alone; and with which the
largest budget is judged, too."""

LEAST_JUDGED = 3
"""With fewer left-out members than this nothing is judged."""

PRIOR, PRIOR_ERROR = -0.3, 0.7
"""Log of the regret over the default's, expected of a family whose members are alike, before any is left out; and how
far one budget is from the mean of the others."""

DOUBT = 2.0
"""Standard errors by which a model must be ahead if its gradients hardly tell families apart; of others one will do."""

LEAST_ERROR = 0.05
"""Standard errors of few members are at least this."""

REGRET_FLOOR = 1e-3
"""Regrets below this share of the centre's count as this: what is beyond would be noise in means of few logarithms."""


def learn(
    family: Family,
    budget: int | None = None,
    *,
    budgets: Sequence[float] = BUDGETS,
    rng: Any = None,
    workers: int = 1,
    folder: str | os.PathLike[str] | None = None,
    scale: Literal["same", "free"] = "same",
    noisy: bool = False,
) -> FamilyModel:
    """Learn from the members of a family, so that the next one is solved sooner.

    ```python
    model = l2e.learn(l2e.Family.of(make, seeds=range(40), bounds=bounds), rng=0, folder="runs/depots")
    result = l2e.minimize(f_new, model=model, budget=10 * d)
    ```

    **Arguments:**

    - `family`: the members.
    - `budget`: evaluations of all of it, never exceeded; 100 per dimension and member if not given. What it is spent
      on, `family.quote(budget)` says beforehand.
    - `budgets`: evaluations per dimension for which the model is judged on left-out members.
    - `rng`: as in `minimize`.
    - `workers`: members that are searched at the same time, in threads: worth it where functions wait or release
      Python's lock. The model is the same.
    - `folder`: journals of all searches go there; the same call goes on where it was killed. Give `rng`, then.
    - `scale`: "free" if values of different members do not compare (other units, other offsets).
    - `noisy`: whether values are uncertain, as of `minimize`; members' ends are then the recommended points.

    **Raises:** `ValueError` for a budget too small for the members.
    """
    if scale not in ("same", "free"):
        raise unknown("scale", scale, ("same", "free"))
    quote = family.quote(None if budget is None else whole_number("budget", budget))
    began = time.perf_counter()
    place, told = None if folder is None else Path(folder), tuple(sorted(map(float, budgets)))
    with _workers(whole_number("workers", workers)) as together:
        model = _Learning(family, quote, told, as_key(rng), place, together, scale == "free", noisy).run()
    model.seconds = time.perf_counter() - began
    return model


@contextlib.contextmanager
def _workers(count: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A `map` that calls its function in so many threads."""
    if count == 1:
        yield map
        return
    with ThreadPoolExecutor(count) as pool:
        yield pool.map


class _Recorded:
    """A function that writes down what it was asked and what it said."""

    def __init__(self, function: Callable[[Any], Any], vectorized: bool):
        self._function, self._vectorized = function, vectorized
        self.points: list[np.ndarray] = []
        self.values: list[float] = []

    def __call__(self, x: np.ndarray) -> Any:
        batch = x if self._vectorized else x[None]
        self.points.extend(batch.copy())
        self.values.extend([np.inf] * len(batch))  # unless it comes back with more
        value = self._function(x)
        self.values[-len(batch) :] = np.asarray(value, dtype=np.float64).reshape(-1).tolist()
        return value


class _Learning:
    """One learning: phases of searches, each in a journal of its own, so that the same call goes on."""

    def __init__(
        self,
        family: Family,
        quote: Quote,
        budgets: tuple[float, ...],
        key: np.ndarray,
        folder: Path | None,
        together: Callable[..., Iterable[Any]],
        scale_free: bool,
        noisy: bool,
    ):
        self._noisy = noisy
        self._family, self._quote, self._budgets, self._key = family, quote, budgets, key
        self._folder, self._together, self._scale_free = folder, together, scale_free
        self._left = quote.total
        self._m, self._d = quote.members, quote.dimension
        self._pasts: list[Past] = []
        self._default = Portfolio.trained()

    def run(self) -> FamilyModel:
        """All phases."""
        first = self._quote.searches // self._m
        star_first = Transfer(Knowledge.empty(self._d), Plans.always(Plan(False, "default", "it has no members")))
        self._pasts = self._searches("first", range(self._m), [star_first] * self._m, first)
        known = dataclasses.replace(knowledge_of(self._pasts, self._scale_free), traits=self._family.features)
        if self._quote.cross:
            known = self._crossed(known)
        evolving = evolves(self._pasts)
        plans, judged, best = by_rule(known, evolving, first / self._d), (), known.best
        if any(plan.opened for _, plan in plans.entries):
            plans, judged, best = self._judge(known, plans, first)
        known = dataclasses.replace(known, best=best)
        spent = self._quote.total - self._left
        family = self._family
        return FamilyModel(
            family.space, family.names, known, plans, judged, spent, 0.0, "functions", evolving, first / self._d,
            family.coordinates,
        )  # fmt: skip

    def _searches(
        self, phase: str, members: Iterable[int], methods: Sequence[AbstractAdapter], budget: int
    ) -> list[Past]:
        """One search of each member, as far as the budget of learning allows: it was planned to."""
        tasks = list(zip(members, methods, strict=True))
        self._left -= budget * len(tasks)
        assert self._left >= 0, "learning planned more evaluations than it has"
        return list(self._together(lambda task: self._search(phase, task[0], task[1], budget), tasks))

    def _search(self, phase: str, member: int, method: AbstractAdapter, budget: int) -> Past:
        name = self._family.names[member]
        function, vectorized = self._family.functions[name]
        path = None if self._folder is None else self._folder / f"{phase}-{member:04d}.l2e"
        recorded = _Recorded(function, vectorized)
        minimize(
            recorded,
            bounds=self._family.space,
            budget=budget,
            method=method,
            rng=fold_in(self._key, member),
            vectorized=vectorized,
            noisy=self._noisy and not isinstance(method, Points),
            checkpoint=path,
        )
        if path is not None:
            return read_past(path)
        values = np.array(recorded.values)
        points, values = np.array(recorded.points), np.where(np.isfinite(values), values, np.inf)
        return Past(self._family.space, points, values, self._noisy)

    def _crossed(self, known: Knowledge) -> Knowledge:
        """With the values of every member at the ends of all others."""
        others = [np.delete(np.arange(self._m), i) for i in range(self._m)]
        points = [Points(self._family.space.from_unit(known.ends[rest])) for rest in others]
        pasts = self._searches("cross", range(self._m), points, self._m - 1)
        cross = known.cross.copy()
        for i, (rest, past) in enumerate(zip(others, pasts, strict=True)):
            cross[i, rest] = past.values
        best = known.best if self._noisy else np.minimum(known.best, cross.min(axis=1))
        return dataclasses.replace(known, best=best, cross=cross)

    def _judge(self, known: Knowledge, plans: Plans, first: int) -> tuple[Plans, tuple[Judged, ...], np.ndarray]:
        """Leave members out: what follows the seeds, and at which budgets the model is worth its evaluations."""
        budgets = list(self._budgets)
        options: Options = self._options(known, plans)
        count = self._affordable(options, budgets, first)
        if count < ENOUGH:
            options = {b: [plans.plan(b).follow] for b in budgets}
            count = self._affordable(options, budgets, first)
        while count < LEAST_LEFT_OUT and len(budgets) > 1:
            budgets = budgets[:-1]
            count = self._affordable(options, budgets, first)
        left_out = np.unique(np.linspace(0, self._m - 1, count).round().astype(int)).tolist()
        outcomes: Outcomes = {}
        chosen: dict[float, Follow]
        if len(options[budgets[0]]) > 1:
            chosen = self._choose(known, plans, options[budgets[0]], budgets, left_out, first, outcomes)
        else:
            chosen = {b: options[b][0] for b in self._budgets}
            for b in budgets:
                self._leave_out(known, left_out, options[b], b, first, outcomes)
                chosen[b] = self._ranked(known, outcomes, options[b], plans.plan(b).follow, {b})[0]
        return self._decide(known, outcomes, chosen, plans)

    def _options(self, known: Knowledge, plans: Plans) -> Options:
        """What may follow the seeds at each budget; what the rule says comes first."""
        if not known.tells_foreign(self._budgets[0]):
            return {b: ["default"] for b in self._budgets}
        found: dict[float, list[Follow]] = {}
        for b in self._budgets:
            rule: Follow = plans.plan(b).follow
            others: list[Follow] = [follow for follow in follows(known, b) if follow != rule]
            found[b] = [rule, *others]
        return found

    def _choose(
        self,
        known: Knowledge,
        plans: Plans,
        follows: Sequence[Follow],
        budgets: Sequence[float],
        left_out: list[int],
        first: int,
        outcomes: Outcomes,
    ) -> dict[float, Follow]:
        """What follows the seeds, if there is a choice at every budget: compared at some of them."""
        rule = plans.entries[0][1].follow
        least, pick, longest = budgets[0], _pick(budgets), budgets[-1]
        for b in sorted({least, pick}):
            self._leave_out(known, left_out, follows, b, first, outcomes)
        middle = self._ranked(known, outcomes, follows, rule, {pick})
        if longest != pick:
            self._leave_out(known, left_out, middle[:2], longest, first, outcomes)
        small = self._ranked(known, outcomes, follows, rule, {least, pick})[0]
        large = self._ranked(known, outcomes, middle[:2], rule, {pick, longest})[0]
        chosen: dict[float, Follow] = {
            b: small if b < pick else large if b >= longest else middle[0] for b in self._budgets
        }
        for b in budgets:
            if b not in (least, pick, longest):
                self._leave_out(known, left_out, [chosen[b]], b, first, outcomes)
        return chosen

    def _ranked(
        self, known: Knowledge, outcomes: Outcomes, follows: Sequence[Follow], rule: Follow, at: set[float]
    ) -> list[Follow]:
        """By the regret they left on left-out members at some budgets; what the rule says comes first in ties."""
        best = self._best(known, outcomes)
        regrets = {
            follow: [
                self._regret(known, best, i, value)
                for (name, budget), found in outcomes.items()
                for i, value in found.items()
                if name == follow and budget in at
            ]
            for follow in follows
        }
        return sorted(follows, key=lambda follow: (float(np.mean(regrets[follow] or [0.0])), follow != rule))

    def _affordable(self, options: Options, budgets: Sequence[float], first: int) -> int:
        """How many members can be left out at all these budgets."""
        sizes, runs = {b: int(b * self._d) for b in budgets}, {b: len(options[b]) for b in budgets}
        if runs[budgets[0]] > 1:
            runs = dict.fromkeys(budgets, 1)
            runs[budgets[-1]] = min(len(options[budgets[-1]]), 2)
            runs[budgets[0]] = runs[_pick(budgets)] = len(options[budgets[0]])
        cost = sum(sizes[b] * (runs[b] + (sizes[b] != first)) for b in budgets)
        return min(self._left // cost, self._m)

    def _leave_out(
        self,
        known: Knowledge,
        left_out: list[int],
        follows: Sequence[Follow],
        per_dimension: float,
        first: int,
        outcomes: Outcomes,
    ) -> None:
        """Search left-out members with each strategy and with the default; what they found goes into `outcomes`."""
        size = int(per_dimension * self._d)
        for follow in follows:
            plan = Plans.always(Plan(True, follow, "left out"))
            own = [None if known.traits is None else known.traits[i] for i in left_out]
            methods = [Transfer(known.without(i), plan, traits=t) for i, t in zip(left_out, own, strict=True)]
            pasts = self._searches(f"{follow}-{per_dimension:g}", left_out, methods, size)
            outcomes[follow, per_dimension] = {i: past.best for i, past in zip(left_out, pasts, strict=True)}
        if size == first:
            outcomes["plain", per_dimension] = {i: self._pasts[i].best for i in left_out}
            return
        pasts = self._searches(f"plain-{per_dimension:g}", left_out, [self._default] * len(left_out), size)
        outcomes["plain", per_dimension] = {i: past.best for i, past in zip(left_out, pasts, strict=True)}

    def _best(self, known: Knowledge, outcomes: Outcomes) -> np.ndarray:
        """The best value of each member that any search found."""
        best = known.best.copy()
        for found in outcomes.values():
            for i, value in found.items():
                best[i] = min(best[i], value + NOISE_FLOOR * self._pasts[i].error)
        return best

    def _regret(self, known: Knowledge, best: np.ndarray, i: int, value: float) -> float:
        """log of the regret of a member's search over that of the centre."""
        room = known.centre[i] - best[i]
        if not (np.isfinite(room) and room > 0):
            return 0.0
        least = max(REGRET_FLOOR, NOISE_FLOOR * self._pasts[i].error / room)
        return float(np.log(max((min(value, known.centre[i]) - best[i]) / room, min(least, 1.0))))

    def _decide(
        self, known: Knowledge, outcomes: Outcomes, chosen: dict[float, Follow], plans: Plans
    ) -> tuple[Plans, tuple[Judged, ...], np.ndarray]:
        best = self._best(known, outcomes)
        judged = []
        for b in self._budgets:
            ours, plain = outcomes.get((chosen[b], b), {}), outcomes.get(("plain", b), {})
            defaults = [self._regret(known, best, i, value) for i, value in plain.items()]
            gains = [self._regret(known, best, i, ours[i]) - own for i, own in zip(plain, defaults, strict=True)]
            judged.append(_judged(b, gains, defaults))
        errors = 1.0 if known.tells_foreign(self._budgets[0]) else DOUBT
        entries = tuple(
            (one.per_dimension, _plan(one, judged, chosen[one.per_dimension], plans, errors)) for one in judged
        )
        return Plans(entries, BEYOND * self._budgets[-1]), tuple(judged), best


def _pick(budgets: Sequence[float]) -> float:
    """The budget at which all strategies are compared."""
    return min(budgets, key=lambda b: abs(np.log(b / PICK_AT)))


def _judged(per_dimension: float, gains: list[float], defaults: list[float]) -> Judged:
    if len(gains) < LEAST_JUDGED:
        return Judged(per_dimension, 0, 0.0, 0.0, 0.0)
    error = float(np.std(gains, ddof=1)) / np.sqrt(len(gains))
    return Judged(per_dimension, len(gains), float(np.mean(gains)), float(error), float(np.mean(defaults)))


def _plan(one: Judged, judged: Sequence[Judged], follow: Follow, rule: Plans, errors: float) -> Plan:
    """Use the model if it is ahead of the default by so many errors; what is expected beforehand counts, too.

    Expected is the mean gain at the other budgets, or that of families in general where nothing else was judged.
    """
    others = [other.gain for other in judged if other is not one and other.members]
    if not one.members and not others:
        return rule.plan(one.per_dimension)._replace(follow=follow)
    expected = float(np.mean(others)) if others else PRIOR
    own = 1 / max(one.error, LEAST_ERROR) ** 2 if one.members else 0.0
    precision = 1 / PRIOR_ERROR**2 + own
    mean = (expected / PRIOR_ERROR**2 + own * one.gain) / precision
    where = "on left-out members" if one.members else "at other budgets, on left-out members,"
    said = f"{where} it leaves {np.exp(one.gain if one.members else expected):.2f} of the default's regret"
    sure = mean + errors * precision**-0.5 < 0
    return Plan(sure, follow, said if sure else f"{said}, which is not sure enough")
