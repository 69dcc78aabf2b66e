"""How far to trust a run of the default method, as a share that was measured, and reasons for doubt in plain words.

The confidence says: of random landscapes in the situation of this run (plain, with noise, with plateaus) and at the
nearest measured budget per dimension, on which share did the method end no worse than BIPOP-CMA-ES, within .05 of its
share of targets (`experiments/measure_envelope.py`, `results/envelope.json`)? It says nothing about how close to the
optimum this run came. Outside of the measured dimensions and budgets, or when many evaluations failed, the share is
halved for each, which is a caution and not a measurement.
"""

import numpy as np

from l2e.core.search import Assessment
from l2e.portfolio.reasons import Reason

DIMENSIONS = (2, 40)
"""Those that were measured."""

BUDGETS = (20.0, 1e4)
"""Evaluations per dimension that were measured."""

TINY_BUDGET = 2.0
"""Evaluations per dimension up to which no method does better than to sample at random: there is one gradient, or not
even that."""

FAILED_ABOVE = 0.2
"""Share of failed evaluations that is worth a warning."""

TIED_ABOVE = 0.1
"""Share of values that are equal to an earlier one above which a function has steps: noise does not repeat itself."""

MEASURED: dict[str, dict[int, float]] = {
    "plain": {50: 0.969, 200: 0.962, 1000: 0.985},
    "noise": {50: 0.769, 200: 0.923, 1000: 0.962},
    "plateaus": {50: 0.885, 200: 0.962, 1000: 0.962},
}
"""Share of landscapes on which the method was not behind, by situation and evaluations per dimension."""

OUTSIDE = 0.5
"""Factor of the confidence for each respect in which a run is outside of what was measured."""

LEFT_OUT = "steps by finite differences were left out"


def assess(dimension: int, budget: int, values: np.ndarray, notes: set[str]) -> Assessment:
    """Confidence in a run and the reasons for doubt.

    **Arguments:** `dimension`, `budget`: of the run; `values`: those it was told, in order, `+inf` for failures, and
    maybe for points beyond the budget, which do not count; `notes`: of the experts.
    """
    values = values[:budget]
    finite = values[np.isfinite(values)]
    situation, warnings = _situation(finite, notes)
    per_dimension = budget / dimension
    measured = MEASURED[situation]
    nearest = min(measured, key=lambda known: abs(np.log(known / per_dimension)))
    confidence = measured[nearest]
    if not DIMENSIONS[0] <= dimension <= DIMENSIONS[1]:
        confidence *= OUTSIDE
        warnings.append(
            f"the method was measured in {DIMENSIONS[0]} to {DIMENSIONS[1]} dimensions; this function has {dimension}"
        )
    if not BUDGETS[0] <= per_dimension <= BUDGETS[1]:
        confidence *= OUTSIDE
        warnings.append(_about_budget(dimension, budget))
    failed = len(values) - len(finite)
    if failed > FAILED_ABOVE * len(values):
        confidence *= OUTSIDE
        warnings.append(f"{failed} of {len(values)} evaluations gave no finite value")
    if Reason.FAILED in notes:
        warnings.append("a part of the method failed inside and another took over: result.trace says which")
    return Assessment(round(confidence, 3), tuple(warnings))


def _situation(finite: np.ndarray, notes: set[str]) -> tuple[str, list[str]]:
    """What was measured that is like this function, and what to say of it."""
    stepped = Reason.JUMPS in notes or (Reason.NOISY in notes and _tied(finite) > TIED_ABOVE)
    if stepped:
        return "plateaus", [f"values jump between nearby points, as if something were rounded: {LEFT_OUT}"]
    if Reason.NOISY in notes:
        return "noise", [f"nearby values differ far more than their distance explains, as under noise: {LEFT_OUT}"]
    if Reason.FLAT in notes:
        return "plateaus", [f"nearby values are equal: the function has plateaus, and {LEFT_OUT}"]
    return "plain", []


def _tied(finite: np.ndarray) -> float:
    """Share of the values that are equal to an earlier one."""
    return 1 - len(np.unique(finite)) / len(finite) if len(finite) else 0.0


def _about_budget(dimension: int, budget: int) -> str:
    low, high = (round(per_dimension * dimension) for per_dimension in BUDGETS)
    if budget > high:
        return f"a budget of {budget} is beyond what was measured, up to {high} in {dimension} dimensions"
    if budget <= TINY_BUDGET * dimension:
        return f"a budget of {budget} is tiny for {dimension} dimensions: expect the quality of random search"
    return (
        f"a budget of {budget} is small for {dimension} dimensions: "
        f"the method needs {low} or more to be as good as it was measured"
    )
