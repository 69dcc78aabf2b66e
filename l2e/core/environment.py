"""What decides, beside the seed, which points a method asks for to the last bit."""

import importlib.metadata
import platform
import sys
from typing import Any

import numpy as np

from l2e._version import __version__


def environment() -> dict[str, str]:
    """Versions, processor and linear algebra of this process, as text."""
    jax: Any = sys.modules.get("jax")
    return {
        "l2e": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": importlib.metadata.version("scipy"),
        "jax": "not used" if jax is None else jax.__version__,
        "machine": platform.machine(),
        "linear algebra": _linear_algebra(),
    }


def _linear_algebra() -> str:
    """Library, version and the processor's kind for which it chose its routines."""
    from threadpoolctl import threadpool_info

    found = {
        f"{info.get('internal_api')} {info.get('version')} for {info.get('architecture', 'any processor')}"
        for info in threadpool_info()
        if info.get("user_api") == "blas" and "numpy" in str(info.get("filepath"))
    }
    return ", ".join(sorted(found)) or "unknown"


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What two environments differ in, each as a phrase."""
    names = sorted({*one, *other})
    return [f"{name} {one.get(name)} and {other.get(name)}" for name in names if one.get(name) != other.get(name)]
