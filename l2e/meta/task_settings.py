"""The table [tasks] of a training file: what a model is trained on."""

import dataclasses
from typing import Any

from l2e.api import problem_catalog
from l2e.api.user_code import FACTORY, call_factory
from l2e.core.errors import unknown
from l2e.core.fingerprint import fingerprint
from l2e.core.settings import Label
from l2e.core.traced.problem import CallbackFunction
from l2e.meta.tasks import AbstractTaskDistribution, FunctionTasks, RandomBBOBTasks, refuse_test_functions
from l2e.problems import LSGO_PAPER_TEST, PAPER_SURROGATE_TEST
from l2e.problems._bbob.paper import PAPER_TEST, PAPER_TRAIN

HELD_OUT: dict[str, tuple[int, ...]] = {
    "lsgo": LSGO_PAPER_TEST,
    "surrogate-mlp": tuple(sorted({*PAPER_SURROGATE_TEST, *PAPER_TEST})),
    "surrogate-kan": tuple(sorted({*PAPER_SURROGATE_TEST, *PAPER_TEST})),
    "uav": (),
    "ant-spring": (3, 4, 5, 6),
    "humanoid-spring": (3, 4, 5, 6),
}
"""Families of the catalog on which a training file can train, and the functions of them that are for tests only."""

LOWER_BOUNDS = {"ant-spring": -5000.0, "humanoid-spring": -5000.0}
"""Of costs, for families without a known optimum whose costs are not above 0: a reward of 25 in every step."""

TRAINING_INSTANCE = 2
"""Of families with several instances this one is trained on; contests have the first."""


@dataclasses.dataclass(frozen=True)
class TasksSettings:
    """The table [tasks]: fresh instances of BBOB functions, by default the paper's eight, or another family.

    **Arguments:** `functions`: their numbers, never test functions of the paper; `dimension`: of all tasks; `rotated`:
    whether f2 and f3 are rotated, as in the paper's instances (COCO's are separable); `family`: another family of
    `l2e problems`, or your own as `module:factory`, Python code that is imported and called with the dimension;
    `turns`: more dimensions that steps take in turn with `dimension`, for a model of any dimension.
    """

    functions: tuple[int, ...] = PAPER_TRAIN
    dimension: int = 10
    rotated: bool = True
    family: Label | None = None
    turns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.family is None:
            refuse_test_functions(self.functions)
        elif not self.is_own:
            _check_family(self.family, self.functions)

    @property
    def is_own(self) -> bool:
        """Whether the family is code of the user's own."""
        return self.family is not None and FACTORY.fullmatch(self.family) is not None

    def build(self) -> AbstractTaskDistribution:
        """The distribution."""
        if self.family is None:
            return RandomBBOBTasks(self.functions, self.dimension, self.rotated)
        return _own(self.family, self.dimension) if self.is_own else _of_catalog(self.family, self)

    def build_turns(self) -> tuple[AbstractTaskDistribution, ...]:
        """The distributions of the other dimensions."""
        return tuple(dataclasses.replace(self, dimension=dimension, turns=()).build() for dimension in self.turns)

    def described(self, tasks: AbstractTaskDistribution) -> str:
        """What a model is trained on, for its card; the user's own families with a digest of what they hold."""
        if self.family is None:
            return tasks.description + (f", in {_listed(self.dimension, *self.turns)}-D" if self.turns else "")
        digest = f" ({fingerprint(tasks)})" if self.is_own else ""
        return f"{self.family}{digest}: {', '.join(tasks.names)}, {_listed(self.dimension, *self.turns)}-D"


def _listed(*dimensions: int) -> str:
    return ", ".join(str(dimension) for dimension in sorted(dimensions))


def _check_family(family: str, functions: tuple[int, ...]) -> None:
    if family not in HELD_OUT:
        hint = "; fresh instances of BBOB functions are trained on when family is left out" if "bbob" in family else ""
        raise ValueError(f"{unknown('family of tasks', family, HELD_OUT)}, or module:factory{hint}")
    forbidden = sorted(set(functions) & set(HELD_OUT[family]))
    if forbidden:
        raise ValueError(f"functions {forbidden} of {family} are test functions of the paper; train on others")


def _of_catalog(family: str, tasks: TasksSettings) -> FunctionTasks:
    """Fixed problems of a family; where no optimum is known, a bound stands for it that all their values are above."""
    place = f":i{TRAINING_INSTANCE}" if "instance" in problem_catalog.FAMILIES[family].fields else ""
    names = [f"{family}:f{function}{place}:d{tasks.dimension}" for function in tasks.functions]
    problems: list[Any] = [problem_catalog.problem(name) for name in names]
    bound = LOWER_BOUNDS.get(family, 0.0)
    optima = [getattr(problem, "optimum", None) for problem in problems]
    return FunctionTasks(problems, [bound if optimum is None else optimum.f for optimum in optima], names)


def _own(family: str, dimension: int) -> AbstractTaskDistribution:
    tasks = call_factory("task family", family, dimension)
    if not isinstance(tasks, AbstractTaskDistribution):
        raise ValueError(f"task family {family!r} made a {type(tasks).__name__}, not tasks (l2e.meta.FunctionTasks)")
    if tasks.dimension != dimension:
        raise ValueError(f"task family {family!r} made tasks of {tasks.dimension} dimensions, not {dimension}")
    return tasks


def refuse_gradients(tasks: AbstractTaskDistribution) -> None:
    """An error if tasks are Python functions, through which there are no gradients."""
    if isinstance(tasks, FunctionTasks) and any(isinstance(p, CallbackFunction) for p, _ in tasks.example()):
        raise ValueError(
            "these tasks are Python functions and have no gradients: "
            'write kind = "es" or "persistent-es" (or "ppo", "dqn") in [estimator], and no [guidance]'
        )
