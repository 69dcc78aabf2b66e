"""Every kind of algorithm that can be trained, saved and loaded."""

from typing import Any, TypeAlias, get_args

from l2e.algorithms.l2e.solver import L2ESettings
from l2e.algorithms.learned.b2opt import B2OPTSettings
from l2e.algorithms.learned.dedqn import DEDQNSettings
from l2e.algorithms.learned.gleet import GLEETSettings
from l2e.algorithms.learned.glhf import GLHFSettings
from l2e.algorithms.learned.rnnopt import RNNOPTSettings
from l2e.algorithms.trainable import AbstractSettings
from l2e.core.settings import parse

AnySettings: TypeAlias = L2ESettings | B2OPTSettings | GLHFSettings | RNNOPTSettings | GLEETSettings | DEDQNSettings
"""Told apart by the key `kind`; settings without it are L2E's."""

KINDS: dict[str, type[AbstractSettings]] = {settings.kind: settings for settings in get_args(AnySettings)}


def parse_settings(values: Any) -> AbstractSettings:
    """Settings from plain JSON.

    **Raises:** `ValueError` naming the kind, key or value that is not allowed.
    """
    return parse(AnySettings, values, "optimizer")
