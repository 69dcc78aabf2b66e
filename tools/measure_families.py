"""Measure what learning from a family is worth on members that nobody has seen.

    python tools/measure_families.py run truss --learn runs/families --out results/families
    python tools/measure_families.py table --out results/families
    python tools/measure_families.py plans --learn runs/families --out results/families
    python tools/measure_families.py cost --out results/families
    python tools/measure_families.py overhead --learn runs/families --out results/families
    python tools/measure_families.py picture docs/results/families.png --out results/families

Forty members (seeds 0 to 39) are learned from, twenty others (from seed 1000) are searched once with each method told
5, 10, 20 and 50 evaluations per dimension. Runs that are already recorded are not repeated, nor are those of a model
that is closed at a budget, which are the default's. `table` prints the regret
as a multiple of the default's: the geometric mean over members of (f - best known) / (median of 99 random points - best
known), cut at 1e-4; `*` and `!` mark cells that are better or worse by two paired standard errors.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import l2e
from l2e.api.family_model import FamilyModel
from l2e.core.problem import HostFunction
from l2e.portfolio.transfer.knowledge import Plan, Plans
from l2e.portfolio.transfer.method import Transfer
from l2e.problems.families import FAMILIES
from l2e.report.statistics import mean_and_error

TRAINED, TESTED, FIRST_TESTED = 40, 20, 1000
DEVELOPED = 500
"""Members from this seed on are for development."""
BUDGETS = (5, 10, 20, 50)
FEW = 10
PAIRS = {
    "truss": "control", "control": "truss", "seir": "tuning", "tuning": "seir", "uav": "cartpole", "cartpole": "uav"
}  # fmt: skip
"""Families of equal dimension: each is the wrong model of the other."""

SHUFFLE = 7
"""Seed of the order of coordinates in models that are shuffled."""

REPEATS = 8
"""Searches that are timed; the first fills tables and does not count."""

COSTS, PLANS = "learning.json", "plans.json"
FLOOR = 1e-4
ASIDE = ("reference",)
"""Records that are no contestants."""


def models(name: str, folder: Path) -> dict[str, Callable[[], Any]]:
    """The contestants that need a model, by name; a model is learned when it is first needed, and journaled."""
    make, cache = FAMILIES[name], {}

    def learned(count: int, of: str = name) -> FamilyModel:
        if (count, of) not in cache:
            family = l2e.Family.of(FAMILIES[of], seeds=range(count))
            cache[count, of] = l2e.learn(family, rng=0, folder=folder / f"{of}-{count}")
            cache[count, of].save(folder / f"{of}-{count}")
        return cache[count, of]

    def archived() -> FamilyModel:
        learned(TRAINED)
        return l2e.learn_from(folder / f"{name}-{TRAINED}" / "first-*.l2e")

    def plain(model: FamilyModel, **parts: Any) -> Any:
        return model.method(**parts)

    def seeds_only() -> Any:
        model = learned(TRAINED)
        plans = Plans.always(Plan(True, "default", "seeds"))
        return dataclasses.replace(model, plans=plans).method(without=("jump", "gate"))

    found: dict[str, Callable[[], Any]] = {
        "model": lambda: plain(learned(TRAINED)),
        "archives": lambda: plain(archived()),
        "model-10": lambda: plain(learned(FEW)),
        "seeds": seeds_only,
        "no-gate": lambda: plain(learned(TRAINED), without=("gate",)),
        "no-jump": lambda: plain(learned(TRAINED), without=("jump",)),
        "no-follow": lambda: plain(learned(TRAINED), without=("covariance", "metric")),
        "wrong-turned": lambda: plain(turned(learned(TRAINED))),
    }
    found["wrong-shuffled"] = lambda: plain(turned(learned(TRAINED), shuffled=True))
    if name in PAIRS:
        found["wrong-scaled"] = lambda: plain(scaled(learned(TRAINED, PAIRS[name]), learned(TRAINED)))
    del make
    return found


def opened(model: FamilyModel) -> Plans:
    """The plans of a model, forced open unless its members share nothing: only gates within the search are judged."""
    if model.knowledge.kin is not None and not model.knowledge.kin.is_family:
        return model.plans
    entries = tuple((budget, plan._replace(opened=True)) for budget, plan in model.plans.entries)
    return Plans(entries, np.inf)


def turned(model: FamilyModel, shuffled: bool = False) -> FamilyModel:
    """The model of a family that does not exist: the same values, the coordinates in the opposite order, or in any."""
    known, order = model.knowledge, np.arange(model.dimension)[::-1]
    if shuffled:
        order = np.random.default_rng(SHUFFLE).permutation(model.dimension)
    other = dataclasses.replace(
        known, ends=known.ends[:, order], gradient=known.gradient[:, order], metric=known.metric[np.ix_(order, order)]
    )
    return dataclasses.replace(model, knowledge=other, plans=opened(model))


def scaled(model: FamilyModel, target: FamilyModel) -> FamilyModel:
    """A wrong model whose values are mapped onto the scale of the right one, on the right one's box, forced open."""
    known, right = model.knowledge, target.knowledge
    low, high = np.median(known.best), np.median(known.centre)
    onto_low, onto_high = np.median(right.best), np.median(right.centre)
    slope = (onto_high - onto_low) / (high - low)

    def mapped(values: np.ndarray) -> np.ndarray:
        return onto_low + slope * (values - low)

    other = dataclasses.replace(
        known,
        best=mapped(known.best),
        centre=mapped(known.centre),
        cross=mapped(known.cross),
        gradient=slope * known.gradient,
    )
    return dataclasses.replace(model, space=target.space, knowledge=other, plans=opened(model))


def is_closed(method: Any, budget: float) -> bool:
    """Whether a model is not used at a budget: then its search is the default's to the bit, and is not run again."""
    return isinstance(method, Transfer) and not method.plans.plan(budget).opened


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a family."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def reached(result: Any, value: float) -> int | None:
    """The evaluation at which a search was at least as good as this."""
    at = np.flatnonzero(result.history.fun <= value)
    return int(result.history.nfev[at[0]]) if at.size else None


def run(name: str, folder: Path, out: Path, chosen: list[str], members: range) -> None:
    """Measure one family."""
    make, path = FAMILIES[name], out / f"{name}.jsonl"
    out.mkdir(parents=True, exist_ok=True)
    contestants = {"default": lambda: "auto", **models(name, folder)}
    done = {(row["method"], row["member"], row["budget"]) for row in read(path)}
    defaults = {row["member"]: row["fun"] for row in read(path) if row["method"] == "default" and row["budget"] == 50}
    plain = {(row["member"], row["budget"]): row for row in read(path) if row["method"] == "default"}
    for method, build in contestants.items():
        if chosen and method not in chosen:
            continue
        built = None
        for member in members:
            rows = []
            for budget in BUDGETS:
                if (method, member, budget) in done:
                    continue
                built = build() if built is None else built
                if is_closed(built, budget) and (member, budget) in plain:
                    rows.append(plain[member, budget] | {"method": method, "trusted": False})
                    continue
                problem = make(member)
                result = l2e.minimize(problem, method=built, budget=budget * problem.dimension, rng=member)
                row = {"method": method, "member": member, "budget": budget, "fun": result.fun}
                if result.model is not None:
                    row["trusted"] = result.model.trusted
                if method == "default" and budget == BUDGETS[-1]:
                    defaults[member] = result.fun
                if budget == BUDGETS[-1] and member in defaults:
                    row["reached"] = reached(result, defaults[member])
                rows.append(row)
                if method == "default":
                    plain[member, budget] = row
            if ("reference", member, 100) not in done and method == "default":
                problem = make(member)
                drawn = np.random.default_rng(member).random((99, problem.dimension))
                long = l2e.minimize(problem, budget=100 * problem.dimension, rng=member + 1).fun
                random = float(np.median(problem(problem.space.from_unit(drawn))))
                rows.append({"method": "reference", "member": member, "budget": 100, "fun": long, "random": random})
            with path.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        print(name, method, flush=True)


def regrets(rows: list[dict[str, Any]]) -> dict[tuple[str, int], dict[int, float]]:
    """log regret by method, budget and member."""
    best: dict[int, float] = {}
    for row in rows:
        best[row["member"]] = min(best.get(row["member"], np.inf), row["fun"])
    random = {row["member"]: row["random"] for row in rows if "random" in row}
    found: dict[tuple[str, int], dict[int, float]] = {}
    for row in rows:
        if row["method"] not in ASIDE and row["member"] in random:
            low = best[row["member"]]
            share = (row["fun"] - low) / max(random[row["member"]] - low, 1e-300)
            found.setdefault((row["method"], row["budget"]), {})[row["member"]] = float(np.log(max(share, FLOOR)))
    return found


def compared(found: dict[tuple[str, int], dict[int, float]], method: str, budget: int) -> tuple[float, float] | None:
    """The mean log ratio to the default's regret, and its error."""
    ours, plain = found.get((method, budget), {}), found.get(("default", budget), {})
    ratios = [ours[i] - plain[i] for i in ours if i in plain]
    if len(ratios) < 2:
        return None
    return mean_and_error(ratios)


def cell(result: tuple[float, float] | None) -> str:
    """A cell of the table."""
    if result is None:
        return "-"
    mean, error = result
    return shown(mean) + ("*" if mean + 2 * error < 0 else "!" if mean - 2 * error > 0 else "")


def speed(rows: list[dict[str, Any]], method: str, dimension: int) -> float | None:
    """Evaluations of the default told 50 per dimension over those of a method to its value; not reached: twice."""
    plain = {r["member"]: r["reached"] for r in rows if r["method"] == "default" and "reached" in r}
    ours = {r["member"]: r["reached"] or 100 * dimension for r in rows if r["method"] == method and "reached" in r}
    ratios = [np.log(plain[i] / ours[i]) for i in ours if plain.get(i)]
    return float(np.exp(np.mean(ratios))) if ratios else None


def table(out: Path, methods: Sequence[str] = (), common: bool = False) -> str:
    """Regrets of all families as Markdown, as multiples of the default's.

    **Arguments:** `methods`: the columns; all that were run if none is named; `common`: only families on which all of
    them were run.
    """
    rows = {name: read(out / f"{name}.jsonl") for name in FAMILIES if (out / f"{name}.jsonl").exists()}
    methods = methods or run_methods(rows)
    lines = ["| family, budget | default's regret | " + " | ".join(methods) + " |", "|---" * (len(methods) + 2) + "|"]
    means: dict[tuple[str, int], list[float]] = {}
    for name, found in {name: regrets(each) for name, each in rows.items()}.items():
        for budget in BUDGETS:
            plain = found.get(("default", budget), {})
            results = {method: compared(found, method, budget) for method in methods}
            if not plain or not any(results.values()) or (common and None in results.values()):
                continue
            own = f"{np.exp(np.mean(list(plain.values()))):.2g}"
            lines.append(f"| {name} {budget}·d | {own} | " + " | ".join(map(cell, results.values())) + " |")
            for method, result in results.items():
                if result is not None and name != "control":
                    means.setdefault((method, budget), []).append(result[0])
    for budget in BUDGETS:
        cells = [mean_cell(means.get((method, budget), [])) for method in methods]
        lines.append(f"| **mean of families but control, {budget}·d** | | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def mean_cell(logs: list[float]) -> str:
    """A geometric mean, and of how many families."""
    return f"{shown(float(np.mean(logs)))} ({len(logs)})" if logs else "-"


def shown(log: float) -> str:
    """A ratio, with two digits that say something."""
    ratio = float(np.exp(log))
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def run_methods(rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The methods of all records, in order."""
    named = (row["method"] for each in rows.values() for row in each)
    return [method for method in dict.fromkeys(named) if method not in (*ASIDE, "default")]


def speeds(out: Path, methods: Sequence[str] = ()) -> str:
    """How many times fewer evaluations they need to the default's value at 50·d, as Markdown."""
    rows = {name: read(out / f"{name}.jsonl") for name in FAMILIES if (out / f"{name}.jsonl").exists()}
    methods = methods or run_methods(rows)
    lines = ["| family | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    logs: dict[str, list[float]] = {method: [] for method in methods}
    for name, each in rows.items():
        found = {method: speed(each, method, FAMILIES[name](0).dimension) for method in methods}
        lines.append(f"| {name} | " + " | ".join("-" if s is None else f"{s:.1f}" for s in found.values()) + " |")
        for method, value in found.items():
            if value is not None and name != "control":
                logs[method].append(float(np.log(value)))
    cells = [mean_cell(logs[method]) for method in methods]
    return "\n".join([*lines, "| **mean of families but control** | " + " | ".join(cells) + " |"]) + "\n"


def cost(name: str, out: Path) -> None:
    """Learn a family once more and write down what it cost: evaluations, and CPU seconds with and without them."""
    spent = 0.0

    def timed(seed: int) -> HostFunction:
        member = FAMILIES[name](seed)

        def function(points: np.ndarray) -> np.ndarray:
            nonlocal spent
            began = time.process_time()
            values = member.function(points)
            spent += time.process_time() - began
            return values

        return dataclasses.replace(member, function=function)

    began = time.process_time()
    model = l2e.learn(l2e.Family.of(timed, seeds=range(TRAINED)), rng=0)
    seconds = time.process_time() - began
    path = out / COSTS
    known = json.loads(path.read_text()) if path.exists() else {}
    known[name] = known.get(name, {}) | {
        "evaluations": model.spent,
        "cpu": round(seconds, 1),
        "cpu_of_objective": round(spent, 1),
    }
    path.write_text(json.dumps(known, indent=1) + "\n")
    print(name, known[name], flush=True)


def overhead(name: str, folder: Path, out: Path) -> None:
    """CPU time that a search with a model takes beside the default, values being looked up: the least of several."""
    model = FamilyModel.load(folder / f"{name}-{TRAINED}")
    member, seen = FAMILIES[name](FIRST_TESTED), {}

    def function(x: np.ndarray) -> float:
        key = x.tobytes()
        if key not in seen:
            seen[key] = float(member(x))
        return seen[key]

    def took(**options: Any) -> float:
        began = time.process_time()
        l2e.minimize(function, bounds=member.space, budget=5 * member.dimension, rng=0, **options)
        return time.process_time() - began

    both = [(took(model=model), took()) for _ in range(REPEATS)]
    path = out / COSTS
    known = json.loads(path.read_text()) if path.exists() else {}
    least = [1e3 * min(times) for times in zip(*both[1:], strict=True)]
    known[name] = known.get(name, {}) | {"search_ms": round(least[0], 1), "default_ms": round(least[1], 1)}
    path.write_text(json.dumps(known, indent=1) + "\n")
    print(name, known[name], flush=True)


def plans(folder: Path, out: Path) -> None:
    """Write down at which budgets the models of forty members are used, and how telling their gradients are."""
    path = out / PLANS
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in FAMILIES:
        if not (folder / f"{name}-{TRAINED}.safetensors").exists():
            continue
        model = FamilyModel.load(folder / f"{name}-{TRAINED}")
        kin = model.knowledge.kin
        found[name] = {
            "opened": [model.plans.plan(budget).opened for budget in BUDGETS],
            "follow": [model.plans.plan(budget).follow for budget in BUDGETS],
            "foreign": None if kin is None else kin.foreign,
        }
    path.write_text(json.dumps(found, indent=1) + "\n")


SHOWN = {"default": "without a model", "archives": "from journals alone", "model": "learned from functions"}
"""Methods in the picture, and their names there."""

SAME = 0.01
"""Logarithms of ratios below this are no difference."""


def picture(out: Path, path: Path) -> None:
    """Regret over the told budget with and without a model, family by family, with paired standard errors."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = [name for name in FAMILIES if (out / f"{name}.jsonl").exists()]
    columns = min(len(names), 4)
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns, 2.4 * rows), squeeze=False, layout="constrained")
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.flat, names, strict=False):
        found = regrets(read(out / f"{name}.jsonl"))
        for (method, label), colour in zip(SHOWN.items(), ("0.55", "#d98c2b", "#1f5fa8"), strict=True):
            told = [budget for budget in BUDGETS if (method, budget) in found]
            means = [np.exp(np.mean(list(found[method, budget].values()))) for budget in told]
            ax.loglog(told, means, color=colour, label=label, marker="o", markersize=3, linewidth=1.6)
            errors = [(compared(found, method, budget) or (0.0, 0.0))[1] for budget in told]
            low = [mean * np.exp(-error) for mean, error in zip(means, errors, strict=True)]
            high = [mean * np.exp(error) for mean, error in zip(means, errors, strict=True)]
            if method != "default":
                ax.fill_between(told, low, high, color=colour, alpha=0.2, linewidth=0)
        both = [compared(found, method, budget) for method in ("archives", "model") for budget in BUDGETS]
        if all(result is not None and abs(result[0]) < SAME for result in both):
            ax.text(0.95, 0.9, "as without a model", transform=ax.transAxes, ha="right", fontsize=8, color="0.3")
        ax.set_title(f"{name}, {FAMILIES[name](0).dimension}-D", fontsize=9)
        ax.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
        ax.minorticks_off()
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("evaluations per dimension", fontsize=9)
    figure.supylabel("regret (a random point is 1)", fontsize=9)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "picture", "cost", "overhead", "plans"])
    parser.add_argument("families", nargs="*", default=[])
    parser.add_argument("--learn", type=Path, default=Path("runs/families"), help="folder for journals of learning")
    parser.add_argument("--out", type=Path, default=Path("results/families"))
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--members", type=int, default=TESTED)
    parser.add_argument("--development", action="store_true", help="members kept for development instead of the test")
    chosen = parser.parse_args()
    if chosen.what == "table":
        print(table(chosen.out, chosen.methods))
        print(speeds(chosen.out, chosen.methods))
        return
    if chosen.what == "cost":
        for name in chosen.families or FAMILIES:
            cost(name, chosen.out)
        return
    if chosen.what == "overhead":
        for name in chosen.families or FAMILIES:
            overhead(name, chosen.learn, chosen.out)
        return
    if chosen.what == "plans":
        plans(chosen.learn, chosen.out)
        return
    if chosen.what == "picture":
        picture(chosen.out, Path(chosen.families[0]))
        return
    first = DEVELOPED if chosen.development else FIRST_TESTED
    for name in chosen.families or FAMILIES:
        run(name, chosen.learn, chosen.out, chosen.methods, range(first, first + chosen.members))


if __name__ == "__main__":
    main()
