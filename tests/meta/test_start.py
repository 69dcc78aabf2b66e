"""Trainings that go on from other trainings' weights."""

import jax
import numpy as np
import pytest

from l2e.meta.config import parse_config
from l2e.meta.folder import TrainingFolder
from l2e.meta.run import save_best
from l2e.meta.train import Trainer

SHARED = {
    "optimizer": {"operator": "base", "population_size": 6, "width": 4, "schedule": "shared"},
    "tasks": {"functions": [1], "dimension": 3},
    "training": {"generations": 4},
}


def changed(optimizer=None, **training):
    return {
        **SHARED,
        "optimizer": SHARED["optimizer"] | (optimizer or {}),
        "training": SHARED["training"] | training,
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A training of shared weights, saved before its first step."""
    path = tmp_path_factory.mktemp("shared")
    config = parse_config(changed(seed=5))
    trainer = Trainer(config.spec())
    settings = {**config.settings, "seed": 5}
    save_best(TrainingFolder(path, settings, settings), trainer, trainer.begin(jax.random.key(5)), 0.0, 0.0)
    return path


@pytest.mark.parametrize(("schedule", "copies"), [("unshared", 4), ("staged", 2)])
def test_shared_weights_go_on_in_every_generation_or_stage(shared, schedule, copies):
    tables = changed({"schedule": schedule, "stages": 2}, start=str(shared))
    operators = parse_config(tables).spec().optimizer.schedule.operators
    first = parse_config(changed(seed=5)).spec().optimizer.schedule.operator
    assert operators.row_scales.shape[0] == copies
    for copy in range(copies):
        np.testing.assert_array_equal(operators.row_scales[copy], first.row_scales)
        np.testing.assert_array_equal(operators.pair_logits[copy], first.pair_logits)


def test_weights_of_the_same_schedule_are_taken_as_they_are(shared):
    started = parse_config(changed(seed=1, start=str(shared))).spec().optimizer.schedule.operator
    first = parse_config(changed(seed=5)).spec().optimizer.schedule.operator
    np.testing.assert_array_equal(started.row_scales, first.row_scales)


def test_weights_that_do_not_fit_are_refused_by_name(shared):
    with pytest.raises(ValueError, match=r"does not fit: \.schedule\.operator\.pair_logits of shape \(8, 8\)"):
        parse_config(changed({"population_size": 8}, start=str(shared))).spec()


def test_settings_without_a_start_are_those_of_before():
    assert "start" not in parse_config(SHARED).settings["training"]
    assert parse_config(changed(start="runs/a")).settings["training"]["start"] == "runs/a"
