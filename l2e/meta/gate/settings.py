"""The training of the default method's gate, as its file describes it: `kind = "gate"` in the table [optimizer]."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from l2e.core.errors import unknown
from l2e.core.settings import Check, Count, Index, Positive, Reader, plain
from l2e.meta.tasks import refuse_test_functions
from l2e.problems._bbob.paper import PAPER_TRAIN
from l2e.problems.blends import BLENDS
from l2e.problems.landscapes import FAMILIES, SINGLE

GROUPS: dict[str, tuple[str, ...]] = {
    "all": (*FAMILIES, *BLENDS),
    "plain": FAMILIES,
    "blends": BLENDS,
    "single": SINGLE,
    "none": (),
}
"""Names for groups of landscapes."""


def _landscapes(where: str, value: Any) -> str | tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else [value]
    allowed = (*FAMILIES, *BLENDS) if isinstance(value, list | tuple) else GROUPS
    for name in names:
        if not isinstance(name, str) or name not in allowed:
            raise unknown(where, name, [*GROUPS, *FAMILIES, *BLENDS])
    return tuple(names) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class GateKind:
    """The table [optimizer]: that the gate is trained, and nothing else."""

    kind: Literal["gate"] = "gate"


@dataclass(frozen=True)
class Families:
    """The table [tasks]: the families of problems.

    **Arguments:** `landscapes`: random ones, "all", "plain", "blends", "single" (one minimum), "none" or a list of
    names (see `l2e.problems.landscapes` and `l2e.problems.blends`); `functions`: numbers of BBOB functions, never test
    functions of the paper.
    """

    landscapes: Annotated[str | tuple[str, ...], Reader(_landscapes)] = "all"
    functions: tuple[int, ...] = PAPER_TRAIN

    def __post_init__(self) -> None:
        refuse_test_functions(self.functions)
        if not self.names:
            raise ValueError("there is nothing to train on: set landscapes or functions")

    @property
    def names(self) -> tuple[str, ...]:
        """All families: landscapes by name, then `bbob:f` and a number."""
        drawn = GROUPS[self.landscapes] if isinstance(self.landscapes, str) else self.landscapes
        return (*drawn, *(f"bbob:f{number}" for number in self.functions))


@dataclass(frozen=True)
class Problems:
    """The table [problems]: how many problems are played, and how large they are.

    **Arguments:** `rounds`: problems of each family, of which the last quarter is for choosing weights; `dimensions`,
    `budgets` (evaluations per dimension): each problem draws one of each, an entry given twice twice as often.
    """

    rounds: Annotated[int, Check(lambda n: n >= 2, "at least 2: some to train on, some to choose weights on")] = 60
    dimensions: tuple[Count, ...] = (5, 10)
    budgets: tuple[Count, ...] = (50,)

    @property
    def training_rounds(self) -> int:
        """The rounds that are not for choosing weights."""
        return self.rounds - max(self.rounds // 4, 1)


@dataclass(frozen=True)
class GateTraining:
    """The table [training].

    **Arguments:** `hidden`: units of the gate; `steps`, `learning_rate`: of Adam, falling to 0; `decay`: weight of the
    squared distance from the initial weights; `validate_every`: steps between validations; `seed`: of everything;
    `workers`: processes that play, which changes no result.
    """

    hidden: Count = 16
    steps: Count = 3000
    learning_rate: Positive = 0.005
    decay: float = 3e-5
    validate_every: Count = 100
    seed: Index = 0
    workers: Count = 1


@dataclass(frozen=True)
class GateSpec:
    """A training of the gate, one field per table of its file."""

    optimizer: GateKind = field(default_factory=GateKind)
    tasks: Families = field(default_factory=Families)
    problems: Problems = field(default_factory=Problems)
    training: GateTraining = field(default_factory=GateTraining)

    @property
    def settings(self) -> dict[str, Any]:
        """The file as plain JSON, for checkpoints and cards, without the number of processes."""
        tables = plain(self)
        del tables["training"]["workers"]
        return tables
