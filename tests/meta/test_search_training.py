import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import l2e
from l2e import catalog, checkpoint
from l2e.checkpoint import CheckpointError
from l2e.experts.portfolio import Portfolio
from l2e.experts.residual import SIZE, first_weights
from l2e.experts.weights import KIND, SHIPPED, load_network, save_weights
from l2e.meta.episodes import MOMENTS, Task, play, score, spend
from l2e.meta.run import BEST, CURVE, METRICS, STATE, read_metrics
from l2e.meta.search_config import is_search_training, load_search_config, parse_search_config
from l2e.meta.search_run import run_search
from l2e.meta.search_train import UNITS, SearchSpec, Shapes, advance, begin, validation_tasks
from l2e.problems import PAPER_TEST

SPEC = SearchSpec(
    families=("bowl", "ripples"),
    shapes=(Shapes("guided", 1.0, (2,), (15,)), Shapes("shrinking", 1.0, (2,), (30,))),
    steps=4,
    pairs=4,
    validate_every=2,
    validation_tasks=2,
)


def test_score_is_the_share_of_targets():
    targets = 10.0 ** np.linspace(2, -8, 51)
    for gap in 10.0 ** np.linspace(1.9, -9, 40):
        assert score(gap) == pytest.approx((gap <= targets).mean(), abs=0.021)
    assert score(0.0) == 1.0
    assert -0.5 < score(1e4) < score(1e3) < 0


def test_spend_scores_moments_of_the_budget():
    def search():
        count = 0
        while True:
            values = yield np.arange(count, count + 3, dtype=float)[:, None]
            assert len(values) == 3
            count += 3

    found = spend(search(), lambda points: 100 - points[:, 0], 10)
    assert found == [100 - (round(share * 10) - 1) for share, _ in MOMENTS]


@pytest.mark.parametrize("mode", ["guided", "shrinking", "whole"])
def test_untrained_weights_score_what_no_weights_score(mode):
    task = Task(mode, "waves", 3, 60, (5,))
    assert play(first_weights(0), task) == play(None, task)
    other = first_weights(0) + 0.3 * np.random.default_rng(0).standard_normal(SIZE)
    if mode != "whole":
        assert play(other, task) != play(None, task)


def test_a_bbob_family_is_played_without_its_offset():
    assert play(None, Task("whole", "bbob:f1", 2, 50, (0,))) > 0.5


def test_climbs_a_known_slope():
    """Scores that are a linear function of the weights: the weights must go along it."""
    along = np.random.default_rng(0).standard_normal(SIZE)
    spec = dataclasses.replace(SPEC, pairs=64, steps=60, validate_every=100, decay=0.0)

    def player(games):
        return [float(along @ weights) * 0.01 for weights, _ in games]

    state = begin(spec)
    for _ in range(40):
        state, _ = advance(spec, state, player)
    assert along @ (state.average - first_weights(0)) > 0
    slope, moved = along * UNITS, (state.average - first_weights(0)) / UNITS
    assert slope @ moved / np.linalg.norm(slope) / np.linalg.norm(moved) > 0.4


def test_a_family_that_got_worse_counts_more():
    def player(games):
        return [0.5 if weights is None else (0.4 if task.family == "ripples" else 0.6) for weights, task in games]

    state = begin(SPEC)
    for _ in range(2):
        state, info = advance(SPEC, state, player)
    assert info.validation_families == pytest.approx({"bowl": 0.1, "ripples": -0.1})
    assert state.counts[0] == 1.0
    assert state.counts[1] == 3.0


def test_validation_tasks_are_not_trained_on():
    seeds = {task.seed for row in validation_tasks(SPEC) for task in row}
    seen = set()

    def player(games):
        games = list(games)
        seen.update(task.seed for _, task in games)
        return [0.5] * len(games)

    advance(SPEC, begin(SPEC), player)
    assert len(seeds) == 4
    assert not seeds & seen


def test_training_in_a_folder_resumes_exactly(tmp_path):
    whole = run_search(SPEC, tmp_path / "whole", {"a": 1})
    for name in (STATE, METRICS, CURVE, BEST):
        assert (tmp_path / "whole" / name).exists()
    assert [row["step"] for row in read_metrics(tmp_path / "whole" / METRICS)] == [1, 2, 3, 4]
    state = begin(SPEC)
    for _ in range(3):
        state, _ = advance(SPEC, state, lambda games: [play(*game) for game in games])
    stopped = tmp_path / "stopped"  # as if killed after the third step was saved and the fourth was written down
    shutil.copytree(tmp_path / "whole", stopped)
    checkpoint.save_tree(stopped / STATE, state, {"training": {"a": 1}, "hours": 0.0})
    again = run_search(SPEC, stopped, {"a": 1})
    np.testing.assert_array_equal(again.weights, whole.weights)
    np.testing.assert_array_equal(again.best_weights, whole.best_weights)
    assert [row["step"] for row in read_metrics(stopped / METRICS)] == [1, 2, 3, 4]
    with pytest.raises(CheckpointError, match="another training"):
        run_search(SPEC, stopped, {"a": 2})


def test_two_processes_give_the_same_weights(tmp_path):
    spec = dataclasses.replace(SPEC, steps=1, pairs=2)
    alone_ = run_search(spec, tmp_path / "one", {})
    shared = run_search(spec, tmp_path / "two", {}, workers=2)
    np.testing.assert_array_equal(alone_.weights, shared.weights)


def test_weights_go_to_a_file_and_back(tmp_path):
    weights = np.random.default_rng(0).standard_normal(SIZE)
    save_weights(tmp_path / "w.safetensors", weights, {"x": 1})
    np.testing.assert_array_equal(load_network(tmp_path / "w.safetensors").weights, weights)


def test_the_training_file_is_read_and_wrong_ones_are_refused():
    path = Path(__file__).parents[2] / "experiments" / "train" / "l2e.toml"
    assert is_search_training(path)
    assert not is_search_training(path.with_name("gleet.toml"))
    config = load_search_config(path)
    assert len(config.spec().families) == 12
    tables = {"optimizer": {"kind": "portfolio"}, "guided": {}}
    with pytest.raises(ValueError, match="whole"):
        parse_search_config({**tables, "hole": {}})
    with pytest.raises(ValueError, match="budgets"):
        parse_search_config({**tables, "guided": {"budget": [1]}})
    with pytest.raises(ValueError, match="test functions"):
        parse_search_config({**tables, "tasks": {"functions": [8]}}).spec()
    with pytest.raises(ValueError, match="guided"):
        parse_search_config({"optimizer": {"kind": "portfolio"}})


def test_a_trained_folder_is_a_method(tmp_path):
    run_search(dataclasses.replace(SPEC, steps=2), tmp_path / "run", {"optimizer": {"kind": KIND}})
    weights = first_weights(0) + 0.3 * np.random.default_rng(0).standard_normal(SIZE)
    save_weights(tmp_path / "run" / BEST, weights, checkpoint.load_facts(tmp_path / "run" / BEST))

    def values(method):
        return l2e.minimize(kink, bounds=[(-4, 5)] * 3, budget=400, method=method, rng=0).fun

    assert catalog.method(str(tmp_path / "run")).program
    assert values(str(tmp_path / "run")) == values(
        Portfolio(residual=True, residual_weights=str(tmp_path / "run" / BEST))
    )
    assert values(str(tmp_path / "run")) != values("l2e")


def test_the_shipped_weights_have_a_card_and_are_used_on_request():
    card = json.loads(SHIPPED.with_suffix(".card.json").read_text())
    assert card == checkpoint.load_facts(SHIPPED)
    assert SHIPPED.stat().st_size < 100_000
    assert not {f"f{number}" for number in PAPER_TEST} & {f"f{number}" for number in card["tasks"]["functions"]}
    assert card["trained_minus_untrained"]

    def values(method):
        return l2e.minimize(kink, bounds=[(-4, 5)] * 3, budget=300, method=method, rng=0).fun

    assert values("l2e-residual") == values(Portfolio(residual=True)) != values("l2e")
    assert values("l2e") == values(Portfolio())


def kink(x):
    turned = np.asarray([x[0] + 0.6 * x[1], 20 * (x[1] - 0.7 * x[2]), x[2] + 0.4 * x[0]]) - 1
    return float(np.abs(turned).max() + 0.1 * np.abs(turned).sum())
