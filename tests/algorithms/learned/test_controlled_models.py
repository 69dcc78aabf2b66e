"""The shipped weights of GLEET and DEDQN: what their cards say, that they learned something, and their budgets."""

import json

import numpy as np
import pytest

import l2e
from l2e.api import catalog, models
from l2e.meta import RandomBBOBTasks
from l2e.meta.held_out import held_out
from l2e.problems import PAPER_TRAIN

pytestmark = pytest.mark.usefixtures("quick_compilation")

SHIPPED = ("gleet", "dedqn")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_card_says_what_was_learned(name) -> None:
    assert models.find(name).stat().st_size < 100_000
    card = models.card(name)
    assert card.metadata == json.loads(models.find(name).with_suffix(".card.json").read_text())
    assert card.dimension is None
    assert card.evaluations == 20_000
    assert f"l2e train experiments/train/{name}.toml" in card.metadata["command"]
    trained, first = card.metadata["held_out"]["trained"], card.metadata["held_out"]["untrained"]
    assert trained["mean"] < first["mean"]
    assert trained["instances"] * trained["seeds"] >= 32
    sizes = ("budget", "instances", "seeds")
    assert [trained[key] for key in sizes] == [first[key] for key in sizes]
    assert set(card.metadata["tasks"]["functions"]) == set(PAPER_TRAIN)
    assert not set(card.metadata["never_seen"]) & set(card.metadata["trained_on"])


# a family, a budget and a difference that few runs show
LEARNED = {"gleet": (1, 20_000, 0.2), "dedqn": (1, 5_000, 0.1)}


@pytest.mark.parametrize("name", LEARNED)
def test_trained_beats_untrained_on_held_out_instances(name) -> None:
    function, budget, difference = LEARNED[name]
    tasks = RandomBBOBTasks((function,), 10, rotated=True)
    trained, first = (
        held_out(model, tasks, budget, 4, 1, seed=99) for model in (models.load(name), models.untrained(name))
    )
    assert trained.mean < first.mean - difference


def test_the_budget_is_told_and_the_weights_are_those_of_the_file() -> None:
    told = catalog.method("gleet").build(30, 50_000, None)
    assert float(told.budget) == 50_000
    assert float(models.load("gleet").budget) == 20_000
    assert told.critic is None
    np.testing.assert_array_equal(told.policy.memory.weight, models.load("gleet").policy.memory.weight)


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_metered_in_any_dimension_and_goes_on_after_a_pause(name, tmp_path) -> None:
    calls = []

    def function(x):
        calls.append(x)
        return float(((x - 0.3) ** 2).sum())

    bounds = [(-1, 2)] * 3
    whole = l2e.minimize(function, bounds=bounds, budget=350, method=name, rng=3)
    assert whole.nfev == len(calls) == 350
    assert len(np.unique(np.asarray(calls), axis=0)) > 300  # each evaluation is of a new point
    assert all(((x >= -1) & (x <= 2)).all() for x in calls)
    first = l2e.Optimizer(bounds=bounds, method=name, budget=350, rng=3)
    for _ in range(2):
        points = first.ask()
        first.tell(points, [function(x) for x in points])
    first.save(tmp_path / "run.safetensors")
    again = l2e.Optimizer.load(tmp_path / "run.safetensors")
    while not again.stop():
        points = again.ask()
        again.tell(points, [function(x) for x in points])
    np.testing.assert_array_equal(again.result().x, whole.x)
