"""From a method's name to a searcher."""

from l2e.api import catalog
from l2e.api.catalog import Searcher
from l2e.api.user_code import call_factory, is_factory
from l2e.core.adapter import AbstractAdapter
from l2e.core.traced.algorithm import AbstractAlgorithm


def build(name: str, dimension: int, budget: int) -> Searcher:
    """The method of this name; `module:factory` is a function of your own, called with dimension and budget.

    **Raises:** `ValueError` if the name is unknown, or if your module or factory fails.
    """
    if not is_factory(name):
        return catalog.method(name).build(dimension, budget, None)
    searcher = call_factory("method", name, dimension, budget)
    if not isinstance(searcher, AbstractAlgorithm | AbstractAdapter):
        raise ValueError(f"method {name!r} made a {type(searcher).__name__}, not an algorithm or an adapter")
    return searcher


def runs_compiled(searcher: Searcher) -> bool:
    """Whether whole runs of it inside one program cost least.

    So for native optimizers, unless they have padding that only a host loop can cut (CMA-ES with restarts: batches are
    padded to the largest population).
    """
    return isinstance(searcher, AbstractAlgorithm) and searcher.sized(1) is searcher
