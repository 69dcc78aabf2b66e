"""When a CMA-ES run is over, the next: IPOP doubles the population, BIPOP alternates large and small ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.core.traced.types import Count, Key, Scalar


class Schedule(eqx.Module):
    """The present run's size and what the earlier ones used; evaluations are counted for the schedule only."""

    population: Count
    sigma: Scalar  # the run's initial step
    first_population: Count
    first_sigma: Scalar
    doublings: Count
    is_small: jax.Array
    run_used: Count
    run_limit: Count
    last_large: Count  # evaluations of the last large run
    large_used: Count
    small_used: Count

    def spent(self, evaluations: Count) -> "Schedule":
        """This schedule after so many more evaluations."""
        return eqx.tree_at(lambda s: s.run_used, self, self.run_used + evaluations)


def first_run(population_size: int, sigma: np.ndarray) -> Schedule:
    """The schedule of a search that starts with the default population."""
    zero = jnp.zeros((), jnp.int32)
    size = jnp.asarray(population_size, jnp.int32)
    never = jnp.asarray(2**31 - 1, jnp.int32)
    step = jnp.asarray(sigma)
    return Schedule(size, step, size, step, zero, jnp.zeros((), bool), zero, never, zero, zero, zero)


def next_run(schedule: Schedule, key: Key, bipop: bool, max_population_size: np.ndarray | int) -> Schedule:
    """The schedule of the next run.

    BIPOP (Hansen 2009): the regime that has used fewer evaluations is next. Large: lambda doubles. Small: lambda =
    lambda_0 (lambda_large / (2 lambda_0))^(u^2), sigma = sigma_0 10^(-2u), at most half the evaluations of the last
    large run. The first run counts as a small one, as in pycma.
    """
    was_small = schedule.is_small | (schedule.doublings == 0)
    large_used = schedule.large_used + jnp.where(was_small, 0, schedule.run_used)
    small_used = schedule.small_used + jnp.where(was_small, schedule.run_used, 0)
    go_small = bipop & (small_used < large_used)
    doublings = schedule.doublings + jnp.where(go_small, 0, 1)
    ceiling = jnp.asarray(max_population_size, jnp.int32)
    large = jnp.minimum(schedule.first_population * 2 ** jnp.minimum(doublings, 20), ceiling)
    u_size, u_step = jax.random.uniform(key, (2,), schedule.sigma.dtype)
    ratio = large / (2 * schedule.first_population)
    small = jnp.floor(schedule.first_population * ratio ** (u_size**2)).astype(jnp.int32)
    small = jnp.clip(small, schedule.first_population, ceiling)
    small_sigma = schedule.first_sigma * 10.0 ** (-2 * u_step)
    last_large = jnp.where(was_small, schedule.last_large, schedule.run_used)
    return Schedule(
        population=jnp.where(go_small, small, large),
        sigma=jnp.where(go_small, small_sigma, schedule.first_sigma).astype(schedule.sigma.dtype),
        first_population=schedule.first_population,
        first_sigma=schedule.first_sigma,
        doublings=doublings.astype(jnp.int32),
        is_small=go_small,
        run_used=jnp.zeros((), jnp.int32),
        run_limit=jnp.where(go_small, last_large // 2, 2**31 - 1).astype(jnp.int32),
        last_large=last_large,
        large_used=large_used,
        small_used=small_used,
    )
