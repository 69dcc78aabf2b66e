"""Fit the networks of the surrogate problems, and write them into the package with their cards.

    python tools/fit_surrogates.py --out runs/surrogates

Each network is a file in the folder, and one that is there is not fitted again: stop the command and start it again as
you like. When all that were asked for are there, they are written to `l2e/weights/surrogates`. The same seed gives the
same networks on the same machine.
"""

import argparse
import importlib.metadata
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from rich.console import Console

from l2e.core import checkpoint
from l2e.core.traced.trees import load_tree, save_tree
from l2e.problems._surrogate.networks import KINDS, AbstractNetwork, initial
from l2e.problems._surrogate.paper import DIMENSION, paper_surrogate
from l2e.problems._surrogate.quality import quality, sample
from l2e.problems._surrogate.suite import Fitted, blank, problem, ship

SETTINGS = {"points": 200_000, "epochs": 100, "batch": 500, "learning_rate": 0.003}
"""Points to fit to, passes over them, and how Adam goes about it: its steps shrink to 0 along a cosine."""

FRESH = 20_000
"""Points on which the quality on the card is measured."""

FRESH_SEED = 1_000_000
"""Of those points, plus the number of the function; far from the seeds of the points to fit to."""


def main() -> None:
    """Fit what is missing, then write everything into the package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder of the single networks")
    parser.add_argument("--functions", type=int, nargs="+", default=list(range(1, 25)))
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep-out", action="store_true", help="do not write them into the package")
    arguments = parser.parse_args()
    console = Console()
    for kind in arguments.kinds:
        networks, cards = {}, {}
        for function in sorted(arguments.functions):
            path = arguments.out / f"{kind}-f{function}.safetensors"
            if not path.exists() or not _is_current(path, arguments.seed):
                fitted, card = _fit(function, kind, arguments.seed)
                save_tree(path, fitted, card)
            cards[function] = checkpoint.load_metadata(path)
            networks[function] = load_tree(path, blank(kind))
            shown = {name: cards[function][name] for name in ("r2", "spearman", "cpu_seconds")}
            console.print(f"{kind} f{function}: {shown}", highlight=False)
        if not arguments.keep_out:
            ship(kind, networks, cards)


def _is_current(path: Path, seed: int) -> bool:
    """Whether a file was made with these settings and this seed."""
    card = checkpoint.load_metadata(path)
    return card["settings"] == SETTINGS and card["seed"] == seed


def _fit(function: int, kind: str, seed: int) -> tuple[Fitted, dict[str, Any]]:
    """One network and its card."""
    start = time.process_time()
    points, targets = _data(function, seed)
    mean, deviation = targets.mean(), targets.std()
    standard = jnp.asarray((targets - mean) / deviation, jnp.float32)
    first, order = jax.random.split(jax.random.key(1000 * seed + function))
    network = _train(initial(kind, DIMENSION, first), order, jnp.asarray(points, jnp.float32), standard)
    fitted = Fitted(jax.tree.map(np.asarray, network), np.asarray(mean, "float32"), np.asarray(deviation, "float32"))
    seconds = time.process_time() - start
    measured = quality(*sample(problem(fitted, function, kind), FRESH, FRESH_SEED + function))
    card = {
        "truth": f"paper-surrogate:f{function}:d{DIMENSION}",
        "name": paper_surrogate(function).name,
        "predicts": "log10(f - f*)",
        "r2": round(measured.r2, 4),
        "spearman": round(measured.spearman, 4),
        "fresh_points": FRESH,
        "fresh_seed": FRESH_SEED + function,
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(network)),
        "settings": SETTINGS,
        "seed": seed,
        "cpu_seconds": round(seconds, 1),
        "command": f"python tools/fit_surrogates.py --out runs/surrogates --seed {seed}",
        "versions": {package: importlib.metadata.version(package) for package in ("jax", "optax", "numpy")},
    }
    return fitted, card


def _data(function: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random points of the unit cube, one in each slice of every axis, and log10(f - f*) at them."""
    random = np.random.default_rng([seed, function])
    count = SETTINGS["points"]
    slices = random.permuted(np.tile(np.arange(count)[:, None], (1, DIMENSION)), axis=0)
    points = (slices + random.random((count, DIMENSION))) / count
    truth = paper_surrogate(function)
    return points, np.log10(truth(truth.space.from_unit(points)) - truth.optimum.f)


@jax.jit
def _train(network: Any, key: Any, points: Any, targets: Any) -> Any:
    """The network after the last epoch."""
    count, batch, epochs = SETTINGS["points"], SETTINGS["batch"], SETTINGS["epochs"]
    optimizer = optax.adam(optax.cosine_decay_schedule(SETTINGS["learning_rate"], epochs * (count // batch)))

    def step(carry: Any, chosen: Any) -> tuple[Any, None]:
        network, state = carry
        gradient = jax.grad(_error)(network, points[chosen], targets[chosen])
        updates, state = optimizer.update(gradient, state)
        return (eqx.apply_updates(network, updates), state), None

    def epoch(carry: Any, key: Any) -> tuple[Any, None]:
        order = jax.random.permutation(key, count).reshape(-1, batch)
        return jax.lax.scan(step, carry, order)[0], None

    (network, _), _ = jax.lax.scan(epoch, (network, optimizer.init(network)), jax.random.split(key, epochs))
    return network


def _error(network: AbstractNetwork, points: Any, targets: Any) -> Any:
    return jnp.mean((network(points) - targets) ** 2)


if __name__ == "__main__":
    main()
