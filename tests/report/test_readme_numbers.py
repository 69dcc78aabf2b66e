"""The tables of the README are those of the recorded results."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARES = {
    "l2e": "l2e",
    "lq-CMA-ES": "lq-cmaes",
    "SLSQP, restarted": "scipy-slsqp",
    "pycma BIPOP": "pycma-bipop",
    "L-SHADE": "minion-lshade",
}


def rows_below(first_line: str) -> list[list[str]]:
    """The cells of a table of the README, without marks, head included."""
    text = (ROOT / "README.md").read_text()
    lines = text[text.index(first_line) :].split("\n\n")[0].splitlines()
    rows = [[cell.strip(" *") for cell in line[1:-1].split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def table(path: str) -> dict[str, dict[str, str]]:
    """A recorded table: its lines by their first column."""
    rows = csv.DictReader((ROOT / "results" / path).read_text().splitlines())
    return {next(iter(row.values())): row for row in rows}


def test_the_paper_s_protocol() -> None:
    ranking = table("paper-bbob-10d/tables/ranking.csv")
    head, *rows = rows_below("| method | mean rank |")
    assert [row[0] for row in rows] == list(ranking)
    for row in rows:
        known = ranking[row[0]]
        for name, text in zip(head[1:-1], row[1:-1], strict=True):
            assert float(text) == pytest.approx(float(known[name]), rel=5e-3, abs=5e-4), (row[0], name)
        assert row[-1] == f"{float(known['runs solved']):.0%}"


def test_shares_by_dimension_and_budget() -> None:
    head, *rows = rows_below("| | l2e | lq-CMA-ES | SLSQP")
    assert len(rows) >= 20
    for where, *cells in rows:
        dimension, budget = re.fullmatch(r"(\d+)-D, (\d+) D.*", where).groups()  # type: ignore[union-attr]
        folder = f"flagship-{budget}d" if int(dimension) in (5, 10) else f"flagship-dimensions-{budget}d"
        known = table(f"{folder}/tables/shares.csv")[f"{dimension}-D, all, {budget} D"]
        assert cells == [f"{float(known[SHARES[name]]):.3f}" if SHARES[name] in known else "-" for name in head[1:]], (
            where
        )


def test_shares_of_disturbed_functions() -> None:
    head, *rows = rows_below("| | l2e | lq-CMA-ES | pycma BIPOP |")
    assert len(rows) == 12
    for where, *cells in rows:
        setting, budget = re.fullmatch(r"(.*), (\d+) D", where).groups()  # type: ignore[union-attr]
        shares = table(f"flagship-{setting.replace(' ', '-')}-{budget}d/tables/shares.csv")
        for name, cell in zip(head[1:], cells, strict=True):
            if cell == "-":
                assert SHARES[name] not in shares[f"5-D, all, {budget} D"]
            else:
                expected = [f"{float(shares[f'{d}-D, all, {budget} D'][SHARES[name]]):.3f}" for d in (5, 10)]
                assert re.findall(r"\d\.\d+", cell) == expected, where
