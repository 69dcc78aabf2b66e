"""The learned peers in plain values, and the table of all kinds of trainable optimizers."""

from typing import Any

from l2e._names import unknown
from l2e.model_config import AbstractModelTable, OptimizerTable

KINDS: dict[str, type[AbstractModelTable]] = {table.kind: table for table in (OptimizerTable,)}
"""Every class of model that can be trained, saved and loaded, by the key `kind` of its settings."""


def table_of(settings: dict[str, Any]) -> AbstractModelTable:
    """The table of some settings in plain JSON; without a kind they are L2E's.

    **Raises:** `ValueError` for an unknown kind, `TypeError` for an unknown setting.
    """
    given = dict(settings)
    kind = given.pop("kind", OptimizerTable.kind)
    if kind not in KINDS:
        raise unknown("kind of model", str(kind), KINDS)
    return KINDS[kind](**given)
