import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import l2e
from l2e.api import catalog
from l2e.core.checkpoint import CheckpointError, load_metadata
from l2e.meta.config import load_config
from l2e.meta.episodes import Task, gap_of, score, spend
from l2e.meta.folder import BEST, CURVE, TrainingFolder
from l2e.meta.gate import run
from l2e.meta.gate.outcomes import Outcomes, outcomes_of
from l2e.meta.gate.settings import Families, GateSpec, GateTraining, Problems
from l2e.meta.gate.train import UNTRAINED, decided, initial_gate, tasks_of, train_gate
from l2e.portfolio.gate import ACTIONS, AFTER_SCOUT, FEATURES, Action
from l2e.portfolio.method import Portfolio
from l2e.portfolio.router import Router
from l2e.portfolio.weights import SHIPPED_GATE, load_gate, save_gate
from l2e.problems import PAPER_TEST

SPEC = GateSpec(
    tasks=Families(("bowl", "kinks"), ()),
    problems=Problems(rounds=4, dimensions=(2,), budgets=(40,)),
    training=GateTraining(steps=40, validate_every=20),
)


def test_score_is_the_share_of_targets():
    targets = 10.0 ** np.linspace(2, -8, 51)
    for gap in 10.0 ** np.linspace(1.9, -9, 40):
        assert score(gap) == pytest.approx((gap <= targets).mean(), abs=0.021)
    assert score(0.0) == 1.0
    assert -0.5 < score(1e4) < score(1e3) < 0


def test_spend_ends_with_the_budget():
    asked = []

    def search():
        count = 0
        while True:
            asked.append(count)
            values = yield np.arange(count, count + 3, dtype=float)[:, None]
            assert len(values) == 3
            count += 3

    assert spend(search(), lambda points: 100 - points[:, 0], 10) == 100 - 9  # the tenth value, not the twelfth
    assert asked == [0, 3, 6, 9]


def test_a_bbob_family_is_played_without_its_offset():
    assert score(gap_of(Task("bbob:f1", 2, 50, (0,)), Router().search)) > 0.5


def metrics(path):
    return TrainingFolder(path, {}, {}).metrics()


OTHER = ACTIONS.index(Action.WIDE)


def made(problems, rng):
    """One action is worth 0.3 more than quasi-Newton where the first feature is positive, and 0.3 less elsewhere."""
    seen = rng.standard_normal((problems, len(FEATURES)))
    seen[:, 0] = rng.choice([-1.0, 1.0], problems)
    scores = np.repeat(rng.random((problems, 1)), len(ACTIONS), axis=1)
    scores[:, OTHER] += 0.3 * seen[:, 0]
    scores[:, OTHER + 1 :] -= 0.2
    return Outcomes(seen, np.ones_like(scores), scores)


def test_training_finds_what_tells_which_action_pays():
    training = GateTraining(steps=600, learning_rate=0.02, validate_every=100)
    spec = dataclasses.replace(SPEC, problems=Problems(rounds=200), training=training)
    outcomes = made(400, np.random.default_rng(0))
    *_, (best, info) = train_gate(spec, outcomes)
    checked = outcomes.seen[spec.problems.training_rounds * len(spec.tasks.names) :, 0]
    assert info.validation > 0.95 * 0.3 * (checked > 0).mean()
    told = best.direct[OTHER] - best.direct[UNTRAINED]
    assert told[0] > 2 * np.abs(told[1:]).max()
    takes = decided(best, outcomes) == outcomes.scores[:, OTHER]
    assert (takes == (outcomes.seen[:, 0] > 0)).mean() > 0.95


def test_an_untrained_gate_takes_quasi_newton_and_actions_that_may_not_follow_are_never_taken():
    outcomes = made(50, np.random.default_rng(1))
    np.testing.assert_array_equal(decided(initial_gate(SPEC.training), outcomes), outcomes.scores[:, UNTRAINED])
    eager = initial_gate(SPEC.training)._replace(bias=np.eye(len(ACTIONS))[-1])
    np.testing.assert_array_equal(decided(eager, outcomes), outcomes.scores[:, -1])
    closed = outcomes._replace(open=np.asarray(np.arange(len(ACTIONS)) < 1, float) * np.ones_like(outcomes.scores))
    np.testing.assert_array_equal(decided(eager, closed), outcomes.scores[:, 0])


@pytest.mark.parametrize(("budget", "actions"), [(20, len(ACTIONS)), (50, AFTER_SCOUT), (150, 0)])
def test_outcomes_repeat_and_tell_actions_apart(budget, actions):
    problems = Problems(dimensions=(4,), budgets=(budget,))
    task = tasks_of(GateSpec(tasks=Families("none", (15,)), problems=problems), 0)[0]
    first, again = outcomes_of(task), outcomes_of(task)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    if not actions:  # the gate is not asked with so much to spend
        assert not first.seen.any()
        assert first.open.all()
        assert len(set(first.scores[0].tolist())) == 1
        return
    assert first.open.sum() == actions
    assert len(set(first.scores[0, :actions].tolist())) == actions
    assert not first.scores[0, actions:].any()
    assert first.seen.any()


@pytest.mark.parametrize("family", ["product", "rippled", "groups", "terraces"])
def test_blends_are_played(family):
    assert np.isfinite(score(gap_of(Task(family, 3, 20, (1,)), Router().search)))


def test_a_killed_training_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    whole = run.run_gate(SPEC, tmp_path / "whole")
    assert whole.complete
    assert (tmp_path / "whole" / CURVE).exists()
    assert [row["step"] for row in metrics(tmp_path / "whole")] == [20, 40]
    played = []

    def killed(task):
        if len(played) == 5:
            raise KeyboardInterrupt
        played.append(task)
        return outcomes_of(task)

    with monkeypatch.context() as patch:
        patch.setattr(run, "outcomes_of", killed)
        cut = run.run_gate(SPEC, tmp_path / "cut")
    assert (cut.complete, cut.progress) == (False, "round 2 of 4")
    assert run.run_gate(SPEC, tmp_path / "cut") == whole
    assert metrics(tmp_path / "whole") == metrics(tmp_path / "cut")
    other = dataclasses.replace(SPEC, problems=dataclasses.replace(SPEC.problems, budgets=(9,)))
    with pytest.raises(CheckpointError, match=r"another training \(problems differ\)"):
        run.run_gate(other, tmp_path / "cut")


def test_a_gate_goes_to_a_file_and_is_a_method(tmp_path):
    eager = initial_gate(SPEC.training)._replace(bias=np.eye(len(ACTIONS))[OTHER])
    save_gate(tmp_path / BEST, eager, SPEC.settings)
    for one, other in zip(load_gate(tmp_path / BEST).weights, eager, strict=True):
        np.testing.assert_array_equal(one, other)

    def value(method):
        return l2e.minimize(banana, [-3] * 4, bounds=[(-4, 5)] * 4, budget=200, method=method, rng=0).fun

    assert catalog.method(str(tmp_path)).kind == "model"
    assert value(str(tmp_path)) == value(Portfolio(eager)) != value(Portfolio())
    save_gate(tmp_path / "other.safetensors", eager, {})
    with pytest.raises(CheckpointError, match="gate"):
        load_gate(tmp_path / "other.safetensors")


def test_the_training_file_is_read_and_wrong_ones_are_refused(tmp_path):
    path = Path(__file__).parents[2] / "experiments" / "train" / "l2e-gate.toml"
    spec = load_config(path)
    assert isinstance(spec, GateSpec)
    assert len(spec.tasks.names) == 22
    wrong = tmp_path / "gate.toml"
    for table, message in {
        "[problem]": "did you mean problems",
        "[problems]\nbudget = [1]": "did you mean budgets",
        "[problems]\nrounds = 1": "rounds must be at least 2",
        "[tasks]\nfunctions = [8]": "test functions of the paper",
        "[tasks]\nlandscapes = ['bowls']": "did you mean bowl",
        "[tasks]\nlandscapes = 'bowl'": r"unknown \[tasks\] landscapes 'bowl'",
        "[tasks]\nlandscapes = 'none'\nfunctions = []": "nothing to train on",
    }.items():
        wrong.write_text(f"[optimizer]\nkind = 'gate'\n{table}\n")
        with pytest.raises(ValueError, match=message):
            load_config(wrong)


def test_the_shipped_gate_has_a_card_and_is_in_the_default():
    card = json.loads(SHIPPED_GATE.with_suffix(".card.json").read_text())
    assert card == load_metadata(SHIPPED_GATE)
    assert not set(PAPER_TEST) & set(card["tasks"]["functions"])
    assert card["trained_minus_untrained"]

    def values(method):
        budgets = [per_dimension * 4 for per_dimension in (20, 30, 50, 80)]
        options = {"bounds": [(-4, 5)] * 4, "method": method, "rng": 0}
        return [l2e.minimize(banana, [-3] * 4, budget=n, **options).fun for n in budgets]

    assert values("auto") == values(Portfolio(load_gate(SHIPPED_GATE).weights)) != values(Portfolio())


def banana(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
