"""What every operator promises, and what each one is."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from l2e.algorithms.l2e import AttentionMLP, Certified, CoordinateFree, Covariance, StructuredMamba
from l2e.algorithms.l2e.operators.features import squashed_scores, statistics
from l2e.algorithms.nn import SpectralLinear
from l2e.core.traced import runtime

N, D = 12, 3
KEY = jax.random.key(4)


@eqx.filter_jit
def propose(operator, points, values, key=KEY):
    return operator(points, values, key)


@eqx.filter_jit
@eqx.filter_grad
def gradient(arguments, key):
    """Of the sum of squared proposals, by the operator, the points and the values."""
    operator, points, values = arguments
    return jnp.sum(operator(points, values, key) ** 2)


def perturbed(operator):
    """All weights moved away from their first values, some of which are zero."""
    leaves, structure = jax.tree.flatten(operator)
    keys = jax.random.split(KEY, len(leaves))
    moved = [leaf + 0.3 * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(structure, moved)


OPERATORS = {
    "attention-mlp": AttentionMLP(N, D, key=KEY),
    "attention-mlp without noise": AttentionMLP(N, D, noise=False, key=KEY),
    "attention-mlp in the cube": AttentionMLP(N, D, absolute=True, noise=False, key=KEY),
    "mamba": StructuredMamba(D, width=8, heads=2, key=KEY),
    "mamba without noise": StructuredMamba(D, width=8, heads=2, noise=False, key=KEY),
    "mamba in the cube": StructuredMamba(D, width=8, heads=2, absolute=True, key=KEY),
    "coordinate-free": CoordinateFree(width=8, key=KEY),
    "coordinate-free without noise": CoordinateFree(width=8, noise=False, key=KEY),
    "covariance": Covariance(width=4, key=KEY),
    "covariance without noise": Covariance(width=4, noise=False, key=KEY),
}


@pytest.fixture(params=OPERATORS)
def operator(request):
    return perturbed(OPERATORS[request.param])


@pytest.fixture(params=["attention-mlp", "mamba", "coordinate-free", "covariance"])
def differentiated(request):
    return perturbed(OPERATORS[request.param])


@pytest.fixture
def population():
    points = jax.random.uniform(jax.random.key(0), (N, D))
    return points, jnp.sum((points - 0.3) ** 2, axis=1)


def test_permuting_individuals_permutes_proposals(operator, population) -> None:
    points, values = population
    order = np.random.default_rng(0).permutation(N)
    straight = propose(operator, points, values, KEY)
    np.testing.assert_allclose(propose(operator, points[order], values[order], KEY), straight[order], atol=2e-6)
    assert float(jnp.max(jnp.abs(straight - points))) > 1e-3


def test_only_rank_and_score_of_values_matter(operator, population) -> None:
    points, values = population
    np.testing.assert_allclose(
        propose(operator, points, 1000 * values - 7, KEY), propose(operator, points, values, KEY), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("failed", [[0], list(range(1, N)), list(range(N))], ids=["one", "all but one", "all"])
def test_failed_values_give_finite_proposals_and_gradients(differentiated, population, failed) -> None:
    points, values = population
    values = values.at[np.array(failed)].set(jnp.inf)

    assert np.isfinite(propose(differentiated, points, values)).all()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient((differentiated, points, values), KEY)))


def test_a_collapsed_population_gives_finite_proposals_and_gradients(differentiated) -> None:
    points, values = jnp.full((N, D), 0.25), jnp.zeros(N)
    assert np.isfinite(propose(differentiated, points, values)).all()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient((differentiated, points, values), KEY)))


def test_the_points_decide_the_dtype(operator, population) -> None:
    points, values = population
    assert propose(operator, points, values, KEY).dtype == jnp.float32
    with runtime.float64():
        doubled = propose(operator, jnp.asarray(points, jnp.float64), jnp.asarray(values, jnp.float64), KEY)
        assert doubled.dtype == jnp.float64
        wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), operator)
        assert propose(wide, points, values, KEY).dtype == jnp.float32


@pytest.mark.parametrize(
    "make",
    [
        lambda key: AttentionMLP(N, D, key=key),
        lambda key: StructuredMamba(D, width=8, key=key),
        lambda key: CoordinateFree(width=8, key=key),
        lambda key: Covariance(width=8, key=key),
        lambda key: Certified(D, width=8, noise=True, key=key),
    ],
    ids=["attention-mlp", "mamba", "coordinate-free", "covariance", "certified"],
)
def test_a_key_means_the_same_weights_in_float64(make) -> None:
    narrow = make(KEY)
    with runtime.float64():
        wide = make(KEY)
    for a, b in zip(jax.tree.leaves(narrow), jax.tree.leaves(wide), strict=True):
        assert a.dtype == b.dtype == jnp.float32
        np.testing.assert_array_equal(a, b)


def test_every_weight_has_a_gradient_and_values_have_none(differentiated, population) -> None:
    by_operator, by_points, by_values = gradient((differentiated, *population), KEY)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves((by_operator, by_points)))
    np.testing.assert_array_equal(by_values, np.zeros(N))


@pytest.mark.parametrize("name", [name for name in OPERATORS if "without" not in name and "cube" not in name])
def test_noise_depends_on_the_key_and_can_be_left_out(name, population) -> None:
    noisy = OPERATORS[name]
    quiet = OPERATORS[f"{name} without noise"]
    other = jax.random.key(5)
    assert not np.allclose(propose(noisy, *population, KEY), propose(noisy, *population, other))
    np.testing.assert_array_equal(propose(quiet, *population, KEY), propose(quiet, *population, other))


@pytest.mark.parametrize("variant", ["without noise", "in the cube"])
def test_attention_mlp_equals_the_formula(population, variant) -> None:
    operator = perturbed(OPERATORS[f"attention-mlp {variant}"])
    order = np.argsort(population[1])
    points, f = (np.asarray(part, float)[order] for part in population)
    origin, unit = (0.5, 1.0) if operator.absolute else (points.mean(axis=0), points.std(axis=0))
    x = (points - origin) / unit
    tokens = np.stack([np.linspace(-1, 1, N), np.tanh((f - f.mean()) / f.std()), np.ones(N)], axis=1)

    def softmax(rows):
        return np.exp(rows) / np.exp(rows).sum(axis=-1, keepdims=True)

    weights = {name: np.asarray(leaf, float) for name, leaf in vars(operator).items() if eqx.is_array(leaf)}
    by_value = softmax((tokens @ weights["query"].T) @ (tokens @ weights["key"].T).T / np.sqrt(16))
    fusion = softmax(weights["fusion_logits"])
    crossed = (fusion[0] * softmax(weights["pair_logits"]) + fusion[1] * by_value) @ x
    hidden = np.maximum(crossed @ weights["hidden"][:, :D].T + weights["hidden"][:, D], 0)
    mutated = hidden @ weights["output"][:, :D].T + weights["output"][:, D]
    w1, w2, w3 = weights["row_scales"][:, :, None]
    expected = origin + unit * (w1 * x + w2 * crossed + w3 * mutated)
    np.testing.assert_allclose(np.asarray(propose(operator, *population, KEY))[order], expected, rtol=1e-4, atol=1e-5)


def test_first_attention_mlp_keeps_the_centre_of_a_shifted_population(population) -> None:
    """w1 + w2 = 1 and w3 = 0 at first: shifting all points shifts all proposals."""
    points, values = population
    first = OPERATORS["attention-mlp"]
    np.testing.assert_allclose(
        propose(first, points + 0.2, values, KEY), propose(first, points, values, KEY) + 0.2, atol=1e-5
    )


@pytest.mark.parametrize("name", ["attention-mlp", "mamba", "coordinate-free"])
def test_relative_operators_follow_shifts_and_scales_of_coordinates(name, population) -> None:
    points, values = population
    operator = perturbed(OPERATORS[name])
    if name == "mamba":  # only statistics see the absolute spread
        operator = eqx.tree_at(lambda o: o.router.hidden.weight, operator, replace_fn=jnp.zeros_like)
    if name == "coordinate-free":
        operator = eqx.tree_at(lambda o: o.embedding.weight, operator, replace_fn=lambda w: w.at[:, 5:].set(0))
    scale, shift = jnp.array([0.1, 1.0, 3.0]), jnp.array([0.5, -1.0, 0.0])
    moved = propose(operator, points * scale + shift, values, KEY)
    np.testing.assert_allclose(moved, propose(operator, points, values, KEY) * scale + shift, atol=2e-5)


def test_mamba_step_is_bounded() -> None:
    operator = perturbed(StructuredMamba(D, width=8, heads=2, absolute=True, noise=False, key=KEY))
    points = jax.random.uniform(KEY, (N, D))
    moved = propose(operator, points, jnp.sum(points, axis=1), KEY) - points
    assert float(jnp.max(jnp.abs(moved))) <= abs(float(operator.step)) + 1e-6


@pytest.mark.parametrize("name", ["mamba", "coordinate-free"])
def test_every_linear_map_is_spectral(name) -> None:
    def is_map(part):
        return isinstance(part, SpectralLinear)

    rest = [leaf for leaf in jax.tree.leaves(OPERATORS[name], is_leaf=is_map) if not is_map(leaf)]
    assert all(leaf.ndim < 2 for leaf in rest)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 2), (30, 7), (100, 40)])
@pytest.mark.parametrize("name", ["coordinate-free", "covariance without noise"])
def test_one_operator_serves_every_size(name, n, d) -> None:
    operator = perturbed(OPERATORS[name])
    points = jax.random.uniform(jax.random.key(1), (n, d))
    values = jnp.sum(points**2, axis=1)
    proposed = propose(operator, points, values, KEY)
    assert proposed.shape == (n, d)
    assert np.isfinite(proposed).all()
    swap = np.random.default_rng(1).permutation(d)
    np.testing.assert_allclose(propose(operator, points[:, swap], values, KEY), proposed[:, swap], atol=1e-4)


def test_mamba_serves_every_population_size() -> None:
    operator = OPERATORS["mamba"]
    for n in (2, 9, 50):
        points = jax.random.uniform(KEY, (n, D))
        assert propose(operator, points, jnp.sum(points, axis=1), KEY).shape == (n, D)


def test_scores_survive_extreme_values() -> None:
    values = jnp.array([-3e38, 0.0, 1.0, 3e37, jnp.inf])
    scores = np.asarray(squashed_scores(values))
    assert np.isfinite(scores).all()
    assert scores[-1] == 1
    np.testing.assert_array_equal(squashed_scores(jnp.full(4, 5.0)), np.zeros(4))
    np.testing.assert_array_equal(squashed_scores(jnp.full(4, jnp.inf)), np.ones(4))


def test_statistics_are_of_the_order_of_one() -> None:
    for width in (1.0, 1e-3, 1e-8):
        points = 0.5 + width * (jax.random.uniform(KEY, (N, D)) - 0.5)
        numbers = np.asarray(statistics(points, jnp.arange(N, dtype=jnp.float32)))
        assert np.isfinite(numbers).all()
        assert np.abs(numbers).max() < 4
