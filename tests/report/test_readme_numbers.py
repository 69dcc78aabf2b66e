"""The table of the README is that of the recorded results."""

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARES = {
    "auto": "l2e",
    "lq-CMA-ES": "lq-cmaes",
    "SLSQP, restarted": "scipy-slsqp",
    "pycma BIPOP": "pycma-bipop",
    "L-SHADE": "minion-lshade",
}


def rows() -> list[list[str]]:
    """The cells of the table, without marks, head included."""
    text = (ROOT / "README.md").read_text()
    inside = text.split("<!-- table:flagship -->")[1].split("<!-- /table:flagship -->")[0]
    cells = [[cell.strip(" *") for cell in line[1:-1].split("|")] for line in inside.strip().splitlines()]
    return [cells[0], *cells[2:]]


def table(path: str) -> dict[str, dict[str, str]]:
    """A recorded table: its lines by their first column."""
    lines = csv.DictReader((ROOT / "results" / path).read_text().splitlines())
    return {next(iter(line.values())): line for line in lines}


def test_shares_by_dimension_and_budget() -> None:
    head, *lines = rows()
    assert len(lines) == 6
    for where, *cells in lines:
        dimension, budget = re.fullmatch(r"(\d+)-D, (\d+)·d.*", where).groups()  # type: ignore[union-attr]
        folder = f"flagship-{budget}d" if int(dimension) in (5, 10) else f"flagship-dimensions-{budget}d"
        known = table(f"{folder}/tables/shares.csv")[f"{dimension}-D, all, {budget} D"]
        assert cells == [f"{float(known[SHARES[name]]):.3f}" if SHARES[name] in known else "-" for name in head[1:]], (
            where
        )
