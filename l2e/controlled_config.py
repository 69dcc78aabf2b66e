"""The peers that a policy controls, in plain values: what a training file and the header of a weights file say."""

import dataclasses

from l2e._types import Key
from l2e.model_config import AbstractPopulationTable
from l2e.peers.dedqn import DEDQN
from l2e.peers.gleet import GLEET


@dataclasses.dataclass(frozen=True)
class GLEETTable(AbstractPopulationTable):
    """The settings of a GLEET."""

    kind = "gleet"
    made = GLEET

    def build(self, dimension: int, generations: int, key: Key, training: bool = False) -> GLEET:
        return GLEET.untrained(self.evaluations(generations), self.population_size, key, critic=training)

    def deployed(self, optimizer: GLEET) -> GLEET:
        """Without the critic, which only training needs."""
        return optimizer.without_critic()

    @property
    def any_dimension(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        return "GLEET, a particle swarm controlled by attention, told the budget"


@dataclasses.dataclass(frozen=True)
class DEDQNTable(AbstractPopulationTable):
    """The settings of a DEDQN."""

    kind = "dedqn"
    made = DEDQN

    def build(self, dimension: int, generations: int, key: Key, training: bool = False) -> DEDQN:
        return DEDQN.untrained(self.population_size, key)

    @property
    def any_dimension(self) -> bool:
        return True

    @property
    def summary(self) -> str:
        return "DEDQN, differential evolution with strategies by Q-learning"
