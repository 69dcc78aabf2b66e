"""Learned evolutionary optimization: minimise black-box functions, meta-train optimizers, compare them honestly.

`minimize`, `Optimizer` and the default method need numpy and scipy only. What needs JAX (the suites in `problems`,
`load`, `unroll`, `JAXFunction`, the native algorithms) is imported when it is first used: `pip install 'l2e[jax]'`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from l2e._version import __version__ as __version__
from l2e.api.ask_tell import Optimizer as Optimizer
from l2e.api.constrain import Returned as Returned
from l2e.api.many import minimize_many as minimize_many
from l2e.api.maximize import maximize as maximize
from l2e.api.minimize import minimize as minimize
from l2e.api.result import InterruptedSearch as InterruptedSearch
from l2e.core.box import Box as Box
from l2e.core.box import box as box
from l2e.core.checkpoint import CheckpointError as CheckpointError
from l2e.core.errors import require
from l2e.core.evaluator import Evaluator as Evaluator
from l2e.core.parameters import Bool as Bool
from l2e.core.parameters import Choice as Choice
from l2e.core.parameters import Fixed as Fixed
from l2e.core.parameters import Float as Float
from l2e.core.parameters import Int as Int
from l2e.core.parameters import Log as Log
from l2e.core.parameters import Unbounded as Unbounded
from l2e.core.problem import AbstractProblem as AbstractProblem
from l2e.core.problem import HostFunction as HostFunction
from l2e.core.space import Space as Space
from l2e.core.stops import ObjectiveError as ObjectiveError
from l2e.core.stops import StopSearch as StopSearch

if TYPE_CHECKING:
    from l2e import problems as problems
    from l2e.api.archives import learn_from as learn_from
    from l2e.api.family import Family as Family
    from l2e.api.family_model import FamilyModel as FamilyModel
    from l2e.api.learn import learn as learn
    from l2e.api.models import load as load
    from l2e.core.traced.loop import unroll as unroll
    from l2e.core.traced.problem import AbstractTraceableProblem as AbstractTraceableProblem
    from l2e.core.traced.problem import JAXFunction as JAXFunction

LATER = {
    "Family": "l2e.api.family",
    "FamilyModel": "l2e.api.family_model",
    "learn": "l2e.api.learn",
    "learn_from": "l2e.api.archives",
}
"""Public names that most programs do not need, and where they are."""

WITH_JAX = {
    "load": "l2e.api.models",
    "unroll": "l2e.core.traced.loop",
    "AbstractTraceableProblem": "l2e.core.traced.problem",
    "JAXFunction": "l2e.core.traced.problem",
}
"""Public names that need JAX, and where they are."""


def __getattr__(name: str) -> Any:
    if name == "problems":
        return importlib.import_module("l2e.problems")
    if name not in WITH_JAX and name not in LATER:
        raise AttributeError(f"module 'l2e' has no attribute {name!r}")
    if name in WITH_JAX:
        require("jax", "jax")
    value = getattr(importlib.import_module({**WITH_JAX, **LATER}[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    public = [name for name in globals() if not name.startswith("_")]
    hidden = {"importlib", "TYPE_CHECKING", "Any", "WITH_JAX", "LATER", "require", "api", "core"}
    return sorted({*public, *WITH_JAX, *LATER, "problems", "__version__"} - hidden)
