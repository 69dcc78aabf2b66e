"""Batches of a search, one after the other."""

import contextlib

from l2e.core.evaluator import Evaluator
from l2e.core.search import AbstractSearch
from l2e.core.stops import BudgetExhausted


def batch_sizes(search: AbstractSearch, evaluate: Evaluator) -> list[int]:
    """Run a search to the end of its budget; how many points it asked for after each batch but the last."""
    sizes = []
    with contextlib.suppress(BudgetExhausted):
        while True:
            search.tell(evaluate(search.ask()))
            sizes.append(len(search.ask()))
    return sizes
