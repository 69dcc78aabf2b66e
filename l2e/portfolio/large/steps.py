"""Steps of finite differences."""

import numpy as np

STEPS = (1e-7, 1.0)
"""The range of the steps of second differences."""


def fitting(step: np.ndarray, differences: np.ndarray, wanted: float) -> np.ndarray:
    """Steps with which second differences are as large as wanted, if the function is a parabola."""
    with np.errstate(all="ignore"):
        factor = np.sqrt(wanted / np.abs(differences))
    factor = np.where(np.isfinite(factor), np.clip(factor, 1e-4, 1e3), 10.0)
    return np.clip(step * factor, *STEPS)
