"""The page about families: what learning from solved members is worth on members that were not learned from."""

import json
from pathlib import Path

import numpy as np
from measure_families import BUDGETS, COSTS, PAIRS, TESTED, TRAINED, compared, read, regrets, shown, speeds, table
from recorded import page

from l2e.problems.families import FAMILIES

INTRODUCTION = f"""\
# Families: what solved problems are worth

![Regret over evaluations per dimension with and without a model, family by family](families.png)

{TRAINED} members of a family are learned from, {TESTED} others are searched once with each method, told 5, 10, 20 or
50 evaluations per dimension. A number is the regret over the default's, the geometric mean over members: below 1 the
model helps. Regret is (f - best known) / (median of 99 random points - best known), cut at 1e-4; best known is the
best of all runs here, and of the default with 100·d evaluations. `*`: better than the default by two paired standard
errors, `!`: worse. In brackets after means: of how many families.

How blind this is: versions were compared on members 500 to 519 of truss and seir, the earliest also on test members of
these two. Test members of all families but cartpole had been seen with a version before the last, from which the choice
of what follows the seeds and the limit of the gate were then changed, by what truss and seir said. Test members of
tuning are data sets of kinds that do not occur among those learned from. Members of the control share nothing.
"""
METHODS = """\
## With a model

`model`: learned from functions; `archives`: from the journals of the members' searches alone (50·d evaluations each);
`model-10`: from ten members; `seeds`: the ends of members that cover the others best, then the default, without
gates. `ws-cma` and `optuna-source`: warm-started CMA-ES of the package `cmaes`, and Optuna's CMA-ES with
`source_trials`, both told fifty evaluations of each member by rank.
"""
PARTS = """\
## What each part is worth

The model without its gates, without its jumps, and with the default in place of evolution and quasi-Newton after the
seeds; measured on four families.
"""
WRONG = """\
## A model of the wrong family

`wrong-turned`: the family's own model with its coordinates in the opposite order, which has the right values in the
wrong places; `wrong-scaled`: the model of another family of the same dimension ({pairs}), its values mapped onto the
right scale. What left-out members said against these models is ignored, unless their members share nothing: only the
gates within a search are judged.
"""
SPEED = """\
## Evaluations to the default's value

The evaluations of the default told 50·d over those with which a method told 50·d is as good; a value that is not
reached counts 100·d evaluations.
"""
COST = """\
## What learning costs

Forty members, the default budget of learning. CPU seconds were taken on a busy machine.
"""
AIMS = """\
## What was aimed at

The mean over all families but the control, and in brackets the aim that was set before. Pendulum and cartpole, where
the default is slow, make most of the gain: the second row is without pendulum. Also aimed at: no family worse than the
default by two standard errors (so it is, for models of the right family), a wrong model at most 1.25 on any family
(missed, see above, on tuning, whose coordinates look alike in both orders, and on antenna, whose members' gradients
hardly agree), and the default's value with a third of the evaluations in the mean.
"""
BARS = {
    "model": (0.25, 0.32, 0.32, 0.32),
    "model-10": (0.45, 0.45, 0.45, 0.45),
    "archives": (0.42, 0.42, 0.42, 0.42),
    "wrong-turned": (1.03, 1.03, 1.03, 1.03),
}
"""For each budget."""

COMMANDS = """\
```
python tools/measure_families.py run --learn runs/families --out results/families
rivals/bin/python tools/measure_family_rivals.py --learn runs/families --out results/families
python tools/measure_families.py cost --out results/families
python tools/measure_families.py picture docs/results/families.png --out results/families
```
"""


def families(root: Path) -> str:
    """The page."""
    out = root / "results" / "families"
    pairs = ", ".join(f"{target} with {model}" for target, model in PAIRS.items())
    ours = ("model", "archives", "model-10", "seeds", "ws-cma", "optuna-source")
    return page(
        INTRODUCTION,
        METHODS,
        table(out, ours),
        SPEED,
        speeds(out, ours),
        PARTS,
        table(out, ("model", "no-gate", "no-jump", "no-follow"), common=True),
        WRONG.format(pairs=pairs),
        table(out, ("wrong-turned", "wrong-scaled")),
        COST,
        costs(out),
        AIMS,
        aims(out),
        COMMANDS,
    )


def aims(out: Path) -> str:
    """Means beside their aims, as Markdown."""
    lines = ["| | " + " | ".join(f"{budget}·d" for budget in BUDGETS) + " |", "|---|" + "---|" * len(BUDGETS)]
    found = {name: regrets(read(out / f"{name}.jsonl")) for name in FAMILIES if name != "control"}
    most = {name: each for name, each in found.items() if name != "pendulum"}
    for title, method, of in [("model", "model", found), ("model, without pendulum", "model", most)] + [
        (method, method, found) for method in BARS if method != "model"
    ]:
        cells = []
        for budget, bar in zip(BUDGETS, BARS[method], strict=True):
            logs = [result[0] for each in of.values() if (result := compared(each, method, budget)) is not None]
            cells.append(f"{shown(float(np.mean(logs)))} ({bar})")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def costs(out: Path) -> str:
    """Evaluations and CPU time of learning, as Markdown."""
    lines = ["| family | evaluations | per member and dimension | CPU beside the objective, s |", "|---|---|---|---|"]
    path = out / COSTS
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in FAMILIES:
        if name in known:
            one = known[name]
            each = one["evaluations"] / TRAINED / FAMILIES[name](0).dimension
            own = one["cpu"] - one["cpu_of_objective"]
            lines.append(f"| {name} | {one['evaluations']} | {np.round(each, 1)} | {own:.0f} |")
    return "\n".join(lines)
