"""The networks in place of functions: what they compute, that their cards are true, and that they are problems."""

import jax
import numpy as np
import pytest
from scipy.interpolate import BSpline

import l2e
from l2e.api import problem_catalog
from l2e.bench.suite import instances
from l2e.core.traced import runtime
from l2e.core.traced.problem import stack
from l2e.problems import PAPER_SURROGATE_TEST, surrogate
from l2e.problems._surrogate.networks import DEGREE, INTERVALS, b_splines
from l2e.problems._surrogate.quality import quality, sample
from l2e.problems._surrogate.suite import SHIPPED, cards

KINDS = ("mlp", "kan")
POINTS = np.random.default_rng(0).uniform(-5, 5, (40, 10))


def test_splines_are_those_of_scipy():
    knots = -1 + (np.arange(INTERVALS + 2 * DEGREE + 1) - DEGREE) * 2 / INTERVALS
    x = np.linspace(-1, 1, 101)
    expected = BSpline.design_matrix(x, knots, DEGREE).toarray()
    with runtime.float64():
        np.testing.assert_allclose(b_splines(jax.numpy.asarray(x)), expected, atol=1e-12)


def by_hand(problem, points):
    """The value of a network, layer by layer in numpy."""
    fitted, rows = problem.fitted, points / 5
    layers = jax.tree.map(lambda leaf: np.asarray(leaf, float), fitted.network).layers
    for place, layer in enumerate(layers):
        if problem.kind == "mlp":
            rows = rows @ layer.matrix + layer.offset
            rows = np.maximum(rows, 0) if place < len(layers) - 1 else rows
        else:
            with runtime.float64():
                basis = np.asarray(b_splines(jax.numpy.asarray(rows)))
            curved = np.einsum("nik,iko->no", basis, layer.splines)
            rows = curved + rows / (1 + np.exp(-rows)) @ layer.base + layer.offset
    return 10 ** (float(fitted.mean) + float(fitted.deviation) * rows[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_network_computed_by_hand(kind):
    for function in (1, 8, 22):
        problem = surrogate(function, kind)
        np.testing.assert_allclose(problem(POINTS), by_hand(problem, POINTS), rtol=1e-9)
        assert problem(POINTS[3]) == pytest.approx(problem(POINTS)[3], rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_network_is_as_good_as_its_card_says(kind):
    """Measured on other points than the card's, hence the tolerance."""
    assert list(cards(kind)) == [f"f{function}" for function in range(1, 25)]
    for function in range(1, 25):
        problem = surrogate(function, kind)
        measured = quality(*sample(problem, 2000, 7))
        assert measured.r2 == pytest.approx(problem.card["r2"], abs=0.08)
        assert measured.spearman == pytest.approx(problem.card["spearman"], abs=0.06)


def test_most_functions_are_learned_and_the_ruggedest_are_not():
    for kind in KINDS:
        fits = {name: card["r2"] for name, card in cards(kind).items()}
        assert sum(fit > 0.85 for fit in fits.values()) >= 19
        assert max(fits["f16"], fits["f23"]) < 0.1  # Weierstrass and Katsuura: noise at every scale that was sampled


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_small(kind):
    assert (SHIPPED / f"{kind}.safetensors").stat().st_size < 500_000


@pytest.mark.parametrize("kind", KINDS)
def test_networks_of_a_kind_are_stacked_and_mapped(kind):
    problems = [surrogate(function, kind) for function in (3, 7)]
    with runtime.float64():
        mapped = jax.jit(jax.vmap(lambda one: one.evaluate(POINTS)))(stack(problems))
    np.testing.assert_allclose(mapped, [problem(POINTS) for problem in problems], rtol=1e-12)


def test_a_network_is_minimised_and_knows_its_truth():
    problem = surrogate(8, "kan")
    result = l2e.minimize(problem, budget=300, rng=0)
    assert result.fun < problem(POINTS).min()
    assert getattr(problem, "optimum", None) is None
    assert problem.truth(result.x) >= problem.truth.optimum.f
    assert problem.name == "Rosenbrock_original (kan)"


def test_names_of_the_catalog_are_suites():
    for kind in KINDS:
        found = instances(f"surrogate-{kind}", (), (10,), (1,))
        assert [instance.function for instance in found] == list(PAPER_SURROGATE_TEST)
        assert problem_catalog.problem(f"surrogate-{kind}:f3").kind == kind  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((25, "mlp"), "between 1 and 24"), ((3, "mpl"), "did you mean mlp"), ((0, "kan"), "at least 1")],
)
def test_wrong_arguments_are_errors_that_say_what_is_allowed(arguments, message):
    with pytest.raises(ValueError, match=message):
        surrogate(*arguments)
