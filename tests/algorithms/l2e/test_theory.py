"""The step of Theorem 2's proof that does not hold: an example with all of its assumptions and no uniform limit."""

import numpy as np
import pytest

ALPHA, KAPPA = 0.9, 1.0


def final(weight: float, generations: int) -> float:
    """x_K of Algorithm 1 for O(x; w) = (1 - w) x on [-1, 1], l = x, M = 1/2, s_k = kappa / (k + 1)."""
    x = 0.5
    for k in range(generations):
        learned = (1 - ALPHA) * x + ALPHA * (1 - weight) * x
        guided = x - KAPPA / (k + 1)
        x = float(np.clip((guided + learned) / 2, -1, 1))
    return x


def test_the_limit_jumps_at_zero():
    assert final(0.0, 1000) == -1  # every point is fixed, and the guide goes to the least of them
    assert final(0.5, 20_000) == pytest.approx(0, abs=1e-3)  # 0 is the only fixed point


@pytest.mark.parametrize("generations", [100, 1000, 20_000])
def test_convergence_is_not_uniform(generations):
    """However many generations, some w > 0, whose limit is 0, is still near -1."""
    assert final(1 / generations, generations) < -0.9


def test_the_value_converges_nevertheless():
    """inf over w of phi_K is -1 for every K from some on, and so is inf phi: the claim outlives its proof here."""
    assert {final(0.0, generations) for generations in (100, 1000)} == {-1.0}
