"""Families of problems: members of one family share their coordinates and differ in what a user would call the case.

Every family is a function of a seed that returns one member, a problem on the family's box: plain numpy, no JAX.

    members = [l2e.problems.families.truss(seed) for seed in range(40)]
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from l2e.core.problem import HostFunction
from l2e.problems.families.antenna import antenna as antenna
from l2e.problems.families.cartpole import cartpole as cartpole
from l2e.problems.families.control import control as control
from l2e.problems.families.pendulum import pendulum as pendulum
from l2e.problems.families.seir import seir as seir
from l2e.problems.families.truss import truss as truss
from l2e.problems.families.tuning import tuning as tuning
from l2e.problems.families.uav import uav as uav

FAMILIES: Mapping[str, Callable[[int], HostFunction]] = MappingProxyType(
    {
        "truss": truss,
        "antenna": antenna,
        "seir": seir,
        "tuning": tuning,
        "cartpole": cartpole,
        "pendulum": pendulum,
        "uav": uav,
        "control": control,
    }
)
"""All of them by name; `control` is the one whose members share nothing."""
