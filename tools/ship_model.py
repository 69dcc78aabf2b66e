"""Score a trained model beside its peers and write it into the package, with its card.

    python tools/ship_model.py runs/base-10d l2e-base-10d --commit e8cae05

Scored on fresh instances of its training families and on the paper's test functions: the model as it ships
(half-precision weights), the weights its training began with; on the test functions also as it was trained and, for an
L2E that has one, without its random term. A gate that blends takes two evaluations per individual and generation, and
all are counted; such a model is also scored over the whole episode of its training, as if one had been. A model that
does not beat its first weights on the fresh instances is not shipped.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from l2e.algorithms.l2e.solver import L2ESettings
from l2e.algorithms.trainable import TakesBudget
from l2e.api import models
from l2e.bench.score import score
from l2e.meta import RandomBBOBTasks
from l2e.meta.held_out import held_out
from l2e.problems import PAPER_TEST
from l2e.problems._bbob.suite import NAMES

LARGEST, LARGEST_30D, ALL = 5_000_000, 13_000_000, 40_000_000
"""Bytes that a shipped file may have, one for 30-D, and all of them together."""


def main() -> None:
    """Score, write, check the size."""
    arguments = _parse()
    console = Console()
    target = models.SHIPPED / f"{arguments.name}{models.SUFFIX}"
    card = models.card(arguments.run)

    def scored(method: Any, name: str, budget: int = arguments.budget) -> dict[str, Any]:
        method = method.with_budget(budget) if isinstance(method, TakesBudget) else method
        result = score(method, card.metadata["dimension"], budget, arguments.seeds, False, console, name)
        console.print(f"{name}: {result.geometric_mean:.4g}")
        means = {f"f{f}": float(f"{row.mean():.4g}") for f, row in zip(result.functions, result.gaps, strict=True)}
        kept = {key: result.facts[key] for key in ("suite", "budget", "seeds")}
        return {**kept, "geometric_mean": float(f"{result.geometric_mean:.4g}"), "means": means}

    models.ship(arguments.run, target, {})
    shipped = models.load(target)
    learned = _held_out(card, shipped, models.untrained(arguments.run), arguments)
    console.print(f"held out, mean log10 gap: {learned['trained']['mean']}, untrained {learned['untrained']['mean']}")
    peers = {
        "trained, float32": scored(models.load(arguments.run), "trained"),
        "untrained": scored(models.untrained(arguments.run), "untrained"),
    }
    if card.evaluations > arguments.budget:
        peers["whole episode"] = scored(shipped, "whole episode", card.evaluations)
        first = models.untrained(arguments.run)
        peers["whole episode, untrained"] = scored(first, "whole episode, untrained", card.evaluations)
    if isinstance(card.settings, L2ESettings) and card.settings.noise:
        peers["trained, without its random term"] = scored(models.without_noise(arguments.run), "without noise")
    facts = {
        "commit": arguments.commit,
        "command": arguments.command or card.metadata["command"],
        "never_seen": [f"f{function} {NAMES[function - 1]}" for function in PAPER_TEST],
        "trained_on": [f"f{function} {NAMES[function - 1]}" for function in card.metadata["tasks"]["functions"]],
        "held_out": learned,
        "peers": peers,
    }
    models.ship(arguments.run, target, facts | {"score": scored(shipped, "shipped")})
    size = target.stat().st_size
    together = sum(path.stat().st_size for path in models.SHIPPED.rglob(f"*{models.SUFFIX}"))
    console.print(f"{target}: {size / 1e6:.2f} MB, all {together / 1e6:.2f} MB")
    largest = LARGEST_30D if card.dimension == 30 else LARGEST
    if size > largest or together > ALL:
        _withdraw(target, f"too large to ship: {size} bytes, at most {largest}; all {together}, at most {ALL}")
    if not learned["trained"]["mean"] < learned["untrained"]["mean"]:
        _withdraw(target, "not better than its first weights on held-out instances")


def _held_out(card: models.Card, trained: Any, first: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """Means of log10 of the gap after an episode, per family, of the model and of its first weights."""
    tables = card.metadata["tasks"]
    tasks = RandomBBOBTasks(tables["functions"], tables["dimension"], tables["rotated"])
    sizes = (card.evaluations, arguments.instances, arguments.repeats)
    return {
        "trained": held_out(trained, tasks, *sizes).to_json(),
        "untrained": held_out(first, tasks, *sizes).to_json(),
    }


def _withdraw(target: Path, why: str) -> None:
    target.unlink()
    target.with_suffix(".card.json").unlink()
    raise SystemExit(why)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of the training")
    parser.add_argument("name", help="what the model will be called")
    parser.add_argument("--commit", required=True, help="commit at which it was trained")
    parser.add_argument("--command", help="the command that trains it, where the card names a path of one machine")
    parser.add_argument("--seeds", type=int, default=10, help="runs on each test function")
    parser.add_argument("--instances", type=int, default=8, help="fresh instances of each training family")
    parser.add_argument("--repeats", type=int, default=2, help="runs on each of them")
    parser.add_argument("--budget", type=int, help="of runs on the test functions; 50000 in 30-D, 20000 otherwise")
    arguments = parser.parse_args()
    if arguments.budget is None:
        arguments.budget = 50_000 if models.card(arguments.run).dimension == 30 else 20_000
    return arguments


if __name__ == "__main__":
    main()
