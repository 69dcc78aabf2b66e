"""A line chart in letters, for terminals."""

import numpy as np

ROWS = 12
MARKS = " ⡀⡄⡆⡇"
"""From empty to full: a column is filled from below up to the value."""


def chart(best: np.ndarray, width: int) -> str:
    """The best value over evaluations, in logarithms where values span decades."""
    known = best[np.isfinite(best)]
    if not len(known):
        return "no evaluation has given a value yet"
    logarithmic = known[-1] > 0 and known[0] > 100 * known[-1]
    values = np.log10(known) if logarithmic else known
    columns = values[np.linspace(0, len(values) - 1, max(width - 12, 10)).round().astype(int)]
    low, high = float(columns.min()), float(columns.max())
    filled = np.full(len(columns), 1.0) if high == low else (columns - low) / (high - low) * (ROWS - 1) * 4 + 1
    lines = []
    for row in range(ROWS - 1, -1, -1):
        height = low + (high - low) * row / (ROWS - 1)
        label = f"{10**height if logarithmic else height:.3g}" if row % 4 == 3 or row == 0 else ""
        cells = "".join(MARKS[int(np.clip(round(value - 4 * row), 0, 4))] for value in filled)
        lines.append(f"{label:>10} {cells}")
    return "\n".join([*lines, f"{'':>10} evaluations {len(best) - len(known) + 1} to {len(best)}"])
