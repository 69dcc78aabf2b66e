"""Suites: which problems an experiment is about, written as names of the catalog."""

from collections.abc import Sequence
from dataclasses import dataclass

from l2e import catalog
from l2e._names import unknown
from l2e.problems import PAPER_TEST

FUNCTIONS: dict[str, tuple[int, ...]] = {"bbob": tuple(range(1, 25)), "paper-bbob": PAPER_TEST}
"""The functions of a suite when an experiment names none."""


@dataclass(frozen=True)
class Instance:
    """One problem of a suite, by the name from which any process can build it."""

    problem: str
    function: int
    dimension: int

    @property
    def family(self) -> str:
        """Problems of one family and dimension are of one structure and share compiled code."""
        return f"{self.problem.partition(':')[0]}:f{self.function}"


def instances(
    suite: str, functions: Sequence[int], dimensions: Sequence[int], numbers: Sequence[int]
) -> list[Instance]:
    """All problems of a suite, by dimension, function and instance number.

    **Arguments:** `suite`: a family of the catalog; `functions`: empty for the suite's own; `numbers`: of instances,
    for suites that have several.
    """
    fields = family_of(suite).fields
    chosen = tuple(functions) or FUNCTIONS.get(suite)
    if chosen is None:
        raise ValueError(f"suite {suite!r} needs a list of functions")
    if "instance" not in fields and tuple(numbers) != (1,):
        raise ValueError(f"suite {suite!r} has one instance per function; leave instances out")
    found = []
    for dimension in dimensions:
        for function in chosen:
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
    """Function, instance and dimension in a problem's name."""
    letters = {part[0]: int(part[1:]) for part in problem.split(":")[1:]}
    return {catalog.FIELD_LETTERS[letter]: value for letter, value in letters.items()}
