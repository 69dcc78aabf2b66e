"""The page about families: what learning from solved members is worth on members that were not learned from."""

import json
from pathlib import Path
from typing import TypeAlias

import numpy as np
from measure_families import (
    BUDGETS,
    COSTS,
    PAIRS,
    PLANS,
    TESTED,
    TRAINED,
    cell,
    compared,
    read,
    regrets,
    shown,
    speeds,
    table,
)
from measure_family_long import table as long_table
from measure_family_training import TRAINING
from recorded import page

from l2e.problems.families import FAMILIES

INTRODUCTION = f"""\
# Families: what solved problems are worth

![Regret over evaluations per dimension with and without a model, family by family](families.png)

{TRAINED} members of a family are learned from, {TESTED} others are searched once with each method, told 5, 10, 20
or 50 evaluations per dimension. A number is the regret over the default's, the geometric mean over members: below 1
the model helps. Regret is (f - best known) / (median of 99 random points - best known), cut at 1e-4; best known is
the best of all runs here, and of the default with 100·d evaluations. `*`: better than the default by two paired
standard errors, `!`: worse. In brackets after means: of how many families.

How blind this is: versions were compared on members 500 to 519 of truss, antenna, seir, tuning and pendulum, with wrong
models too; the earliest ones also on test members of truss and seir. Test members of all families but cartpole and uav
had been seen with earlier versions, and those of seir with wrong models decided that a model is in doubt if a tenth of
random directions pass, not a quarter ([log 0085](../log/0085-transfer-goes-on-with-the-look.md)). Nothing was chosen by
cartpole or uav, whose models are also wrong ones for each other. Test members of tuning are data sets of kinds that do
not occur among those learned from. Members of the control share nothing. Ours are measured with one version of the
default on every family. Since then fits differ in their last digits, and so do runs: six to twelve members each of six
families at 5·d and 20·d show no difference beyond errors.
"""
METHODS = """\
## With a model

`model`: learned from functions; `archives`: from the journals of the members' searches alone (50·d evaluations
each); `model-10`: from ten members. `ws-cma` and `optuna-source`: warm-started CMA-ES of the package `cmaes`, and
Optuna's CMA-ES with `source_trials`; `rgpe`: a ranking-weighted ensemble of Gaussian processes, written here after the
paper, with 10·d evaluations and at most 160, on two families. All three are told fifty evaluations of each member by
rank.
"""
PARTS = """\
## What each part is worth

`seeds`: the ends of members that cover the others best, then the default, without gates. The model without its gates,
without its jumps, and with the default in place of short steps, evolution and quasi-Newton after the seeds; measured on
three families, on one of which the model is not used.
"""
WRONG = """\
## A model of the wrong family

`wrong-turned`: the family's own model with its coordinates in the opposite order, which has the right values in the
wrong places; `wrong-shuffled`: in another order, one drawn for each dimension; `wrong-scaled`: the model of another
family of the same dimension ({pairs}), its values mapped onto the right scale. What left-out members said against
these models is ignored, unless their members share nothing: only the gates within a search are judged. With what
left-out members said, as a user has it, the worst is {used}.
"""
LONGER = """\
## More evaluations than a model was judged at

Models are judged up to 50·d and used up to 200·d. Ten members kept for development, the model's regret over the
default's; this one table is of the default before it began with a look, and of models learned with that:
"""
TRAINED_WAY = """\
## An optimizer trained on the family

The other way to learn from a family: the L2E paper's structured Mamba operator, meta-trained on the same forty
members, which are in JAX (`experiments/train/l2e-pendulum-12d.toml`), by back-propagation through whole searches of
50·d evaluations, and scored on the same unseen members at the same counted budgets. `-untrained` is the same
optimizer with its first weights. **Training in distribution works, and does not earn its keep here**: after 152 CPU
seconds the optimizer is far better than its first weights and, at 10·d, than the default; with 35 CPU seconds (200
steps) it was hardly better than its first weights. But the model and the journals alone leave a hundredth of its
regret, and the model's learning takes fewer CPU seconds beside the objective. Validation was best at step 850 of 1500;
what training gives on families that are not in JAX, where evolution strategies must do it, is not known.
"""
SPEED = """\
## Evaluations to the default's value

The evaluations of the default told 50·d over those with which a method told 50·d is as good; a value that is not
reached counts 100·d evaluations.
"""
COST = """\
## What learning costs

Forty members, the default budget of learning; and the CPU time of one search of 5·d evaluations with the model and
without, values being looked up. Times were taken on a busy machine, those of cartpole and uav earlier.
"""
AIMS = """\
## What was aimed at

The mean over all families but the control, and in brackets the aim that was set before. Pendulum and cartpole,
where the default is slow, make most of the gain: the second row is without pendulum. Also aimed at: no family worse
than the default by two standard errors ({never}), a wrong model at most 1.25 on any family ({worst}), the default's
value with a third of the evaluations in the mean ({speed}), and half of the regret of `ws-cma` and `optuna-source` in
the mean over budgets on every family ({rivals}).
"""
BARS = {
    "model": (0.25, 0.32, 0.32, 0.32),
    "model-10": (0.45, 0.45, 0.45, 0.45),
    "archives": (0.42, 0.42, 0.42, 0.42),
    "wrong-turned": (1.03, 1.03, 1.03, 1.03),
    "wrong-shuffled": (1.03, 1.03, 1.03, 1.03),
    "wrong-scaled": (1.03, 1.03, 1.03, 1.03),
}
"""For each budget."""

COMMANDS = """\
```
python tools/measure_families.py run --learn runs/families --out results/families
python tools/measure_family_rivals.py --learn runs/families --out results/families
python tools/measure_family_long.py --learn runs/families --out results/families
nice -n 19 l2e train experiments/train/l2e-pendulum-12d.toml --out runs/l2e-pendulum
python tools/measure_family_training.py pendulum runs/l2e-pendulum --name l2e-mamba --cpu SECONDS --out results/families
python tools/measure_families.py plans --learn runs/families --out results/families
python tools/measure_families.py cost --out results/families
python tools/measure_families.py overhead --learn runs/families --out results/families
python tools/measure_families.py picture docs/results/families.png --out results/families
```
"""


def families(root: Path) -> str:
    """The page."""
    out = root / "results" / "families"
    pairs = ", ".join(f"{target} with {model}" for target, model in PAIRS.items())
    own, others = ("model", "archives", "model-10"), ("ws-cma", "optuna-source", "rgpe")
    found = {name: regrets(read(out / f"{name}.jsonl")) for name in FAMILIES}
    wrong = tuple(method for method in BARS if method.startswith("wrong"))
    cells = [(name, method, budget) for name in found for method in wrong for budget in BUDGETS]
    return page(
        INTRODUCTION,
        METHODS,
        table(out, own + others),
        SPEED,
        speeds(out, own),
        PARTS,
        table(out, ("model", "seeds", "no-gate", "no-jump", "no-follow"), common=True),
        WRONG.format(pairs=pairs, used=_worst(found, [place for place in cells if _opened(out, *place)])),
        table(out, wrong),
        LONGER,
        long_table(out),
        TRAINED_WAY,
        trained(out),
        COST,
        costs(out),
        AIMS.format(never=_never(found), worst=_worst(found, cells), speed=_speed(out), rivals=_rivals(found)),
        aims(out),
        COMMANDS,
    )


Found: TypeAlias = dict[str, dict[tuple[str, int], dict[int, float]]]


def _worst(found: Found, places: list[tuple[str, str, int]]) -> str:
    """The worst of some cells."""
    results = {place: result for place in places if (result := compared(found[place[0]], *place[1:])) is not None}
    name, method, budget = max(results, key=lambda place: results[place][0])
    mean, error = results[name, method, budget]
    return f"{shown(mean)} ({np.exp(mean - error):.2f} to {np.exp(mean + error):.2f}) on {name}, {method}, {budget}·d"


def _opened(out: Path, name: str, method: str, budget: int) -> bool:
    """Whether a wrong model would be used at a budget, by what left-out members said."""
    model = PAIRS.get(name, name) if method == "wrong-scaled" else name
    return json.loads((out / PLANS).read_text())[model]["opened"][BUDGETS.index(budget)]


def _never(found: Found) -> str:
    """Where a right model is worse than the default by two errors."""
    methods = [method for method in BARS if not method.startswith("wrong")]
    places = [(name, method, budget) for name in found for method in methods for budget in BUDGETS]
    bad = [
        f"{name}, {method}, {budget}·d"
        for name, method, budget in places
        if cell(compared(found[name], method, budget)).endswith("!")
    ]
    return f"not so: {'; '.join(bad)}" if bad else "so it is, for models of the right family"


def _rivals(found: Found) -> str:
    """Where others leave the least regret beside the model's, in the mean over budgets."""
    least: dict[tuple[str, str], float] = {}
    for rival in ("ws-cma", "optuna-source"):
        for name, each in found.items():
            pairs = [(compared(each, rival, budget), compared(each, "model", budget)) for budget in BUDGETS]
            logs = [theirs[0] - ours[0] for theirs, ours in pairs if theirs is not None and ours is not None]
            if logs:
                least[name, rival] = float(np.mean(logs))
    name, rival = min(least, key=lambda place: least[place])
    return f"the least is {np.exp(least[name, rival]):.1f} times ours, {rival} on {name}"


def _speed(out: Path) -> str:
    """The mean of the models' speed-ups."""
    mean = speeds(out, ("model",)).rstrip().splitlines()[-1].split("|")[2].split()[0]
    return f"{mean} times fewer"


def trained(out: Path) -> str:
    """Regrets of optimizers trained on a family, and what the training cost, as Markdown."""
    known = json.loads((out / TRAINING).read_text()) if (out / TRAINING).exists() else {}
    lines = ["| | " + " | ".join(f"{budget}·d" for budget in BUDGETS) + " |", "|---|" + "---|" * len(BUDGETS)]
    for name, one in known.items():
        found = regrets(read(out / f"{one['family']}.jsonl"))
        for method in (name, f"{name}-untrained", "model", "archives", "ws-cma"):
            cells = [cell(compared(found, method, budget)) for budget in BUDGETS]
            lines.append(f"| {one['family']}, {method} | " + " | ".join(cells) + " |")
        first, best = one["validation_first"], one["validation_best"]
        lines += [
            "",
            f"{name}: {one['steps']} meta-steps, {one['cpu']:.0f} CPU seconds; validation {first:.3f} to {best:.3f}.",
        ]
    return "\n".join(lines)


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
    heads = (
        "family",
        "evaluations",
        "per member and dimension",
        "CPU beside the objective, s",
        "search, ms",
        "default, ms",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    path = out / COSTS
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in FAMILIES:
        if name in known:
            one = known[name]
            each = one["evaluations"] / TRAINED / FAMILIES[name](0).dimension
            own = f"{one['cpu'] - one['cpu_of_objective']:.0f}" if "cpu" in one else "-"
            times = f"{one.get('search_ms', '-')} | {one.get('default_ms', '-')}"
            lines.append(f"| {name} | {one['evaluations']} | {np.round(each, 1)} | {own} | {times} |")
    return "\n".join(lines)
