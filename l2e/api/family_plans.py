"""What a model of a family does with a budget before, or without, left-out members that have judged it."""

from l2e.api.family import BUDGETS
from l2e.portfolio.policy import Policy
from l2e.portfolio.transfer.knowledge import LEAST_MEMBERS, Follow, Knowledge, Plan, Plans
from l2e.portfolio.transfer.leaps import Leaps

BEYOND = 4.0
"""A model is used up to this many times the largest budget it was judged at."""

POLICY = Policy()
"""Of the default: which searches begin with a look."""


def closed(why: str) -> Plans:
    """The default for every budget."""
    return Plans.always(Plan(False, "default", why))


def follows(known: Knowledge, per_dimension: float) -> list[Follow]:
    """What may follow the seeds at a budget: where a search begins with a look, the look, and nothing else."""
    longer: list[Follow] = ["evolution", "newton"] if known.has_metric else ["evolution"]
    if known.dimension > POLICY.look_up_to:
        return ["default", *longer]
    return ["near"] if POLICY.looks(known.dimension, per_dimension * known.dimension) else ["near", *longer]


def unmeasured(known: Knowledge, evolves: bool, longest: float) -> Plans:
    """Plans of a model that no left-out member has judged: by rule, and closed where that is doubtful."""
    plans = by_rule(known, evolves, longest)
    if not plans.entries[0][1].opened or Leaps.told_by_traits(known):
        return plans
    if known.kin is not None and not known.tells_foreign(BUDGETS[0]):
        return closed("gradients hardly tell its members from others, and none was left out to see what it is worth")
    return plans


def by_rule(known: Knowledge, evolves: bool, longest: float) -> Plans:
    """Plans before anything was judged on left-out members: by what the members' searches were like."""
    if known.members < LEAST_MEMBERS:
        return closed(f"it has {known.members} members, and needs {LEAST_MEMBERS}")
    kin = known.kin
    if kin is not None and not kin.is_family and not Leaps.told_by_traits(known):
        return closed("its members are no more alike than random functions")
    wanted: Follow = "evolution" if evolves else "newton"
    entries = []
    for budget in BUDGETS:
        allowed = follows(known, budget)
        follow = wanted if wanted in allowed else allowed[0]
        entries.append((float(budget), Plan(True, follow, "unmeasured: by rule")))
    return Plans(tuple(entries), BEYOND * max(BUDGETS[-1], longest))
