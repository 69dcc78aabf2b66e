"""Suites: which problems an experiment is about, written as names of the catalog."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from l2e.api import catalog
from l2e.core.errors import unknown
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
}
"""The functions of a suite when an experiment names none."""
NAME = re.compile(r"[a-z][a-z0-9-]{0,99}:f\d{1,9}(:i\d{1,9})?:d\d{1,9}")
"""A problem's name as an experiment writes it."""


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

    **Arguments:** `suite`: a family of the catalog; `functions`: empty for the suite's own; `numbers`: of instances,
    for suites that have several.
    """
    fields = family_of(suite).fields
    chosen = chosen_functions(suite, functions)
    if not chosen:
        raise ValueError(f"suite {suite!r} needs a list of functions")
    if "instance" not in fields and tuple(numbers) != (1,):
        raise ValueError(f"suite {suite!r} has one instance per function; leave instances out")
    own = family_of(suite).dimension_of
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
        catalog.problem(instance.problem)  # an impossible one is an error now, not in a worker
    return found


def family_of(suite: str) -> catalog.Family:
    """The family of this name, or an error with the nearest names."""
    if suite not in catalog.FAMILIES:
        raise unknown("suite", suite, catalog.FAMILIES)
    return catalog.FAMILIES[suite]


def parts(problem: str) -> dict[str, int]:
    """Function, instance and dimension in a problem's name.

    **Raises:** `ValueError` if it is not written like one.
    """
    if NAME.fullmatch(problem) is None:
        raise ValueError(f"problem {problem!r} is not written like bbob:f10:i3:d20")
    letters = {part[0]: int(part[1:]) for part in problem.split(":")[1:]}
    return {catalog.FIELD_LETTERS[letter]: value for letter, value in letters.items()}
