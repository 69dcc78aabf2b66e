"""Problem families: the functions on which optimizers are trained, tested and compared.

The suites are JAX and are imported when they are first used; `l2e.problems.families` is plain numpy.
"""

import importlib
from typing import TYPE_CHECKING, Any

from l2e.core.errors import require

if TYPE_CHECKING:
    from l2e.problems import families as families
    from l2e.problems._bbob.paper import PAPER_TEST as PAPER_TEST
    from l2e.problems._bbob.paper import PAPER_TRAIN as PAPER_TRAIN
    from l2e.problems._bbob.paper import paper_bbob as paper_bbob
    from l2e.problems._bbob.random import random_bbob as random_bbob
    from l2e.problems._bbob.random import sample_bbob as sample_bbob
    from l2e.problems._bbob.suite import BBOB as BBOB
    from l2e.problems._bbob.suite import bbob as bbob
    from l2e.problems._lsgo.suite import LSGO as LSGO
    from l2e.problems._lsgo.suite import LSGO_PAPER_TEST as LSGO_PAPER_TEST
    from l2e.problems._lsgo.suite import lsgo as lsgo
    from l2e.problems._lsgo.suite import official_lsgo as official_lsgo
    from l2e.problems._neuroevolution.gym import gym_neuroevolution as gym_neuroevolution
    from l2e.problems._neuroevolution.suite import Neuroevolution as Neuroevolution
    from l2e.problems._neuroevolution.suite import neuroevolution as neuroevolution
    from l2e.problems._surrogate.paper import PAPER_SURROGATE_TEST as PAPER_SURROGATE_TEST
    from l2e.problems._surrogate.paper import paper_surrogate as paper_surrogate
    from l2e.problems._surrogate.suite import Surrogate as Surrogate
    from l2e.problems._surrogate.suite import surrogate as surrogate
    from l2e.problems._uav.suite import UAV as UAV
    from l2e.problems._uav.suite import drawn_uav as drawn_uav
    from l2e.problems._uav.suite import official_uav as official_uav
    from l2e.problems._uav.suite import uav as uav

WITH_JAX = {
    "PAPER_TEST": "l2e.problems._bbob.paper",
    "PAPER_TRAIN": "l2e.problems._bbob.paper",
    "paper_bbob": "l2e.problems._bbob.paper",
    "random_bbob": "l2e.problems._bbob.random",
    "sample_bbob": "l2e.problems._bbob.random",
    "BBOB": "l2e.problems._bbob.suite",
    "bbob": "l2e.problems._bbob.suite",
    "LSGO": "l2e.problems._lsgo.suite",
    "LSGO_PAPER_TEST": "l2e.problems._lsgo.suite",
    "lsgo": "l2e.problems._lsgo.suite",
    "official_lsgo": "l2e.problems._lsgo.suite",
    "gym_neuroevolution": "l2e.problems._neuroevolution.gym",
    "Neuroevolution": "l2e.problems._neuroevolution.suite",
    "neuroevolution": "l2e.problems._neuroevolution.suite",
    "PAPER_SURROGATE_TEST": "l2e.problems._surrogate.paper",
    "paper_surrogate": "l2e.problems._surrogate.paper",
    "Surrogate": "l2e.problems._surrogate.suite",
    "surrogate": "l2e.problems._surrogate.suite",
    "UAV": "l2e.problems._uav.suite",
    "drawn_uav": "l2e.problems._uav.suite",
    "official_uav": "l2e.problems._uav.suite",
    "uav": "l2e.problems._uav.suite",
}
"""Names that need JAX, and where they are."""


def __getattr__(name: str) -> Any:
    if name == "families":
        return importlib.import_module("l2e.problems.families")
    if name not in WITH_JAX:
        raise AttributeError(f"module 'l2e.problems' has no attribute {name!r}")
    require("jax", "jax")
    value = getattr(importlib.import_module(WITH_JAX[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*WITH_JAX, "families"})
