"""Runs in this process, of a searcher that is given rather than named."""

from collections.abc import Sequence

from l2e.api.catalog import Searcher
from l2e.bench.methods import runs_compiled
from l2e.bench.record import RunRecord, RunSpec
from l2e.bench.run_compiled import capacity, run_compiled
from l2e.bench.run_host import run_on_host
from l2e.core.fingerprint import fingerprint
from l2e.core.traced.algorithm import AbstractAlgorithm


def specs_of(
    searcher: Searcher, name: str, problems: Sequence[str], seeds: Sequence[int], budget: int
) -> list[RunSpec]:
    """The runs of a searcher, called `name` in their records, on each problem with each seed."""
    made_of = fingerprint(searcher)
    return [RunSpec(problem, name, made_of, seed, budget) for problem in problems for seed in seeds]


def run_here(searcher: Searcher, specs: Sequence[RunSpec], problems: Sequence[str]) -> list[RunRecord]:
    """Do these runs of it, inside a compiled program where that is cheaper; they are the same either way.

    **Arguments:** `problems`: all those of which there will be runs; one program is made for them.

    **Raises:** `RuntimeError` that says which run has failed, and how.
    """
    if not specs:
        return []
    if isinstance(searcher, AbstractAlgorithm) and runs_compiled(searcher):
        lanes = capacity(specs[0].budget)
        chunks = [specs[i : i + lanes] for i in range(0, len(specs), lanes)]
        return [record for chunk in chunks for record in run_compiled(chunk, problems, searcher)]
    records = [run_on_host(spec, searcher=searcher) for spec in specs]
    for record in records:
        if record.error is not None:
            raise RuntimeError(
                f"{record.spec.method} on {record.spec.problem}, seed {record.spec.seed}: {record.error}"
            )
    return records
