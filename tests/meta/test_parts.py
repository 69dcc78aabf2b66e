"""Tasks, objectives and guidance by themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.core.box import box
from l2e.core.traced.problem import JAXFunction
from l2e.meta import (
    AreaUnderCurve,
    Episode,
    FunctionTasks,
    Guidance,
    LogGap,
    NormalisedImprovement,
    PaperTrainTasks,
    RandomBBOBTasks,
    guides,
)
from l2e.problems._bbob import random
from l2e.problems._bbob.paper import PAPER_TEST, PAPER_TRAIN

KEY = jax.random.key(2)


def episode(mean, best=None, start=100.0, f_opt=0.0):
    mean = jnp.asarray(mean)
    best = mean if best is None else jnp.asarray(best)
    return Episode(jnp.asarray(start), jnp.asarray(start), mean, best, jnp.asarray(f_opt))


def test_a_task_is_the_function_of_its_family():
    tasks = RandomBBOBTasks([1, 15], 4)
    points = jax.random.uniform(KEY, (5, 4), minval=-5, maxval=5)
    values = jax.jit(lambda family: tasks.of(family, KEY).evaluate(points))
    for family, function in enumerate((1, 15)):
        drawn = random.sample_bbob(KEY, function, 4)
        expected = drawn.evaluate(points) - drawn.parameters.f_opt
        np.testing.assert_allclose(values(jnp.asarray(family)), expected, rtol=1e-3)


def test_tasks_of_one_family_can_be_mapped_and_are_different():
    tasks = RandomBBOBTasks([1], 3)
    zero = jnp.zeros((1, 3))
    values = jax.vmap(lambda key: tasks.of(jnp.asarray(0), key).evaluate(zero)[0])(jax.random.split(KEY, 5))
    assert len(set(np.asarray(values).tolist())) == 5


def test_the_papers_tasks_hold_no_test_function():
    tasks = PaperTrainTasks(5)
    assert tasks.functions == PAPER_TRAIN
    assert not set(tasks.functions) & set(PAPER_TEST)
    assert tasks.families == 8


def test_ones_own_functions_are_tasks():
    space = box([(-1, 1)] * 2)
    tasks = FunctionTasks([JAXFunction(lambda x: jnp.sum(x**2) + 3, space)], [3.0], ["bowl"])
    task = tasks.sample(KEY)
    assert tasks.names == ("bowl",)
    assert float(task.f_opt) == 3.0
    assert task.evaluate(jnp.ones((1, 2))).dtype == jnp.float32
    with pytest.raises(ValueError, match="one f_opt per source"):
        FunctionTasks([JAXFunction(jnp.sum, space)], [])
    with pytest.raises(ValueError, match="one dimension"):
        FunctionTasks([JAXFunction(jnp.sum, space), JAXFunction(jnp.sum, box([(0, 1)] * 3))], [0.0, 0.0])


def test_objectives_are_their_formulas():
    run = episode([60.0, 12.0], best=[50.0, 2.0], start=102.0, f_opt=2.0)
    assert float(NormalisedImprovement(0.0)(run)) == pytest.approx(-(100 - 10) / 100)
    assert float(LogGap(relative=False)(run)) == pytest.approx(1.0)
    assert float(LogGap()(run)) == pytest.approx(1.0 - 2.0)
    assert float(LogGap("best", floor=1e-6, relative=False)(run)) == pytest.approx(-6)
    logs = np.log10([58.0, 10.0])
    assert float(AreaUnderCurve(relative=False)(run)) == pytest.approx(logs.mean())
    assert float(AreaUnderCurve(relative=False, late=3.0)(run)) == pytest.approx((logs[0] + 3 * logs[1]) / 4)
    below = episode([1.0], f_opt=2.0)
    assert float(LogGap(relative=False)(below)) == pytest.approx(-8)


def quadratic():
    scales = jnp.asarray([1.0, 10.0])
    return JAXFunction(lambda x: jnp.sum(scales * (x - 1) ** 2), box([(-2, 2)] * 2, np.float32))


def guided(preconditioner, points, generation=0, **options):
    guidance = Guidance(preconditioner, **options)
    guide = guidance.guide(quadratic(), jnp.asarray(1.0))
    return guide(points, jnp.zeros(len(points)), jnp.asarray(generation))


def test_the_guide_follows_the_gradient_with_falling_steps():
    points = jnp.asarray([[0.25, 0.5]])
    x = -2 + 4 * np.asarray(points)
    gradient = 4 * 2 * np.asarray([1.0, 10.0]) * (x - 1)  # in the unit cube
    for k in (0, 3):
        moved, values = guided(guides.Metric(), points, k, kappa=1e-3, scale="values")
        np.testing.assert_allclose(moved, points - 1e-3 / (k + 1) * gradient, rtol=1e-5)
        np.testing.assert_allclose(values, quadratic().evaluate(-2 + 4 * moved), rtol=1e-5)
    moved, _ = guided(guides.Metric(), points, kappa=0.01)
    assert np.sqrt(np.mean((moved - points) ** 2)) == pytest.approx(0.01, rel=1e-4)


def test_the_diagonal_of_the_hessian_makes_a_newton_step():
    points = jnp.asarray([[0.25, 0.5], [0.9, 0.6]])
    moved, _ = guided(guides.DiagonalHessian(0.0), points, kappa=1.0, scale="values")
    np.testing.assert_allclose(moved, 0.75, rtol=1e-4)


def test_learned_preconditioners_begin_mild_and_have_gradients():
    points = jnp.asarray([[0.25, 0.5]])
    plain, _ = guided(guides.Metric(), points, kappa=1e-3, scale="values")
    diagonal, _ = guided(guides.Metric(guides.LearnedDiagonal(2)), points, kappa=1e-3, scale="values")
    np.testing.assert_allclose(diagonal, plain, rtol=1e-5)

    def value(preconditioner):
        return jnp.sum(guided(preconditioner, points, kappa=1e-3)[1])

    gradient = np.asarray(jax.grad(value)(guides.Metric(guides.LearnedDiagonal(2))).metric.log_diagonal)
    assert np.isfinite(gradient).all()
    assert gradient.any()


def test_guidance_is_gone_when_its_time_is_over():
    guidance = Guidance(until=0.5)
    assert guidance.strength(0, 100) == 1.0
    assert guidance.strength(25, 100) == pytest.approx(0.5)
    assert guidance.strength(50, 100) == guidance.strength(99, 100) == 0.0
    with pytest.raises(ValueError, match="until"):
        Guidance(until=0.0)


def test_a_flat_place_gives_no_step():
    problem = JAXFunction(lambda x: 0 * jnp.sum(x), box([(0, 1)] * 2, np.float32))
    guide = Guidance().guide(problem, jnp.asarray(1.0))
    points = jnp.asarray([[0.2, 0.3]])
    np.testing.assert_array_equal(guide(points, jnp.zeros(1), jnp.asarray(0))[0], points)
