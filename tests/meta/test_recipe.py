"""Training as the paper writes it: guidance, its scale, its matrix, and the steps of the weights."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import IdentityGuide
from l2e.algorithms.l2e.projection import Diagonal, LowRank
from l2e.core.box import box
from l2e.core.traced.problem import JAXFunction
from l2e.meta import FullBPTT, Guidance, LogGap, NormalisedImprovement
from l2e.meta.config import load_config, parse_config
from l2e.meta.guides import DiagonalHessian, Metric, PopulationLoss
from l2e.meta.train import Trainer, train_step

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments" / "train"
BOWL = JAXFunction(lambda x: jnp.sum(jnp.asarray([1.0, 10.0]) * (x - 1) ** 2), box([(-2, 2)] * 2, np.float32))
POINTS = jnp.asarray([[0.25, 0.5], [0.9, 0.6], [0.1, 0.2]])
VALUES = BOWL.evaluate(-2 + 4 * POINTS)
GRADIENTS = 8 * np.asarray([1.0, 10.0]) * (4 * np.asarray(POINTS) - 3)  # in the unit cube

PAPER = {
    "optimizer": {
        "operator": "base",
        "population_size": 6,
        "width": 4,
        "gate": "soft-raw",
        "gate_gradient": True,
        "deployed_gate": "soft-raw",
        "noise": False,
        "absolute": True,
        "spectral": "divided",
        "metric": "diagonal",
        "projection": "fused",
    },
    "tasks": {"functions": [1], "dimension": 3},
    "objective": {"kind": "normalised-improvement"},
    "guidance": {"scale": "meta-loss", "schedule": "constant", "preconditioner": "solver", "second_order": True},
    "training": {"generations": 3, "steps": 4, "validation_batch": 1, "validate_every": 4},
}


def changed(tables, **tables_changes):
    return {**tables, **{name: {**tables.get(name, {}), **change} for name, change in tables_changes.items()}}


def one_step(tables):
    """A trainer, the state before its first step and the one after it."""
    trainer = Trainer(parse_config(tables).spec())
    state = trainer.begin(jax.random.key(0))
    with trainer.precision():
        after, estimate, norms = train_step(
            trainer.loss, trainer.spec.estimator, trainer.rule, state, trainer.work(state)
        )
    return trainer, state, after, estimate, norms


@pytest.fixture(scope="module")
def guided_step():
    return one_step(PAPER)


def test_constant_guidance_never_ends():
    guidance = Guidance(schedule="constant", until=0.5)
    assert {guidance.strength(step, 100) for step in (0, 50, 99)} == {1.0}


def literal(objective, preconditioner=None, generation=0):
    loss = PopulationLoss(objective, jnp.asarray(40.0), jnp.asarray(9.0), jnp.asarray(0.0))
    guidance = Guidance(preconditioner or Metric(), kappa=0.5, scale="meta-loss")
    return guidance.guide(BOWL, jnp.asarray(1.0), None, loss)(POINTS, VALUES, jnp.asarray(generation))


@pytest.mark.parametrize("generation", [0, 4])
def test_the_literal_guide_follows_the_gradient_of_the_meta_loss(generation):
    moved, values = literal(NormalisedImprovement(), generation=generation)
    expected = np.asarray(POINTS) - 0.5 / (generation + 1) * GRADIENTS / (3 * 40)
    np.testing.assert_allclose(moved, expected, rtol=1e-5)
    np.testing.assert_allclose(values, BOWL.evaluate(-2 + 4 * moved), rtol=1e-5)


def test_the_guide_of_any_meta_loss_is_its_gradient():
    moved, _ = literal(LogGap())
    mean = float(VALUES.mean())
    np.testing.assert_allclose(
        moved, np.clip(np.asarray(POINTS) - 0.5 * GRADIENTS / (3 * mean * np.log(10)), 0, 1), rtol=1e-4
    )


def test_a_newton_step_does_not_know_the_scale_of_the_meta_loss():
    moved, _ = literal(NormalisedImprovement(), DiagonalHessian(0.0))
    np.testing.assert_allclose(moved, POINTS + 0.5 * (0.75 - POINTS), rtol=1e-4)


def test_a_literal_guide_without_a_meta_loss_is_refused():
    with pytest.raises(ValueError, match="needs the meta-loss"):
        Guidance(scale="meta-loss").guide(BOWL, jnp.asarray(1.0))


def test_the_solvers_metric_serves_the_guided_path():
    solver = parse_config(PAPER).spec().optimizer
    guide = Guidance(None).guide(BOWL, jnp.asarray(1.0), solver)
    assert guide.preconditioner.metric is solver.metric
    assert not guide.project  # the solver projects what it has fused
    with pytest.raises(TypeError, match="no metric"):
        Guidance(None).guide(BOWL, jnp.asarray(1.0))


def test_a_preconditioned_step_is_that_of_the_inverse_matrix():
    diagonal, factor = jnp.asarray([1.0, 3.0]), jnp.asarray([[0.5], [1.0]])
    for metric, matrix in [
        (Diagonal(diagonal), np.diag([1.0, 3.0])),
        (LowRank(diagonal, factor), np.asarray([[1.25, 0.5], [0.5, 4.0]])),
    ]:
        guide = Guidance(Metric(metric), kappa=1e-3, scale="values").guide(BOWL, jnp.asarray(1.0))
        moved, _ = guide(POINTS, VALUES, jnp.asarray(0))
        np.testing.assert_allclose(moved, POINTS - 1e-3 * np.linalg.solve(matrix, GRADIENTS.T).T, rtol=1e-5)


def test_a_guided_step_of_the_papers_recipe_moves_every_kind_of_weight(guided_step):
    _, before, after, estimate, norms = guided_step
    assert int(estimate.counted) == 1
    assert np.isfinite(float(norms.unclipped))
    moved = jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), before.weights, after.weights).optimizer
    assert moved.metric.log_diagonal > 0  # through the guided path
    assert moved.schedule.operators.row_scales > 0


def losses(tables, strengths):
    """The loss of the first weights on the first task, at each strength of the guidance."""
    trainer = Trainer(parse_config(tables).spec())
    work = trainer.work(trainer.begin(jax.random.key(0)))
    loss = eqx.filter_jit(trainer.loss)
    return [
        float(loss(trainer.first_weights, work.families[0], work.keys[0, 0], jnp.asarray(strength)))
        for strength in strengths
    ]


def test_guidance_lowers_the_loss_and_a_step_of_no_length_is_no_guidance():
    normalised = changed(PAPER, guidance={"scale": "unit-length"})
    (off,) = losses({name: table for name, table in PAPER.items() if name != "guidance"}, [1.0])
    none, guided = losses(normalised, [0.0, 1.0])
    assert none == pytest.approx(off, rel=1e-5)
    assert guided < off - 0.01


def test_what_is_deployed_and_validated_is_not_guided(guided_step):
    trainer, state, *_ = guided_step
    assert isinstance(trainer.optimizer(state.weights).guide, IdentityGuide)
    plain = Trainer(parse_config({name: table for name, table in PAPER.items() if name != "guidance"}).spec())
    np.testing.assert_array_equal(trainer.validate(trainer.first_weights), plain.validate(plain.first_weights))


def test_plain_steps_follow_the_gradient():
    training = {"rule": "sgd", "learning_rate": 0.25, "schedule": "constant", "clip": 10.0}
    rule = parse_config(changed(PAPER, training=training)).spec().update_rule
    gradient = {"a": jnp.asarray([1.0, -2.0])}
    np.testing.assert_allclose(rule.update(gradient, rule.init(gradient))[0]["a"], [-0.25, 0.5])
    adam = parse_config(changed(PAPER, training={**training, "rule": "adam"})).spec().update_rule
    np.testing.assert_allclose(adam.update(gradient, adam.init(gradient))[0]["a"], [-0.25, 0.25], rtol=1e-4)


@pytest.mark.parametrize("operator", ["base", "mamba"])
def test_the_papers_trainings_are_its_recipe(operator):
    config = load_config(EXPERIMENTS / f"l2e-paper-{operator}-10d.toml")
    optimizer, guidance = config.optimizer, config.guidance.build(10)
    assert (optimizer.operator, optimizer.gate, optimizer.deployed_gate) == (operator, "soft-raw", "soft-raw")
    assert optimizer.gate_gradient
    assert optimizer.absolute
    assert not optimizer.noise
    assert (optimizer.alpha, optimizer.tau, optimizer.population_size) == (0.9, 1.0, 100)
    assert (optimizer.spectral, optimizer.projection, optimizer.coefficient) == ("divided", "fused", 1.0)
    assert (optimizer.schedule, config.training.generations) == ("unshared", 199)
    assert config.objective == NormalisedImprovement()
    assert isinstance(config.estimator, FullBPTT)
    assert {guidance.strength(step, 200) for step in (0, 199)} == {1.0}
    assert (guidance.scale, guidance.preconditioner) == ("meta-loss", None)
