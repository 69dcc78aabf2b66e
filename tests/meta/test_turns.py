"""Trainings whose steps take several dimensions in turn."""

from typing import Any

import jax
import numpy as np
import pytest
from helpers.toy import shifted_bowls, toy

from l2e.meta import FullBPTT, LogGap, TrainSpec
from l2e.meta.config import parse_config
from l2e.meta.train import Trainer, train_step


def tables(optimizer=None, estimator=None, **tasks):
    return {
        "optimizer": {"operator": "coordinate-free", "population_size": 6, "width": 4, "schedule": "shared"}
        | (optimizer or {}),
        "tasks": {"functions": [1], "dimension": 2} | tasks,
        "estimator": estimator or {"kind": "full"},
        "training": {"generations": 3, "steps": 3, "validate_every": 9, "validation_batch": 2},
    }


def spec(tasks, *turns):
    sizes: dict[str, Any] = {"steps": 3, "generations": 3, "validate_every": 9, "validation_batch": 2}
    return TrainSpec(toy(size=4), tasks, LogGap(), FullBPTT(), turns=turns, **sizes)


def test_steps_and_validation_take_the_tasks_in_turn():
    bowls = [shifted_bowls(dimension=dimension) for dimension in (2, 3)]
    both, alone = Trainer(spec(*bowls)), [Trainer(spec(tasks)) for tasks in bowls]
    state = both.begin(jax.random.key(0))
    for step in range(2):
        arguments = (alone[step].loss, both.spec.estimator, both.rule, state, alone[step].work(state))
        expected, estimate, _ = train_step(*arguments)
        state, info = both.advance(state)
        assert info.loss == float(estimate.loss) / int(estimate.counted)
        np.testing.assert_array_equal(state.weights.optimizer.weights, expected.weights.optimizer.weights)
    assert both.loss_of(state) is both.losses[0]
    rows = both.validate(state.weights)
    assert rows.shape == (1, 4)
    np.testing.assert_array_equal(rows, np.concatenate([one.validate(state.weights) for one in alone], axis=1))


def test_a_file_names_the_dimensions_that_take_turns():
    made = parse_config(tables(turns=[3])).spec()
    assert [tasks.dimension for tasks in made.all_tasks] == [2, 3]
    assert made.family.endswith("in 2, 3-D")


def test_tasks_that_take_turns_are_of_the_same_families():
    with pytest.raises(ValueError, match="must be of the same families"):
        spec(shifted_bowls(1), shifted_bowls(2))


def test_turns_are_refused_where_weights_or_runs_have_one_dimension():
    with pytest.raises(ValueError, match=r"turns in \[tasks\] are for a model of any dimension"):
        parse_config(tables({"operator": "base"}, turns=[3]))
    with pytest.raises(ValueError, match=r"\[guidance\] cannot be used with turns"):
        parse_config({**tables(turns=[3]), "guidance": {}})
    estimator = {"kind": "persistent-es", "length": 3}
    carrying = Trainer(parse_config(tables(estimator=estimator, turns=[3])).spec())
    with pytest.raises(ValueError, match="its tasks cannot take turns"):
        carrying.begin(jax.random.key(0))


def test_settings_without_turns_are_those_of_before():
    assert "turns" not in parse_config(tables()).settings["tasks"]
    assert parse_config(tables(turns=[3])).settings["tasks"]["turns"] == [3]


def test_turns_have_populations_and_lengths_of_their_own():
    sizes = {"turn_generations": [2], "turn_populations": [4]}
    file = tables({"operator": "covariance"}, {"kind": "es", "pairs": 2}, turns=[3])
    file["training"] |= sizes
    trainer = Trainer(parse_config(file).spec())
    assert trainer.spec.episodes == ((3, None), (2, 4))
    state = trainer.begin(jax.random.key(0))
    family, key = np.int32(0), jax.random.key(1)
    for loss, (generations, size) in zip(trainer.losses, trainer.spec.episodes, strict=True):
        optimizer = loss.unguided(state.weights)
        assert (optimizer.population_size, int(optimizer.horizon)) == (size or 6, generations)
        assert loss.episode(state.weights, family, key, np.float32(0)).best.shape == (generations,)
        moved, info = trainer.advance(state)
        assert np.isfinite(info.loss)
        state = moved
    assert trainer.validate(state.weights).shape == (1, 4)


def test_sizes_of_turns_are_one_for_each():
    file = tables(turns=[3])
    file["training"] |= {"turn_generations": [2, 4]}
    with pytest.raises(ValueError, match="turn_generations must have one number for each of the 1 turns"):
        parse_config(file).spec()


def test_settings_without_sizes_of_turns_are_those_of_before():
    assert not {"turn_generations", "turn_populations"} & set(parse_config(tables()).settings["training"])
