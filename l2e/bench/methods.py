"""From a method's name to a searcher, and a digest of what it is."""

import hashlib
import importlib
import re
import sys
from pathlib import Path

import numpy as np

from l2e import _runtime, catalog
from l2e.catalog import Searcher
from l2e.contestant import AbstractContestant
from l2e.optimizer import AbstractOptimizer


def build(name: str, dimension: int, budget: int) -> Searcher:
    """The method of this name; `module:factory` is a function of your own, called with dimension and budget."""
    if ":" not in name or Path(name).exists():
        return catalog.method(name).build(dimension, budget, None)
    module_name, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise ValueError(f"method {name!r}: {error}; write module:factory, found from the current folder") from error
    searcher = factory(dimension, budget)
    if not isinstance(searcher, AbstractOptimizer | AbstractContestant):
        raise TypeError(f"method {name!r} made a {type(searcher).__name__}, not an optimizer or a contestant")
    return searcher


def digest(searcher: Searcher) -> str:
    """A hash of all settings and weights, the same in every process."""
    arrays, static = _runtime.split(searcher)
    text = re.sub(r" at 0x[0-9a-f]+", "", repr((type(searcher).__qualname__, static.facts)))
    hashed = hashlib.sha256(text.encode())
    for array in arrays:
        hashed.update(np.asarray(array).tobytes())
    return hashed.hexdigest()[:16]


def runs_compiled(searcher: Searcher) -> bool:
    """Whether whole runs of it inside one program cost least.

    So for native optimizers, unless they have padding that only a host loop can cut (CMA-ES with restarts: batches are
    padded to the largest population).
    """
    return isinstance(searcher, AbstractOptimizer) and searcher.sized(1) is searcher
