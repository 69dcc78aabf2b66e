"""CMA-ES: its constants, its invariances, its restarts, optima on the boundary."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import l2e
from l2e.algorithms import CMAES
from l2e.algorithms.cmaes.rates import rates
from l2e.algorithms.cmaes.restarts import first_run, next_run
from l2e.algorithms.cmaes.stopping import SAMPLES, fresh_watch, is_over, look, stride
from l2e.core.box import box
from l2e.core.traced import runtime
from l2e.core.traced.search import AlgorithmSearch


def plain_rates(population: int, usable: np.ndarray, dimension: int):
    with runtime.float64():
        rate = rates(jnp.asarray(population), jnp.asarray(usable), dimension, jnp.float64)
        return jax.tree.map(np.asarray, rate)


def test_constants_in_ten_dimensions() -> None:
    """Hand-computed from Hansen's Table 1 for lambda = 10, d = 10."""
    rate = plain_rates(10, np.ones(10, bool), 10)
    raw = np.log(5.5) - np.log(np.arange(1, 11))
    weights = raw[:5] / raw[:5].sum()
    mu_eff = 1 / (weights**2).sum()
    np.testing.assert_allclose(rate.positive, np.append(weights, np.zeros(5)), atol=1e-15)
    np.testing.assert_allclose(rate.mu_eff, mu_eff)
    np.testing.assert_allclose(rate.c_sigma, (mu_eff + 2) / (15 + mu_eff))
    c_1 = 2 / (11.3**2 + mu_eff)
    c_mu = 2 * (0.25 + mu_eff + 1 / mu_eff - 2) / (144 + mu_eff)
    np.testing.assert_allclose([rate.c_1, rate.c_mu], [c_1, c_mu])
    assert rate.negative.min() < 0
    assert (rate.negative[:5] == 0).all()
    # Eq. (50)-(52): the sum of the negative weights
    minus = np.minimum(raw, 0)
    mu_eff_minus = minus.sum() ** 2 / (minus**2).sum()
    bounds = [1 + c_1 / c_mu, 1 + 2 * mu_eff_minus / (mu_eff + 2), (1 - c_1 - c_mu) / (10 * c_mu)]
    np.testing.assert_allclose(-rate.negative.sum(), min(bounds))


def test_padded_rows_and_failed_rows_have_no_pull() -> None:
    full = plain_rates(8, np.ones(8, bool), 5)
    padded = plain_rates(8, np.arange(32) < 8, 5)
    failed = plain_rates(8, np.arange(8) < 2, 5)
    np.testing.assert_allclose(padded.positive[:8], full.positive)
    np.testing.assert_allclose(padded.negative[:8], full.negative)
    assert (padded.positive[8:] == 0).all()
    assert (padded.negative[8:] == 0).all()
    np.testing.assert_allclose(failed.positive.sum(), 1)
    assert (failed.positive[2:] == 0).all()


def test_rotation_invariance() -> None:
    """The trace on a rotated ellipsoid has the statistics of the unrotated one."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    scales = 10.0 ** np.linspace(0, 4, 5)

    def needed(matrix: np.ndarray) -> float:
        counts = []
        for seed in range(7):
            result = l2e.minimize(
                lambda x: (scales * ((x - 0.5) @ matrix) ** 2).sum(axis=1),
                bounds=[(-5, 5)] * 5,
                method="cmaes",
                budget=6000,
                rng=seed,
                vectorized=True,
                target=1e-8,
            )
            assert result.reason == "target"
            counts.append(result.nfev)
        return float(np.median(counts))

    assert 0.8 < needed(rotation) / needed(np.eye(5)) < 1.25


@pytest.mark.parametrize("where", ["corner", "face", "slope"])
def test_optimum_on_the_boundary(where) -> None:
    optimum = {"corner": np.array([5.0, -5, 5, 5]), "face": np.array([5.0, 1, 2, 3]), "slope": np.full(4, 5.0)}[where]

    def function(points):
        if where == "slope":
            return -(points @ np.array([1.0, 2, 4, 8])) + 75
        return ((points - optimum) ** 2).sum(axis=1)

    result = l2e.minimize(
        function, bounds=[(-5, 5)] * 4, method="cmaes", budget=4000, rng=1, vectorized=True, target=1e-8
    )
    assert result.reason == "target"
    np.testing.assert_allclose(result.x, optimum, atol=1e-3)


def test_small_batches_and_padded_batches_are_the_same_run() -> None:
    """The host cuts padding off (`sized`); inside a scan it stays. The random numbers are the same."""
    space, key = box([(-5, 5)] * 3), jax.random.key(2)
    small = AlgorithmSearch(CMAES(8, 64, restarts="ipop"), space, key)
    optimizer = CMAES(8, 64, restarts="ipop")
    ask, tell = (
        jax.jit(lambda state: optimizer.ask(state)),
        jax.jit(lambda state, values: optimizer.tell(state, values)),
    )
    with runtime.float64():
        state = optimizer.init(space, key)
        for _ in range(20):
            points = np.asarray(ask(state))
            assert points.shape == (64, 3)
            np.testing.assert_allclose(small.ask(), points[:8], rtol=1e-9)
            values = (points**2).sum(axis=1)
            small.tell(values[:8])
            state = tell(state, jnp.where(jnp.arange(64) < 8, values, jnp.inf))


def test_ipop_doubles_and_bipop_balances() -> None:
    with runtime.float64():
        schedule = first_run(8, np.asarray(0.2))
        sizes = []
        for seed in range(4):
            schedule = next_run(schedule.spent(jnp.asarray(100)), jax.random.key(seed), False, 64)
            sizes.append(int(schedule.population))
        assert sizes == [16, 32, 64, 64]
        schedule = first_run(8, np.asarray(0.2)).spent(jnp.asarray(1000))
        used = {True: 1000, False: 0}
        for seed in range(40):
            schedule = next_run(schedule, jax.random.key(seed), True, 256)
            small = bool(schedule.is_small)
            assert small == (used[True] < used[False])
            if small:
                assert 8 <= int(schedule.population) <= 128
                assert 0.002 <= float(schedule.sigma) <= 0.2
                assert int(schedule.run_limit) <= 4000
            spent = min(800 if small else 4000, int(schedule.run_limit))
            used[small] += spent
            schedule = schedule.spent(jnp.asarray(spent, jnp.int32))


def test_restarts_solve_what_one_run_does_not() -> None:
    problem = l2e.problems.bbob(function=15, instance=1, dimension=3)
    options = {"budget": 20_000, "target": problem.optimum.f + 1e-8}

    def solved(method: str) -> int:
        return sum(l2e.minimize(problem, method=method, rng=seed, **options).reason == "target" for seed in range(6))

    assert solved("cmaes") + 2 <= solved("cmaes-bipop")
    assert solved("cmaes-bipop") >= 4


def test_a_flat_function_ends_or_restarts() -> None:
    result = l2e.minimize(lambda x: 1.0, bounds=[(-5, 5)] * 3, method="cmaes", budget=10_000, rng=0)
    assert result.reason == "converged"
    assert result.nfev < 2000
    assert l2e.minimize(lambda x: 1.0, bounds=[(-5, 5)] * 3, method="cmaes-bipop", budget=3000, rng=0).nfev == 3000


@jax.jit
def ends_at(track: jax.Array, population: jax.Array) -> jax.Array:
    """After how many generations a run in 30-D with these best values is over; their number if it is not."""
    schedule = eqx.tree_at(lambda s: s.population, first_run(14, np.asarray(0.2)), population)
    spread = jnp.where(jnp.arange(64) < population, jnp.linspace(0, 1, 64), jnp.inf)

    def generation(watch, best):
        watch = look(watch, best + spread, population, 30)
        rest = (jnp.asarray(0.2), jnp.eye(30), jnp.ones(30), schedule)
        return watch, is_over(watch, best + spread, *rest)

    _, over = jax.lax.scan(generation, fresh_watch(30, 14, jnp.dtype(jnp.float64)), track)
    return jnp.where(over.any(), jnp.argmax(over) + 1, track.shape[0])


def test_stagnation_is_seen_after_the_window_of_the_population_and_not_before() -> None:
    """A shorter window gave up f16 in 30-D: 100 + 100 d^1.5 / lambda is 1274 generations for 14, 357 for 64."""
    noise = np.random.default_rng(0).normal(size=(12, 4000))
    with runtime.float64():
        for population, window in ((14, 1274), (64, 357)):
            spanned = SAMPLES * int(stride(jnp.asarray(population), 30))
            assert window <= spanned < window + SAMPLES
            ends = [int(ends_at(jnp.asarray(track), jnp.asarray(population))) for track in noise]
            assert min(ends) >= spanned
            assert np.median(ends) < 1.5 * spanned  # 12 tracks; without a trend each look ends a run at even odds or so
        assert ends_at._cache_size() == 1  # type: ignore[attr-defined]


def test_slow_progress_and_a_pause_are_not_stagnation() -> None:
    steps = np.arange(4000)
    noise = np.random.default_rng(1).normal(size=4000)
    pause = np.where(steps < 700, 0.0, -0.05 * (steps - 700))
    with runtime.float64():
        for track in (noise - 0.005 * steps, noise + pause):
            assert int(ends_at(jnp.asarray(track), jnp.asarray(14))) == 4000


@pytest.mark.parametrize("arguments", [{"population_size": 3}, {"population_size": 8, "max_population_size": 4}])
def test_bad_sizes_are_refused(arguments) -> None:
    with pytest.raises(ValueError, match="population"):
        CMAES(**arguments)
    with pytest.raises(ValueError, match="restarts"):
        CMAES(8, restarts="often")  # pyright: ignore[reportArgumentType]
