"""The page on the paper's tables says what the printed numbers say."""

from pathlib import Path

import numpy as np
import pytest

from l2e.report.published import published

PAGE = Path(__file__).parent.parent.parent / "docs" / "explain" / "paper-tables.md"
COMPONENTS = {"1": (5.294e5, 2.007e6), "2": (8.213e5, 3.150e6), "3": (3.506e4, 1.312e5), "4": (5.098e3, 1.845e4)}
"""Mean and standard deviation over functions in the paper's ablation of components."""


def row(method):
    return np.asarray([mean for mean, _ in published("bbob-10d")[method].values()])


@pytest.fixture(scope="module")
def page():
    return " ".join(PAGE.read_text().split())


@pytest.mark.parametrize(("method", "mean", "share"), [("L2E-Mamba", "1.145e4", "97 %"), ("L2E", "2.803e4", "96 %")])
def test_one_function_is_the_mean_of_all(page, method, mean, share):
    gaps = row(method)
    assert float(f"{gaps.mean():.3e}") == float(mean)
    assert f"{gaps.max() / gaps.sum():.0%}".replace("%", " %") == share
    assert mean in page
    assert share in page


def test_the_full_method_of_the_ablation_is_below_what_one_function_contributes(page):
    largest = row("L2E-Mamba").max() / 16
    assert COMPONENTS["4"][0] < largest
    assert float(f"{largest:.3e}") == 1.109e4
    assert "1.109e4" in page


def test_the_base_row_has_another_mean_geometric_mean_and_median_than_the_ablations(page):
    gaps = row("L2E")
    assert f"{np.exp(np.log(gaps).mean()):.2f}" == "37.48"
    assert np.median(gaps) == pytest.approx(21.77, abs=0.01)
    assert "a geometric mean of 37.48 and a median of 21.77" in page


def test_factors_and_spreads_are_those_of_the_printed_rows(page):
    full = COMPONENTS["4"][0]
    assert [int(COMPONENTS[item][0] / full) for item in "12"] == [103, 161]
    spreads = [f"{deviation / mean:.2f}" for mean, deviation in COMPONENTS.values()]
    assert f"{spreads[0]}, {spreads[1]}, {spreads[2]} and {spreads[3]} times" in page
    assert max(map(float, spreads)) < np.sqrt(15)
