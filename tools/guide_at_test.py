"""A control for leaks: a trained L2E on the paper's test functions without the guide, and with it left on.

    python tools/guide_at_test.py runs/ablation-guidance/off-* --functions 10 12 --seeds 3 --out guide.json

Left on, the guide follows the true gradient of the test function, and its evaluations are not counted: no score of an
optimizer. What it says is how large a factor a guide that was forgotten in a test would give, trained or not.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from l2e.api import models
from l2e.core.problem import GAP_FLOOR
from l2e.core.traced import runtime
from l2e.core.traced.loop import unroll
from l2e.meta import Guidance
from l2e.problems import PAPER_TEST, paper_bbob


def main() -> None:
    """Run both ways and write the gaps; a function is compiled once for all models that are built alike."""
    arguments = _parse()
    cards = [models.card(name) for name in arguments.models]
    take = models.untrained if arguments.untrained else models.load
    solvers = [take(name) for name in arguments.models]
    facts: list[dict[str, Any]] = [
        {
            "model": card.name if len(cards) == 1 else Path(name).name,
            "untrained": arguments.untrained,
            "kappa": arguments.kappa,
            "leak": "with the guide on, gradients of the test function are used and not counted",
            "gaps": {},
        }
        for name, card in zip(arguments.models, cards, strict=True)
    ]
    for function in arguments.functions:
        for solver, card, found in zip(solvers, cards, facts, strict=True):
            rows = {
                way: _gaps(solver, function, card, arguments, kappa)
                for way, kappa in (("off", 0.0), ("on", arguments.kappa))
            }
            found["gaps"][f"f{function}"] = rows
            off, on = np.mean(rows["off"]), np.mean(rows["on"])
            factor = off / max(on, GAP_FLOOR)
            print(f"{found['model']} f{function}: guide off {off:.4g}, on {on:.4g}, factor {factor:.4g}", flush=True)
        if arguments.out is not None:
            kept = facts[0] if len(facts) == 1 else facts
            arguments.out.write_text(json.dumps(kept, indent=1) + "\n")


def _gaps(solver: Any, function: int, card: models.Card, arguments: argparse.Namespace, kappa: float) -> list[float]:
    """The final gap of each seed; a kappa of 0 is the guide of inference, the point itself."""
    problem: Any = paper_bbob(function=function, dimension=card.trained_dimension)
    batches = card.evaluations // card.metadata["optimizer"]["population_size"]
    with runtime.float64():
        keys = jax.vmap(jax.random.key)(np.arange(arguments.seeds))
        best = _run(problem, batches, solver, keys, jnp.asarray(kappa))
    return [float(max(value - problem.optimum.f, 0.0)) for value in np.asarray(best)]


@eqx.filter_jit
def _run(problem: Any, batches: int, solver: Any, keys: Any, kappa: Any) -> Any:
    guided = solver.with_guide(Guidance(kappa=1.0).guide(problem, kappa, solver))

    def one(key: Any) -> Any:
        first, later = jax.random.split(key)
        return unroll(guided, problem, guided.init(problem.space, first), later, batches)[1].fun[-1]

    return jax.lax.map(one, keys)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="shipped models, folders of trainings or weights files")
    parser.add_argument("--untrained", action="store_true", help="the weights its training began with")
    parser.add_argument("--kappa", type=float, default=0.1, help="the first step of the guide, in widths of the box")
    parser.add_argument("--functions", type=int, nargs="+", default=list(PAPER_TEST))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
