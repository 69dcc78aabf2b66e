"""Training files: what they become, and what is wrong with the wrong ones."""

import json
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

from l2e.algorithms.kinds import KINDS, parse_settings
from l2e.algorithms.l2e import Staged, Unshared
from l2e.algorithms.l2e.gates import HardGate, SoftGate
from l2e.api.models import load
from l2e.core.checkpoint import CheckpointError
from l2e.core.errors import UnknownNameError
from l2e.core.traced.trees import save_tree
from l2e.meta import AntitheticES, AreaUnderCurve, FullBPTT, NormalisedImprovement, PersistentES, TruncatedBPTT
from l2e.meta.config import load_config, parse_config
from l2e.meta.folder import TrainingFolder
from l2e.meta.run import save_best
from l2e.meta.train import Trainer
from l2e.problems._bbob.paper import PAPER_TEST, PAPER_TRAIN

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments" / "train"
TINY = {"operator": "base", "population_size": 6, "width": 4}


@pytest.mark.parametrize("name", ["l2e-base-10d", "l2e-mamba-10d"])
def test_the_shipped_trainings_are_the_papers_setting(name):
    spec = load_config(EXPERIMENTS / f"{name}.toml").spec()
    assert spec.optimizer.population_size == 100
    assert isinstance(spec.optimizer.schedule, Unshared)
    # the first population is the first of 200 batches of 100: 20,000 evaluations
    assert spec.optimizer.schedule.generations == spec.generations == 199
    assert spec.tasks.names == tuple(f"f{function}" for function in PAPER_TRAIN)
    assert spec.tasks.dimension == 10


def test_every_estimator_and_objective_can_be_written():
    kinds = {"full": FullBPTT, "truncated": TruncatedBPTT, "es": AntitheticES, "persistent-es": PersistentES}
    for name, kind in kinds.items():
        config = parse_config({"optimizer": TINY, "estimator": {"kind": name}})
        assert type(config.spec().estimator) is kind
    area = parse_config({"optimizer": TINY, "objective": {"kind": "area", "which": "best", "late": 2}})
    assert area.spec().objective == AreaUnderCurve("best", late=2)
    paper = parse_config({"optimizer": TINY, "objective": {"kind": "normalised-improvement"}})
    assert paper.spec().objective == NormalisedImprovement()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_is_known_from_what_is_saved_of_it(kind):
    config = parse_config({"optimizer": TINY if kind == "l2e" else {"kind": kind}, "tasks": {"dimension": 3}})
    settings = parse_settings(json.loads(json.dumps(config.settings["optimizer"])))
    assert settings == config.optimizer
    assert (settings.kind, settings.evaluations(4) > 4) == (kind, True)
    if kind in ("l2e", "b2opt", "glhf", "rnnopt"):  # the others draw their initial weights with numpy
        assert type(eqx.filter_eval_shape(settings.build, 3, 4, jax.random.key(0))) is settings.algorithm


def test_the_gate_of_training_is_not_that_of_inference():
    config = parse_config(
        {
            "optimizer": {**TINY, "gate": "soft", "tau": 0.5, "schedule": "staged", "stages": 3},
            "guidance": {"preconditioner": "diagonal"},
            "training": {"generations": 9},
        }
    )
    spec = config.spec()
    assert isinstance(spec.optimizer.gate, SoftGate)
    assert float(spec.optimizer.gate.tau) == 0.5
    assert isinstance(spec.optimizer.schedule, Staged)
    assert isinstance(spec.deployed(spec.optimizer).gate, HardGate)
    assert spec.guidance.preconditioner.metric.log_diagonal.shape == (10,)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"optimizer": {"operatr": "base"}}, r"unknown key in \[optimizer\] 'operatr'; did you mean operator"),
        (
            {"optimizer": TINY, "guidance": {"preconditioner": "low"}},
            "allowed: diagonal, hessian, identity, low-rank, solver",
        ),
        ({"optimizer": TINY, "estimator": {"kind": "full", "length": 3}}, r"unknown key in \[estimator\] 'length'"),
        ({"optimizer": TINY, "estimator": {"kind": "dqn", "reward": "mine"}}, r"unknown \[estimator\] reward 'mine'"),
        ({"optimiser": TINY}, "unknown table 'optimiser'; did you mean optimizer"),
        ({"optimizer": {"operator": "bse"}}, r"unknown \[optimizer\] operator 'bse'; did you mean base"),
        ({}, "missing: optimizer"),
        ({"optimizer": 3}, "optimizer must be a table"),
        ({"optimizer": {**TINY, "population_size": 10.5}}, "population_size must be a whole number from 1, got 10.5"),
        ({"optimizer": {**TINY, "alpha": "much"}}, "alpha must be a number from 0 to 1, got 'much'"),
        ({"optimizer": {**TINY, "noise": 1}}, "noise must be true or false"),
        ({"optimizer": TINY, "tasks": {"functions": 3}}, "functions must be a list of whole numbers"),
        ({"optimizer": TINY, "training": {"step": 3}}, "did you mean steps"),
        ({"optimizer": {"kind": "b2op"}}, r"unknown \[optimizer\] kind 'b2op'; did you mean b2opt"),
        ({"optimizer": {"kind": "glhf", "stages": 3}}, r"unknown key in \[optimizer\] 'stages'"),
        ({"optimizer": {"kind": "glhf"}, "guidance": {}}, "glhf has no guided path"),
    ],
)
def test_mistakes_are_named(tables, message):
    with pytest.raises((ValueError, UnknownNameError), match=message):
        parse_config(tables)


def test_test_functions_cannot_be_trained_on():
    with pytest.raises(ValueError, match="test functions of the paper"):
        parse_config({"optimizer": TINY, "tasks": {"functions": [1, PAPER_TEST[0]]}})


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "training.toml"
    path.write_text("[optimizer\n")
    with pytest.raises(ValueError, match=r"training\.toml is not a TOML file"):
        load_config(path)
    path.write_text('[optimizer]\noperator = "base"\npopulation = 5\n')
    with pytest.raises(ValueError, match=r"training\.toml: unknown key .*did you mean population_size"):
        load_config(path)


def test_trained_weights_are_an_ordinary_optimizer(tmp_path):
    config = parse_config(
        {"optimizer": {**TINY, "gate": "soft"}, "tasks": {"dimension": 3}, "training": {"generations": 4}}
    )
    trainer = Trainer(config.spec())
    state = trainer.begin(jax.random.key(0))
    save_best(TrainingFolder(tmp_path, {**config.settings, "seed": 0}, {}), trainer, state, 0.0, 0.0)
    model = load(tmp_path / "best.safetensors")
    assert isinstance(model.gate, HardGate)
    np.testing.assert_array_equal(
        model.schedule.operators.row_scales, state.weights.optimizer.schedule.operators.row_scales
    )
    save_tree(tmp_path / "other.safetensors", {"a": np.zeros(2)})
    with pytest.raises(CheckpointError, match="does not hold a trained model"):
        load(tmp_path / "other.safetensors")
