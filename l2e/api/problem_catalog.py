"""Where the names of problems become problems: one plain table of families, of which each has a lazy factory."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from l2e.core.errors import need_jax, unknown

if TYPE_CHECKING:
    from l2e.core.problem import AbstractProblem
    from l2e.core.traced.problem import AbstractTraceableProblem


@dataclass(frozen=True)
class Family:
    """A family of problems by name; a problem of it is written `name:f10:i3:d20`."""

    summary: str
    example: str
    build: "Callable[..., AbstractProblem]"
    fields: tuple[str, ...]
    dimension_of: Callable[[int], int] | None = None  # the dimension of each function, where functions fix it


def _bbob(function: int, instance: int, dimension: int) -> "AbstractTraceableProblem":
    from l2e.problems import bbob

    return bbob(function=function, instance=instance, dimension=dimension)


def _paper_bbob(function: int, dimension: int) -> "AbstractTraceableProblem":
    from l2e.problems import paper_bbob

    return paper_bbob(function=function, dimension=dimension)


def _lsgo(function: int, instance: int, dimension: int) -> "AbstractTraceableProblem":
    from l2e.problems import lsgo

    _check_lsgo_dimension(function, dimension)
    return lsgo(function=function, instance=instance)


def _official_lsgo(function: int, dimension: int) -> "AbstractTraceableProblem":
    from l2e.problems import official_lsgo

    _check_lsgo_dimension(function, dimension)
    return official_lsgo(function=function)


def _check_lsgo_dimension(function: int, dimension: int) -> None:
    if dimension != _lsgo_dimension(function):
        raise ValueError(f"f{function} of LSGO has {_lsgo_dimension(function)} variables, not {dimension}")


def _lsgo_dimension(function: int) -> int:
    from l2e.problems._lsgo.suite import lsgo_dimension

    return lsgo_dimension(function)


def _paper_surrogate(function: int, dimension: int) -> "AbstractTraceableProblem":
    from l2e.problems import paper_surrogate

    _only(10, dimension)
    return paper_surrogate(function=function)


def _surrogate(kind: str) -> "Callable[..., AbstractTraceableProblem]":
    def build(function: int, dimension: int) -> "AbstractTraceableProblem":
        from l2e.problems import surrogate

        _only(10, dimension)
        return surrogate(function=function, kind=kind)

    return build


def _uav(function: int, instance: int, dimension: int) -> "AbstractTraceableProblem":
    from l2e.problems import drawn_uav

    _only(30, dimension)
    return drawn_uav(terrain=function, seed=instance - 1)


def _official_uav(function: int, dimension: int) -> "AbstractTraceableProblem":
    from l2e.problems import official_uav

    _only(30, dimension)
    return official_uav(terrain=function)


def _brax(robot: str) -> "Callable[..., AbstractTraceableProblem]":
    def build(function: int, instance: int, dimension: int) -> "AbstractTraceableProblem":
        from l2e.problems import neuroevolution

        problem = neuroevolution(robot, depth=function, seed=instance - 1)
        _only(problem.dimension, dimension)
        return problem

    return build


def _brax_dimension(robot: str) -> Callable[[int], int]:
    def dimension(depth: int) -> int:
        from l2e.problems._neuroevolution.suite import check_depth, dimension_of

        return dimension_of(robot, check_depth(depth))

    return dimension


def _mujoco(robot: str) -> "Callable[..., AbstractProblem]":
    def build(function: int, instance: int, dimension: int) -> "AbstractProblem":
        from l2e.problems import gym_neuroevolution

        problem = gym_neuroevolution(robot, depth=function, seed=instance - 1)
        _only(problem.dimension, dimension)
        return problem

    return build


def _mujoco_dimension(robot: str) -> Callable[[int], int]:
    def dimension(depth: int) -> int:
        from l2e.problems._neuroevolution.gym import check_depth, gym_dimension_of

        return gym_dimension_of(robot, check_depth(depth))

    return dimension


def _only(allowed: int, dimension: int) -> None:
    if dimension != allowed:
        raise ValueError(f"problems of this family have {allowed} dimensions, not {dimension}")


def _member(family: str) -> "Callable[..., AbstractProblem]":
    def build(function: int, dimension: int) -> "AbstractProblem":
        from l2e.problems.families import FAMILIES as MADE

        problem = MADE[family](function)
        _only(problem.dimension, dimension)
        return problem

    return build


def _member_dimension(family: str) -> Callable[[int], int]:
    def dimension(function: int) -> int:
        from l2e.problems.families import FAMILIES as MADE

        return MADE[family](function).dimension

    return dimension


MEMBERS = {
    "truss": "sizing of a ten-bar truss, 10 dimensions",
    "antenna": "design of an antenna array, 16 dimensions",
    "seir": "fit of an epidemic, 8 dimensions",
    "tuning": "tuning of a kernel machine, 8 dimensions",
    "cartpole": "swing-up of a pole on a cart, 30 dimensions",
    "pendulum": "swing-up of a pendulum, 12 dimensions",
    "uav": "path of a drone, 30 dimensions",
    "control": "functions that share nothing, 10 dimensions",
}
"""Families whose members are problems `family-NAME:f1000`."""

FAMILIES: dict[str, Family] = {
    "bbob": Family(
        "COCO's 24 BBOB functions, official instances, any dimension from 2",
        "bbob:f10:i3:d20",
        _bbob,
        ("function", "instance", "dimension"),
    ),
    "paper-bbob": Family(
        "the instances of the L2E paper's BBOB-10D and BBOB-30D",
        "paper-bbob:f10:d10",
        _paper_bbob,
        ("function", "dimension"),
    ),
    "lsgo": Family(
        "the 15 functions of CEC'2013 LSGO with generated data, 1000 dimensions (f13, f14: 905)",
        "lsgo:f7:i1",
        _lsgo,
        ("function", "instance", "dimension"),
        _lsgo_dimension,
    ),
    "official-lsgo": Family(
        "CEC'2013 LSGO with the official data files, from the folder that L2E_LSGO_DATA names",
        "official-lsgo:f7",
        _official_lsgo,
        ("function", "dimension"),
        _lsgo_dimension,
    ),
    "paper-surrogate": Family(
        "the instances of the L2E paper's BBOB-surrogate-10D, which are true functions",
        "paper-surrogate:f10",
        _paper_surrogate,
        ("function", "dimension"),
        lambda function: 10,
    ),
    "surrogate-mlp": Family(
        "MLPs fitted to the functions of paper-surrogate, ten dimensions",
        "surrogate-mlp:f10",
        _surrogate("mlp"),
        ("function", "dimension"),
        lambda function: 10,
    ),
    "surrogate-kan": Family(
        "Kolmogorov-Arnold networks fitted to the functions of paper-surrogate, ten dimensions",
        "surrogate-kan:f10",
        _surrogate("kan"),
        ("function", "dimension"),
        lambda function: 10,
    ),
    "uav": Family(
        "the path of a drone over one of 56 drawn terrains with threats (f is the terrain), 30 dimensions",
        "uav:f12",
        _uav,
        ("function", "instance", "dimension"),
        lambda terrain: 30,
    ),
    "official-uav": Family(
        "the path of a drone over the official terrains, from the file that L2E_UAV_DATA names",
        "official-uav:f12",
        _official_uav,
        ("function", "dimension"),
        lambda terrain: 30,
    ),
    **{
        f"{robot}-spring": Family(
            f"a policy for Brax's {robot} (f is its depth), backend spring, 200 steps, mean of 10 episodes",
            f"{robot}-spring:f3",
            _brax(robot),
            ("function", "instance", "dimension"),
            _brax_dimension(robot),
        )
        for robot in ("ant", "humanoid")
    },
    **{
        f"{robot}-mujoco": Family(
            f"the same for gymnasium's {robot.capitalize()}-v5, simulated by MuJoCo on the host",
            f"{robot}-mujoco:f3",
            _mujoco(robot),
            ("function", "instance", "dimension"),
            _mujoco_dimension(robot),
        )
        for robot in ("ant", "humanoid")
    },
}
FAMILIES |= {
    f"family-{name}": Family(
        f"{summary}: members of a family to learn from (f is the member's seed)",
        f"family-{name}:f1000",
        _member(name),
        ("function", "dimension"),
        _member_dimension(name),
    )
    for name, summary in MEMBERS.items()
}
FIELD_LETTERS = {"f": "function", "i": "instance", "d": "dimension"}
FIELD_DEFAULTS = {"instance": 1, "dimension": 10}


def problem(name: str) -> "AbstractProblem":
    """The problem written as `family:f10:i3:d20`; instance 1 and dimension 10, or the function's own, unless given."""
    head, *parts = name.split(":")
    if head not in FAMILIES:
        raise unknown("problem family", head, FAMILIES)
    family = FAMILIES[head]
    given = {}
    for part in parts:
        match = re.fullmatch(r"([a-z])(\d+)", part)
        field = FIELD_LETTERS.get(match[1]) if match else None
        if match is None or field not in family.fields or field in given:
            raise ValueError(f"{part!r} in problem {name!r} is not understood; write it like {family.example}")
        given[field] = int(match[2])
    if "function" not in given:
        raise ValueError(f"problem {name!r} names no function; write it like {family.example}")
    if head.removeprefix("family-") not in MEMBERS:
        need_jax()
    defaults = FIELD_DEFAULTS
    if family.dimension_of is not None:
        defaults = defaults | {"dimension": family.dimension_of(given["function"])}
    fields = {field: given.get(field, defaults.get(field)) for field in family.fields}
    return family.build(**fields)
