"""A cell of a table: what a method reaches, and how far the default method is ahead of it."""

from collections.abc import Sequence

import numpy as np

from l2e.report.statistics import mean_and_error


def cell(theirs: Sequence[float], ours: Sequence[float] | None = None) -> str:
    """The mean, and in brackets by how much `ours`, on the same problems in the same order, is ahead."""
    mean = f"{np.mean(theirs):.3f}"
    if ours is None:
        return mean
    ahead, error = mean_and_error(np.asarray(ours) - np.asarray(theirs))
    return f"{mean} ({ahead:+.3f} ± {error:.3f})"
