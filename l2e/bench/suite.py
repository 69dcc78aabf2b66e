"""Suites: which problems an experiment is about, written as names of the catalog."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from l2e.api import problem_catalog
from l2e.api.user_code import FACTORY, call_factory
from l2e.core.errors import unknown
from l2e.core.problem import AbstractProblem
from l2e.problems import PAPER_SURROGATE_TEST, PAPER_TEST

FUNCTIONS: dict[str, tuple[int, ...]] = {
    "bbob": tuple(range(1, 25)),
    "paper-bbob": PAPER_TEST,
    "lsgo": tuple(range(1, 16)),
    "official-lsgo": tuple(range(1, 16)),
    "paper-surrogate": PAPER_SURROGATE_TEST,
    "surrogate-mlp": PAPER_SURROGATE_TEST,
    "surrogate-kan": PAPER_SURROGATE_TEST,
    "uav": tuple(range(1, 57)),
    "official-uav": tuple(range(1, 57)),
    "ant-spring": (3, 4, 5),
    "humanoid-spring": (3, 4, 5),
    "ant-mujoco": (3, 4, 5),
    "humanoid-mujoco": (3, 4, 5),
    **{f"family-{name}": tuple(range(1000, 1020)) for name in problem_catalog.MEMBERS},
}
"""The functions of a suite when an experiment names none."""
NAME = re.compile(
    rf"(?P<suite>[a-z][a-z0-9-]{{0,99}}|{FACTORY.pattern}):(?P<place>f\d{{1,9}}(:i\d{{1,9}})?:d\d{{1,9}})"
)
"""A problem's name as an experiment writes it: its suite, which may be `module:factory`, and its place in the suite."""

FIELDS = ("function", "instance", "dimension")
"""What a suite of the user's own is called with."""


@dataclass(frozen=True)
class Instance:
    """One problem of a suite, by the name from which any process can build it."""

    problem: str
    function: int
    dimension: int


def chosen_functions(suite: str, functions: Sequence[int]) -> tuple[int, ...]:
    """The functions an experiment names, or all those of its suite."""
    return tuple(functions) or FUNCTIONS.get(suite, ())


def instances(
    suite: str, functions: Sequence[int], dimensions: Sequence[int], numbers: Sequence[int]
) -> list[Instance]:
    """All problems of a suite, by dimension, function and instance number.

    **Arguments:** `suite`: a family of the catalog, or `module:factory`; `functions`: empty for the suite's own;
    `numbers`: of instances, for suites that have several.
    """
    fields = FIELDS if is_own(suite) else family_of(suite).fields
    chosen = chosen_functions(suite, functions)
    if not chosen:
        raise ValueError(f"suite {suite!r} needs a list of functions")
    if "instance" not in fields and tuple(numbers) != (1,):
        raise ValueError(f"suite {suite!r} has one instance per function; leave instances out")
    own = None if is_own(suite) else family_of(suite).dimension_of
    if own is not None and set(dimensions) != set(map(own, chosen)):
        fixed = sorted(set(map(own, chosen)))
        raise ValueError(f"these functions of suite {suite!r} have their own dimensions; write dimensions = {fixed}")
    found = []
    for dimension in dimensions:
        for function in chosen:
            if own is not None and own(function) != dimension:
                continue
            for number in numbers:
                middle = f":i{number}" if "instance" in fields else ""
                found.append(Instance(f"{suite}:f{function}{middle}:d{dimension}", function, dimension))
    for instance in found:
        build_problem(instance.problem)  # an impossible one is an error now, not in a worker
    return found


def is_own(suite: str) -> bool:
    """Whether a suite is `module:factory`, code of the user's own."""
    return FACTORY.fullmatch(suite) is not None


def suite_of(problem: str) -> str:
    """The suite in a problem's name."""
    return _matched(problem)["suite"]


def build_problem(name: str) -> AbstractProblem:
    """The problem of this name; that of a user's own suite is made by calling the user's code.

    **Raises:** `ValueError` if there is none, or if the user's code fails or makes something else.
    """
    match = NAME.fullmatch(name)
    if match is None or not is_own(match["suite"]):
        return problem_catalog.problem(name)
    suite, place = match["suite"], parts(name)
    problem = call_factory("problem", suite, *(place[field] for field in FIELDS))
    if not isinstance(problem, AbstractProblem):
        raise ValueError(f"suite {suite!r} made a {type(problem).__name__}, not a problem (l2e.HostFunction, ...)")
    if problem.dimension != place["dimension"]:
        raise ValueError(f"suite {suite!r} made a problem of {problem.dimension} dimensions for {name}")
    return problem


def family_of(suite: str) -> problem_catalog.Family:
    """The family of this name, or an error with the nearest names."""
    if suite not in problem_catalog.FAMILIES:
        raise unknown("suite", suite, problem_catalog.FAMILIES)
    return problem_catalog.FAMILIES[suite]


def parts(problem: str) -> dict[str, int]:
    """Function, instance and dimension in a problem's name.

    **Raises:** `ValueError` if it is not written like one.
    """
    letters = {part[0]: int(part[1:]) for part in _matched(problem)["place"].split(":")}
    found = {problem_catalog.FIELD_LETTERS[letter]: value for letter, value in letters.items()}
    return {"instance": 1, **found} if is_own(suite_of(problem)) else found


def _matched(problem: str) -> re.Match[str]:
    match = NAME.fullmatch(problem)
    if match is None:
        raise ValueError(f"problem {problem!r} is not written like bbob:f10:i3:d20")
    return match
