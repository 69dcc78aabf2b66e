"""What is trained on: distributions over tasks, drawn in pure JAX inside a compiled step.

All tasks of a distribution have one structure, whatever their family, so one compiled program runs them all. The
paper's test functions are in no default.
"""

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from l2e.core.box import Box
from l2e.core.traced.problem import AbstractTraceableProblem
from l2e.core.traced.types import Count, Key, Points, Scalar, Values
from l2e.problems._bbob.paper import PAPER_TEST, PAPER_TRAIN
from l2e.problems._bbob.random import sample_bbob
from l2e.problems._bbob.suite import check_function, check_integer

Drawn = tuple[AbstractTraceableProblem, Scalar]


class Task(AbstractTraceableProblem):
    """A problem of one of several families, and the value of its optimum, which only objectives read.

    One member per family is drawn and `family` says which of them counts. Under `scan`, or under `vmap` over tasks of
    one family, only that one is computed.
    """

    space: Box
    members: tuple[AbstractTraceableProblem, ...]
    family: Count
    f_opt: Scalar

    def evaluate(self, points: Points, key: Key | None = None) -> Values:
        if len(self.members) == 1:
            return self.members[0].evaluate(points, key)
        # A rematerialised branch hands its input, not its intermediate results, to the backward pass; without this
        # every branch would fill the others' results with zeros.
        branches = [jax.checkpoint(functools.partial(_evaluate, member)) for member in self.members]
        return jax.lax.switch(self.family, branches, points, key)


def _evaluate(member: AbstractTraceableProblem, points: Points, key: Key | None) -> Values:
    return member.evaluate(points, key)


class AbstractTaskDistribution(eqx.Module):
    """Families of problems on one box, from which fresh tasks are drawn."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """One name per family."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates of all tasks."""

    @abstractmethod
    def draw(self, key: Key) -> tuple[Drawn, ...]:
        """One problem of each family, with the value of its optimum, in JAX's default float."""

    @property
    def description(self) -> str:
        """What they are, for the cards of models trained on them."""
        return f"{type(self).__name__}: {', '.join(self.names)}"

    @property
    def families(self) -> int:
        """Number of families."""
        return len(self.names)

    def of(self, family: Count, key: Key) -> Task:
        """A fresh task of a family, which may be a traced number."""
        problems, optima = zip(*self.draw(key), strict=True)
        f_opt = jnp.stack([jnp.asarray(f, problems[0].space.lower.dtype) for f in optima])[family]
        return Task(problems[0].space, problems, jnp.asarray(family, jnp.int32), f_opt)

    def sample(self, key: Key) -> Task:
        """A fresh task of a random family."""
        family_key, key = jax.random.split(key)
        return self.of(jax.random.randint(family_key, (), 0, self.families), key)


class RandomBBOBTasks(AbstractTaskDistribution):
    """Fresh random instances of BBOB functions, see `l2e.problems.sample_bbob`.

    Optima are worth 0, since optimizers must not see the offset, and float32 then keeps its digits close to them.

    **Arguments:** `functions`: numbers from 1 to 24; `dimension`: from 2; `rotated`: whether f2, f3 and f4 are rotated,
    as they are in the paper's instances and not in COCO's.
    """

    functions: tuple[int, ...] = eqx.field(static=True)
    size: int = eqx.field(static=True)
    rotated: bool = eqx.field(static=True)

    def __init__(self, functions: Sequence[int], dimension: int, rotated: bool = False):
        self.functions = tuple(check_function(function) for function in functions)
        self.size = check_integer("dimension", dimension, 2)
        self.rotated = bool(rotated)
        if not self.functions:
            raise ValueError("functions must name at least one BBOB function")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"f{function}" for function in self.functions)

    @property
    def dimension(self) -> int:
        return self.size

    @property
    def description(self) -> str:
        return f"fresh instances of BBOB {', '.join(self.names)}" + (", f2 to f4 rotated" if self.rotated else "")

    def draw(self, key: Key) -> tuple[Drawn, ...]:
        dtype = jnp.zeros(()).dtype
        tasks = [sample_bbob(key, function, self.size, dtype, self.rotated) for function in self.functions]
        zero = jnp.zeros((), dtype)
        return tuple((eqx.tree_at(lambda task: task.parameters.f_opt, task, zero), zero) for task in tasks)


def PaperTrainTasks(dimension: int = 10) -> RandomBBOBTasks:  # noqa: N802 - a distribution by name
    """Fresh instances of the eight functions on which the paper trains, f2 and f3 rotated as there."""
    return RandomBBOBTasks(PAPER_TRAIN, dimension, rotated=True)


class FunctionTasks(AbstractTaskDistribution):
    """The user's own problems: fixed ones, or drawn by functions of a key.

    **Arguments:**

    - `sources`: traceable problems, or pure functions `key -> problem`, all on boxes of one dimension.
    - `f_opt`: the value of the optimum of each; a lower bound will do.
    - `names`: one per source.
    """

    problems: tuple[AbstractTraceableProblem | None, ...]
    samplers: tuple[Callable[[Key], Any] | None, ...] = eqx.field(static=True)
    f_opt: tuple[float, ...] = eqx.field(static=True)
    labels: tuple[str, ...] = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __init__(self, sources: Sequence[Any], f_opt: Sequence[float], names: Sequence[str] | None = None):
        if not sources or len(sources) != len(f_opt):
            raise ValueError(f"give one f_opt per source: {len(sources)} sources, {len(f_opt)} values")
        fixed = [isinstance(source, AbstractTraceableProblem) for source in sources]
        self.problems = tuple(source if is_fixed else None for source, is_fixed in zip(sources, fixed, strict=True))
        self.samplers = tuple(None if is_fixed else source for source, is_fixed in zip(sources, fixed, strict=True))
        self.f_opt = tuple(float(f) for f in f_opt)
        self.labels = tuple(names) if names else tuple(f"function {i + 1}" for i in range(len(sources)))
        dimensions = {problem.dimension for problem, _ in self.example()}
        if len(dimensions) != 1:
            raise ValueError(f"all tasks must have one dimension, got {sorted(dimensions)}")
        self.size = dimensions.pop()

    def example(self) -> tuple[Drawn, ...]:
        """Some problem of each family."""
        return self.draw(jax.random.key(0))

    @property
    def names(self) -> tuple[str, ...]:
        return self.labels

    @property
    def dimension(self) -> int:
        return self.size

    def draw(self, key: Key) -> tuple[Drawn, ...]:
        drawn = [
            problem if sampler is None else sampler(key)
            for problem, sampler in zip(self.problems, self.samplers, strict=True)
        ]
        return tuple((_as_default_float(problem), jnp.asarray(f)) for problem, f in zip(drawn, self.f_opt, strict=True))


def _as_default_float(problem: Any) -> Any:
    """Float arrays of a problem (numpy's are float64) in the float in which the training computes."""
    dtype = jnp.zeros(()).dtype
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype) if eqx.is_inexact_array(leaf) else leaf, problem)


def refuse_test_functions(functions: Sequence[int]) -> None:
    """Raise an error if any of these are test functions of the paper: nothing is trained on them."""
    forbidden = sorted(set(functions) & set(PAPER_TEST))
    if forbidden:
        raise ValueError(f"functions {forbidden} are test functions of the paper; training is on {PAPER_TRAIN}")
