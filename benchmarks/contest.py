"""CPU time of the paper's protocol BBOB-10D for native methods, beside pycma on a tenth of it, in one run.

    python benchmarks/contest.py [--methods de,cmaes,lshade] [--cold]

The protocol: 16 functions, 10 runs, 20,000 evaluations each, 3.2 million in all (CMA-ES without restarts stops when it
has converged). The tenth: one run of each function with pycma, restarted until its 20,000 evaluations are used. Both
go through the runner's own execution, records included. Compilation is counted; --cold compiles everything anew,
otherwise the compilations of earlier processes are read from the disk, as they are in daily use.
"""

import argparse
import os
import time

from l2e.bench.experiment import parse_experiment
from l2e.bench.plan import make_plan
from l2e.bench.run_compiled import run_compiled
from l2e.bench.run_host import run_on_host
from l2e.core.traced import compilations

PROTOCOL = {"name": "contest", "suite": "paper-bbob", "dimensions": [10], "budget": 20_000}


def cpu_seconds(method: str, seeds: int) -> tuple[float, int]:
    """CPU time and evaluations of a method on the 16 functions."""
    began = time.process_time()
    plan = make_plan(parse_experiment({**PROTOCOL, "methods": [method], "seeds": seeds}))
    used = 0
    for task in plan.tasks(plan.specs):
        if task.engine == "compiled":
            records = run_compiled(task.runs, task.problems)
        else:
            records = [run_on_host(spec) for spec in task.runs]
        assert all(record.error is None for record in records)
        used += sum(record.used for record in records)
    return time.process_time() - began, used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="de,cmaes,lshade")
    parser.add_argument("--cold", action="store_true")
    arguments = parser.parse_args()
    if arguments.cold:
        os.environ[compilations.CACHE_VARIABLE] = "off"
    reference, used = cpu_seconds("pycma-bipop", seeds=1)
    print(f"{'pycma-bipop, a tenth':24s} {reference:7.2f} CPU s for {used:>9,} evaluations")
    for method in arguments.methods.split(","):
        seconds, used = cpu_seconds(method, seeds=10)
        ratio = seconds / reference
        print(f"{method + ', all of it':24s} {seconds:7.2f} CPU s for {used:>9,} evaluations   {ratio:.2f} x the tenth")


if __name__ == "__main__":
    main()
