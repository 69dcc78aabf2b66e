"""Cost of one meta-step: CPU seconds and temporary memory, with and without rematerialisation.

    python benchmarks/meta_step.py --operator base --generations 200 --repeats 3

The step is that of `l2e train`: N = 100, D = 10, eight tasks (one of each training family of the paper), unshared
weights, full back-propagation in float32. Compilation is not counted; CPU time is that of all threads.
"""

import argparse
import dataclasses
import time
from typing import Any, NamedTuple

import jax

from l2e.meta.config import parse_config
from l2e.meta.train import Trainer, train_step


class Cost(NamedTuple):
    compile_seconds: float
    cpu_seconds: float
    temporary_megabytes: float


def main() -> None:
    """Print one row per way to keep what the backward pass needs, and their ratios."""
    arguments = _parse()
    for operator in ("base", "mamba") if arguments.operator == "both" else (arguments.operator,):
        costs = {remat: _measure(operator, arguments.generations, arguments.repeats, remat) for remat in (True, False)}
        print(f"{operator}: N = 100, D = 10, K = {arguments.generations}, 8 tasks, unshared, float32")
        for remat, cost in costs.items():
            name = "rematerialised" if remat else "everything kept"
            print(
                f"  {name:<16}{cost.cpu_seconds:>8.2f} CPU-seconds{cost.temporary_megabytes:>9.1f} MB temporary"
                f"{cost.compile_seconds:>8.1f} s compilation"
            )
        seconds = costs[True].cpu_seconds / costs[False].cpu_seconds
        memory = costs[True].temporary_megabytes / costs[False].temporary_megabytes
        print(f"  ratio           {seconds:>8.2f} CPU-seconds{memory:>9.3f} memory")


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operator", choices=("base", "mamba", "both"), default="both")
    parser.add_argument("--generations", type=int, default=200, help="generations of an episode (default 200)")
    parser.add_argument("--repeats", type=int, default=3, help="steps that are timed (default 3, the median counts)")
    return parser.parse_args()


def _measure(operator: str, generations: int, repeats: int, rematerialise: bool) -> Cost:
    config = parse_config(
        {"optimizer": {"operator": operator}, "training": {"generations": generations, "steps": repeats + 1}}
    )
    trainer = Trainer(dataclasses.replace(config.spec(), rematerialise=rematerialise))
    state = trainer.begin(jax.random.key(0))
    arguments: Any = (trainer.loss, trainer.spec.estimator, trainer.rule, state, trainer.work(state))
    began = time.perf_counter()
    step_function: Any = train_step
    step = step_function.lower(*arguments).compile()
    compiled = time.perf_counter() - began
    seconds = sorted(_seconds(step, arguments) for _ in range(repeats + 1))
    memory = step.compiled.memory_analysis().temp_size_in_bytes / 1e6
    return Cost(compiled, seconds[len(seconds) // 2], memory)


def _seconds(step: Any, arguments: Any) -> float:
    began = time.process_time()
    jax.block_until_ready(step(*arguments)[2])
    return time.process_time() - began


if __name__ == "__main__":
    main()
