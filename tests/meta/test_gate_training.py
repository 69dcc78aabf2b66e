import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import l2e
from l2e import catalog, checkpoint
from l2e.checkpoint import CheckpointError
from l2e.experts.gate import FEATURES, MOMENTS
from l2e.experts.portfolio import Portfolio
from l2e.experts.weights import SHIPPED_GATE, load_gate, save_gate
from l2e.meta import gate_run
from l2e.meta.gate_config import is_gate_training, load_gate_config, parse_gate_config
from l2e.meta.gate_outcomes import Outcomes, outcomes_of
from l2e.meta.gate_train import GateSpec, decided, first_gate, tasks_of, train_gate
from l2e.meta.run import BEST, CURVE, METRICS, read_metrics
from l2e.problems import PAPER_TEST

SPEC = GateSpec(("bowl", "kinks"), (2,), (40,), rounds=4, steps=40, validate_every=20)
FACTS = {"optimizer": {"kind": "gate"}, "tasks": {}, "problems": {}, "training": {"hidden": SPEC.hidden}}


def made(problems, rng):
    """Leaving is worth 0.3 where the first feature is positive, and costs 0.3 elsewhere."""
    seen = rng.standard_normal((problems, len(MOMENTS), len(FEATURES)))
    seen[:, :, 0] = rng.choice([-1.0, 1.0], (problems, 1))
    came = np.ones(seen.shape[:2])
    stayed = rng.random(problems)
    return Outcomes(seen, came, stayed[:, None] + 0.3 * seen[:, :, 0], stayed)


def test_training_finds_what_tells_when_leaving_pays():
    spec = dataclasses.replace(SPEC, rounds=200, steps=600, learning_rate=0.02, validate_every=100)
    outcomes = made(400, np.random.default_rng(0))
    *_, (best, info) = train_gate(spec, outcomes)
    checked = outcomes.seen[spec.training_rounds * len(spec.families) :, 0, 0]
    assert info.validation > 0.95 * 0.3 * (checked > 0).mean()
    assert best.direct[0] > 2 * np.abs(best.direct[1:]).max()
    leaves = decided(best, outcomes) != outcomes.stayed
    assert (leaves == (outcomes.seen[:, 0, 0] > 0)).mean() > 0.95


def test_an_untrained_gate_stays_and_moments_that_did_not_come_never_count():
    outcomes = made(50, np.random.default_rng(1))
    np.testing.assert_array_equal(decided(first_gate(SPEC), outcomes), outcomes.stayed)
    never = outcomes._replace(came=np.zeros_like(outcomes.came))
    eager = first_gate(SPEC)._replace(bias=np.asarray(5.0))
    np.testing.assert_array_equal(decided(eager, never), outcomes.stayed)
    np.testing.assert_array_equal(decided(eager, outcomes), outcomes.left[:, 0])


def test_outcomes_repeat_and_tell_staying_from_leaving():
    task = tasks_of(dataclasses.replace(SPEC, families=("bbob:f2",), dimensions=(4,)), 0)[0]
    first, again = outcomes_of(task), outcomes_of(task)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    count = int(first.came.sum())
    assert count > 2
    assert len({float(first.stayed[0]), *first.left[0, :count].tolist()}) > 2
    assert not first.seen[0, count:].any()


def test_a_killed_training_goes_on_to_the_same_weights(tmp_path, monkeypatch):
    whole = gate_run.run_gate(SPEC, tmp_path / "whole", FACTS)
    assert whole.rounds == 4
    assert (tmp_path / "whole" / CURVE).exists()
    assert [row["step"] for row in read_metrics(tmp_path / "whole" / METRICS)] == [20, 40]
    played = []

    def killed(task):
        if len(played) == 5:
            raise KeyboardInterrupt
        played.append(task)
        return outcomes_of(task)

    with monkeypatch.context() as patch:
        patch.setattr(gate_run, "outcomes_of", killed)
        assert gate_run.run_gate(SPEC, tmp_path / "cut", FACTS).rounds == 2
    assert gate_run.run_gate(SPEC, tmp_path / "cut", FACTS) == whole
    rows = [read_metrics(tmp_path / name / METRICS) for name in ("whole", "cut")]
    assert rows[0] == rows[1]
    with pytest.raises(CheckpointError, match="other problems"):
        gate_run.run_gate(SPEC, tmp_path / "cut", {**FACTS, "problems": {"budgets": [9]}})


def test_a_gate_goes_to_a_file_and_is_a_method(tmp_path):
    eager = first_gate(SPEC)._replace(bias=np.asarray(5.0))
    save_gate(tmp_path / BEST, eager, FACTS)
    for one, other in zip(load_gate(tmp_path / BEST).weights, eager, strict=True):
        np.testing.assert_array_equal(one, other)

    def value(method):
        return l2e.minimize(banana, bounds=[(-4, 5)] * 4, budget=320, method=method, rng=0).fun

    assert catalog.method(str(tmp_path)).program
    assert (
        value(str(tmp_path)) == value(Portfolio(gate=True, gate_weights=str(tmp_path / BEST))) != value("l2e-untrained")
    )
    assert value("l2e-untrained") == value(Portfolio(gate=False))
    save_gate(tmp_path / "other.safetensors", eager, {})
    with pytest.raises(CheckpointError, match="gate"):
        load_gate(tmp_path / "other.safetensors")


def test_the_training_file_is_read_and_wrong_ones_are_refused():
    path = Path(__file__).parents[2] / "experiments" / "train" / "l2e-gate.toml"
    assert is_gate_training(path)
    assert not is_gate_training(path.with_name("l2e.toml"))
    assert len(load_gate_config(path).spec().families) == 26
    with pytest.raises(ValueError, match="problems"):
        parse_gate_config({"problem": {}})
    with pytest.raises(ValueError, match="budgets"):
        parse_gate_config({"problems": {"budget": [1]}})
    with pytest.raises(ValueError, match="test functions"):
        parse_gate_config({"tasks": {"functions": [8]}}).spec()
    with pytest.raises(ValueError, match="at least 2"):
        parse_gate_config({"problems": {"rounds": 1}})


def test_the_shipped_gate_has_a_card_and_is_in_the_default():
    card = json.loads(SHIPPED_GATE.with_suffix(".card.json").read_text())
    assert card == checkpoint.load_facts(SHIPPED_GATE)
    assert not set(PAPER_TEST) & set(card["tasks"]["functions"])
    assert card["trained_minus_untrained"]

    def value(method):
        return l2e.minimize(banana, bounds=[(-4, 5)] * 4, budget=320, method=method, rng=0).fun

    assert value("l2e") == value(Portfolio(gate_weights=str(SHIPPED_GATE)))
    assert value("l2e-untrained") == value(Portfolio(gate=False))


def banana(x):
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
