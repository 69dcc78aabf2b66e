"""The default method with one part left out, as methods of an experiment: `experiments.variants:without_newton`."""

from l2e.portfolio.method import Portfolio
from l2e.portfolio.policy import Policy


def _without(part: str) -> Portfolio:
    return Portfolio.trained(Policy().without(part))


def without_newton(dimension: int, budget: int) -> Portfolio:
    """Without quasi-Newton."""
    return _without("newton")


def without_surrogate(dimension: int, budget: int) -> Portfolio:
    """Without the fitted quadratic in its evolutionary searches."""
    return _without("surrogate")


def without_coordinates(dimension: int, budget: int) -> Portfolio:
    """Without coordinate-wise search."""
    return _without("coordinates")


def without_global(dimension: int, budget: int) -> Portfolio:
    """Without other starts and global experts."""
    return _without("global")


def without_look(dimension: int, budget: int) -> Portfolio:
    """Without the trust-region search with which searches of up to 35 evaluations per dimension begin."""
    return _without("look")


def untrained(dimension: int, budget: int) -> Portfolio:
    """Without its trained gate, which is asked with up to 35 evaluations per dimension."""
    return _without("gate")
