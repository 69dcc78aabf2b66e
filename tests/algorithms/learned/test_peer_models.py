"""The shipped weights of B2OPT, GLHF and RNNOPT: what their cards say, that they learned something, and their names."""

import json

import numpy as np
import pytest

import l2e
from l2e.api import catalog, models
from l2e.meta import RandomBBOBTasks
from l2e.meta.held_out import held_out
from l2e.problems import PAPER_TRAIN

pytestmark = pytest.mark.usefixtures("quick_compilation")

SHIPPED = {"b2opt-10d": 10, "b2opt-30d": 30, "glhf": None, "rnnopt-10d": 10, "rnnopt-30d": 30}


@pytest.mark.parametrize(("name", "dimension"), SHIPPED.items())
def test_a_card_says_what_was_learned(name, dimension) -> None:
    assert models.find(name).stat().st_size < 1_000_000
    card = models.card(name)
    assert card.metadata == json.loads(models.find(name).with_suffix(".card.json").read_text())
    assert card.dimension == dimension
    assert f"l2e train experiments/train/{name}.toml" in card.metadata["command"]
    trained, first = card.metadata["held_out"]["trained"], card.metadata["held_out"]["untrained"]
    assert trained["mean"] < first["mean"]
    assert trained["instances"] * trained["seeds"] >= 8
    assert (trained["budget"], trained["instances"], trained["seeds"]) == tuple(
        first[key] for key in ("budget", "instances", "seeds")
    )
    assert set(card.metadata["tasks"]["functions"]) == set(PAPER_TRAIN)
    assert not set(card.metadata["never_seen"]) & set(card.metadata["trained_on"])


# function and budget
LEARNED = {"b2opt-10d": (1, 20_000), "glhf": (1, 5_000), "rnnopt-10d": (2, 100)}


@pytest.mark.parametrize("name", LEARNED)
def test_trained_beats_untrained_on_held_out_instances(name) -> None:
    function, budget = LEARNED[name]
    tasks = RandomBBOBTasks((function,), 10, rotated=True)
    runs = [held_out(model, tasks, budget, 3, 1, seed=99) for model in (models.load(name), models.untrained(name))]
    assert runs[0].mean < runs[1].mean - 0.1


def test_a_name_without_dimension_picks_the_weights() -> None:
    chosen = catalog.method("rnnopt").build(30, 100, None)
    np.testing.assert_array_equal(chosen.gates, models.load("rnnopt-30d").gates)
    with pytest.raises(ValueError, match="'b2opt' has weights for 10 and 30 dimensions, not for 5"):
        l2e.minimize(lambda x: 0.0, bounds=[(-1, 1)] * 5, method="b2opt", budget=100)
    assert {"b2opt", "rnnopt", "glhf", "b2opt-10d"} <= set(catalog.all_methods())


def test_only_l2e_has_a_random_term_to_switch_off() -> None:
    with pytest.raises(ValueError, match="only L2E has a random term"):
        models.without_noise("glhf")


@pytest.mark.parametrize(("name", "dimension"), [("rnnopt", 10)])
def test_a_peer_is_metered_and_saved_like_any_method(name, dimension, tmp_path) -> None:
    calls = []

    def function(x):
        calls.append(x)
        return float(((x - 0.3) ** 2).sum())

    bounds = [(-1, 2)] * dimension
    whole = l2e.minimize(function, bounds=bounds, budget=250, method=name, rng=3)
    assert whole.nfev == len(calls) == 250
    assert all(((x >= -1) & (x <= 2)).all() for x in calls)
    path = tmp_path / "run.safetensors"
    first = l2e.Optimizer(bounds=bounds, method=name, budget=250, rng=3)
    for _ in range(2):
        points = first.ask()
        first.tell(points, [function(x) for x in points])
    first.save(path)
    again = l2e.Optimizer.load(path)
    while not again.stop():
        points = again.ask()
        again.tell(points, [function(x) for x in points])
    np.testing.assert_array_equal(again.result().x, whole.x)
