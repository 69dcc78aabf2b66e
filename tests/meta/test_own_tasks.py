"""Task families of a user's own and of the catalog: `family` in the table [tasks]."""

import jax
import numpy as np
import pytest

from l2e.api import models
from l2e.meta.config import load_config, parse_config
from l2e.meta.run import run
from l2e.meta.task_settings import TasksSettings

SMALL = {"optimizer": {"kind": "rnnopt", "units": 4}, "training": {"steps": 1, "generations": 3, "validation_batch": 1}}
ES = {"kind": "es", "pairs": 2}


@pytest.fixture(autouse=True)
def _found(monkeypatch, request):
    monkeypatch.syspath_prepend(request.path.parent)


def test_a_python_function_has_the_values_of_the_same_function_in_jax():
    traced = TasksSettings(dimension=3, family="own_tasks:traced").build()
    called = TasksSettings(dimension=3, family="own_tasks:called").build()
    points = np.random.default_rng(0).random((5, 3), np.float32)

    @jax.jit
    def both(keys):
        return [jax.vmap(lambda key, t=t: t.of(0, key).evaluate(points))(keys) for t in (traced, called)]

    ours, theirs = both(jax.random.split(jax.random.key(1), 4))
    assert ours.shape == (4, 5)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_card_names_the_family_that_was_trained_on(tmp_path):
    config = parse_config({**SMALL, "tasks": {"family": "own_tasks:called", "dimension": 3}, "estimator": ES})
    run(config.spec(), 0, tmp_path, config.settings, show=False)
    facts = models.card(tmp_path).metadata
    assert facts["tasks"]["family"] == "own_tasks:called"
    assert facts["family"].startswith("own_tasks:called (")
    assert facts["family"].endswith("): python bowls, 3-D")
    usual = parse_config(SMALL)
    assert "family" not in usual.settings["tasks"]
    assert usual.spec().family == "fresh instances of BBOB f1, f2, f3, f5, f15, f16, f17, f21, f2 to f4 rotated"


def test_families_of_the_catalog_are_tasks():
    tasks = TasksSettings(functions=(3, 4), dimension=30, family="uav").build()
    assert tasks.names == ("uav:f3:i2:d30", "uav:f4:i2:d30")
    assert tasks.dimension == 30
    networks = TasksSettings(functions=(1, 5), family="surrogate-mlp").build()
    task = networks.of(1, jax.random.key(0))
    assert np.isfinite(task.evaluate(np.zeros((2, 10), np.float32))).all()


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"family": "own_tasks:called"}, "have no gradients: write kind"),
        ({"family": "own_tasks:too_large"}, "made tasks of 11 dimensions, not 10"),
        ({"family": "own_tasks:nothing"}, "made a int, not tasks"),
        ({"family": "own_tasks:absent"}, "write module:factory, found from the current folder"),
        ({"family": "uaw"}, "did you mean uav"),
        ({"family": "paper-bbob"}, "when family is left out"),
        ({"family": "lsgo", "functions": [1, 7]}, r"functions \[1\] of lsgo are test functions"),
        (
            {"family": "surrogate-kan", "functions": [1, 3, 6]},
            r"functions \[3, 6\] of surrogate-kan are test functions",
        ),
    ],
)
def test_mistakes_are_named(tasks, message):
    with pytest.raises(ValueError, match=message):
        parse_config({**SMALL, "tasks": tasks}).spec()


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ("raising", r"own_tasks.without_licence of a task failed: KeyError: 'no licence' \(.*own_tasks.py, line"),
        ("misshapen", r"own_tasks.of_one_point of a task must return (\d+) values for \1 points, .*, got \(\)"),
    ],
)
def test_a_python_function_that_does_not_work_is_named(family, message, tmp_path):
    tasks = {"family": f"own_tasks:{family}", "dimension": 3}
    config = parse_config({**SMALL, "tasks": tasks, "estimator": ES})
    with pytest.raises(ValueError, match=message):
        run(config.spec(), 0, tmp_path, config.settings, show=False)


def test_the_example_is_readable(request, monkeypatch):
    examples = request.config.rootpath / "examples"
    monkeypatch.syspath_prepend(examples)
    assert load_config(examples / "09_own_tasks.toml").spec().tasks.names == ("measured valleys",)
