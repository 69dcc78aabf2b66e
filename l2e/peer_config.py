"""The learned peers in plain values, and the table of all kinds of trainable optimizers."""

import dataclasses
from typing import Any

from l2e._names import unknown
from l2e._types import Key
from l2e.controlled_config import DEDQNTable, GLEETTable
from l2e.model_config import AbstractModelTable, AbstractPopulationTable, OptimizerTable, Sharing, scheduled
from l2e.peers.b2opt import B2OPT, B2OPTBlock
from l2e.peers.glhf import GLHF
from l2e.peers.rnnopt import RNNOPT


@dataclasses.dataclass(frozen=True)
class B2OPTTable(AbstractPopulationTable):
    """The settings of a B2OPT: `width` of its attention over values, `mild` first weights, the rest as L2E's."""

    kind = "b2opt"
    made = B2OPT
    schedule: Sharing = "staged"
    stages: int = 10
    width: int = 100
    mild: bool = False

    def build(self, dimension: int, generations: int, key: Key, training: bool = False) -> B2OPT:
        def make(key: Key) -> B2OPTBlock:
            return B2OPTBlock(self.population_size, dimension, width=self.width, mild=self.mild, key=key)

        return B2OPT(scheduled(self.schedule, make, self.stages, generations, key), self.population_size)

    @property
    def any_dimension(self) -> bool:
        return False

    @property
    def summary(self) -> str:
        return f"B2OPT, {self.schedule} weights"


@dataclasses.dataclass(frozen=True)
class GLHFTable(AbstractPopulationTable):
    """The settings of a GLHF: `width` of its queries and keys, `absolute` for the authors' origin of coordinates."""

    kind = "glhf"
    made = GLHF
    width: int = 200
    absolute: bool = False

    def build(self, dimension: int, generations: int, key: Key, training: bool = False) -> GLHF:
        return GLHF(self.population_size, width=self.width, absolute=self.absolute, key=key)

    @property
    def any_dimension(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        return f"GLHF, width {self.width}"


@dataclasses.dataclass(frozen=True)
class RNNOPTTable(AbstractModelTable):
    """The settings of an RNNOPT: `units` of its LSTM. An episode has one point before the first generation."""

    kind = "rnnopt"
    made = RNNOPT
    units: int = 32

    def build(self, dimension: int, generations: int, key: Key, training: bool = False) -> RNNOPT:
        return RNNOPT(dimension, generations + 1, units=self.units, key=key)

    def evaluations(self, generations: int) -> int:
        return 1 + generations

    @property
    def any_dimension(self) -> bool:
        return False

    @property
    def summary(self) -> str:
        return f"RNNOPT, LSTM of {self.units} units, restarted"


TABLES = (OptimizerTable, B2OPTTable, GLHFTable, RNNOPTTable, GLEETTable, DEDQNTable)
KINDS: dict[str, type[AbstractModelTable]] = {table.kind: table for table in TABLES}
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
