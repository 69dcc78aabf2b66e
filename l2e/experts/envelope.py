"""Whether a run was inside what the method was measured on, and how often the method held its own there.

`confidence` is a measured share: of random landscapes in the situation of the run (plain, noise, plateaus) and at the
nearest measured budget per dimension, on how many `l2e` was not behind BIPOP-CMA-ES by more than .05 in its share of
targets (`experiments/measure_envelope.py`, `results/envelope.json`). Outside of the measured dimensions and budgets,
or when many evaluations failed, that share is halved for each, which is a caution and not a measurement.
"""

import numpy as np

from l2e.driver import Assessment

DIMENSIONS = (2, 40)
BUDGETS = (20.0, 1e4)
"""Evaluations per dimension."""

FAILED_ABOVE = 0.2

MEASURED: dict[str, dict[int, float]] = {
    "plain": {50: 0.969, 200: 0.962, 1000: 0.985},
    "noise": {50: 0.769, 200: 0.923, 1000: 0.962},
    "plateaus": {50: 0.885, 200: 0.962, 1000: 0.962},
}
"""Share of landscapes on which the method was not behind, by situation and evaluations per dimension."""

OUTSIDE = 0.5


def assess(dimension: int, budget: int, values: np.ndarray, notes: set[str]) -> Assessment:
    """Confidence in a run and the reasons for doubt.

    **Arguments:** `dimension`, `budget`: of the run; `values`: all its values; `notes`: of the experts.
    """
    finite = values[np.isfinite(values)]
    warnings = []
    situation = "plain"
    if "noisy" in notes:
        situation = "noise"
        warnings.append("differences of nearby values are noise: steps by finite differences were left out")
    elif "flat" in notes:
        situation = "plateaus"
        warnings.append(
            "nearby values are equal: the function has plateaus, and steps by finite differences were left out"
        )
    per_dimension = budget / dimension
    measured = MEASURED[situation]
    nearest = min(measured, key=lambda known: abs(np.log(known / per_dimension)))
    confidence = measured[nearest]
    if not DIMENSIONS[0] <= dimension <= DIMENSIONS[1]:
        confidence *= OUTSIDE
        warnings.append(f"dimension {dimension} is outside of the measured {DIMENSIONS[0]} to {DIMENSIONS[1]}")
    if not BUDGETS[0] <= per_dimension <= BUDGETS[1]:
        confidence *= OUTSIDE
        warnings.append(
            f"{per_dimension:.3g} evaluations per dimension are outside of the measured "
            f"{BUDGETS[0]:g} to {BUDGETS[1]:g}"
        )
    if len(values) and 1 - len(finite) / len(values) > FAILED_ABOVE:
        confidence *= OUTSIDE
        warnings.append(f"{len(values) - len(finite)} of {len(values)} evaluations gave no finite value")
    return Assessment(round(confidence, 3), tuple(warnings))
