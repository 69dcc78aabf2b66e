"""From a method's name to a searcher."""

import importlib
import sys
from pathlib import Path

from l2e.api import catalog
from l2e.api.catalog import Searcher
from l2e.bench.record import error_line
from l2e.core.adapter import AbstractAdapter
from l2e.core.errors import MissingExtraError
from l2e.core.traced.algorithm import AbstractAlgorithm


def is_factory(name: str) -> bool:
    """Whether a name is `module:factory`, Python code of the user's own, rather than a name of the catalog."""
    return ":" in name and not Path(name).exists()


def build(name: str, dimension: int, budget: int) -> Searcher:
    """The method of this name; `module:factory` is a function of your own, called with dimension and budget.

    **Raises:** `ValueError` if the name is unknown, or if your module or factory fails.
    """
    if not is_factory(name):
        return catalog.method(name).build(dimension, budget, None)
    module_name, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        searcher = getattr(importlib.import_module(module_name), attribute)(dimension, budget)
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:
        hint = "; write module:factory, found from the current folder" if _is_missing(error, module_name) else ""
        raise ValueError(f"method {name!r} cannot be built: {error_line(error)}{hint}") from error
    if not isinstance(searcher, AbstractAlgorithm | AbstractAdapter):
        raise ValueError(f"method {name!r} made a {type(searcher).__name__}, not an algorithm or an adapter")
    return searcher


def _is_missing(error: BaseException, module: str) -> bool:
    """Whether the module itself, or the factory in it, does not exist."""
    if isinstance(error, ModuleNotFoundError):
        return error.name is not None and (module == error.name or module.startswith(f"{error.name}."))
    return isinstance(error, AttributeError) and getattr(error.obj, "__name__", None) == module


def runs_compiled(searcher: Searcher) -> bool:
    """Whether whole runs of it inside one program cost least.

    So for native optimizers, unless they have padding that only a host loop can cut (CMA-ES with restarts: batches are
    padded to the largest population).
    """
    return isinstance(searcher, AbstractAlgorithm) and searcher.sized(1) is searcher
