"""The models trained by the paper's recipe say what they are, and the page about them says what their cards say."""

import json
import re
from pathlib import Path

import pytest

from l2e.api import models

ROOT = Path(__file__).parents[2]
SHIPPED = "l2e-paper-base-10d"
CARDS = {
    "base": models.find(SHIPPED).with_suffix(".card.json"),
    "mamba": ROOT / "results" / "l2e-paper" / "mamba-10d.card.json",
}


def table() -> dict[str, list[str]]:
    """The rows of the table of the page, by their first cell."""
    text = (ROOT / "docs" / "explain" / "l2e.md").read_text().split("## As the paper writes it")[1]
    rows = re.findall(r"^\| (f\d+|function|geometric mean) \| (.*) \|$", text, flags=re.MULTILINE)
    return {name: cells.split(" | ") for name, cells in rows}


def test_the_model_by_the_papers_recipe_is_small_and_better_than_its_first_weights():
    name = SHIPPED
    assert models.find(name).stat().st_size < 5_000_000
    facts = models.card(name).metadata
    assert facts == json.loads(models.find(name).with_suffix(".card.json").read_text())
    assert facts["held_out"]["trained"]["mean"] < facts["held_out"]["untrained"]["mean"]
    assert facts["guidance"]["schedule"] == "constant"
    assert models.card(name).evaluations == 39_900  # two batches in each of 199 generations
    assert not set(facts["never_seen"]) & set(facts["trained_on"])


@pytest.mark.parametrize("kind", CARDS)
def test_the_table_of_the_page_is_that_of_the_cards(kind):
    card, rows = json.loads(CARDS[kind].read_text()), table()
    for heading, score in (
        (f"{kind}: untrained", card["peers"]["untrained"]),
        (f"{kind}, 20,000", card["score"]),
        (f"{kind}, 39,900", card["peers"]["whole episode"]),
    ):
        column = rows["function"].index(heading)
        assert rows["geometric mean"][column] == f"{score['geometric_mean']:.3g}"
        for function, mean in score["means"].items():
            assert rows[function][column] == f"{mean:.3g}"
