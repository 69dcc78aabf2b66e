"""The commands `l2e bench`, `l2e report` and `l2e export`."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from rich.console import Console
from tyro.conf import Positional, arg

from l2e.core.settings import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from l2e.bench.cluster import ClusterRunner
    from l2e.bench.plan import Plan
    from l2e.bench.record import RunRecord
    from l2e.bench.runner import Runner
    from l2e.bench.store import Store


def bench(
    path: Positional[Path],
    /,
    out: Path,
    workers: int | None = None,
    executor: Annotated[str, arg(metavar="dask|ray")] = "",
    address: str | None = None,
    methods: Annotated[str, arg(metavar="A,B,..")] = "",
    seeds: int | None = None,
    only: Annotated[str, arg(metavar="50x,noise-200x,..")] = "",
    log: Annotated[str, arg(metavar="coco,ioh")] = "",
    again: Annotated[str, arg(metavar="A,B,..|failed")] = "",
    timeout: float | None = None,
    trust: bool = False,
    quote: bool = False,
) -> int:
    """Run an experiment: each method on each problem with each seed, counted. Finished runs are never repeated.

    A method or suite written module:factory is Python code, which is imported and called: run only files you trust.

    Examples:
      l2e bench experiments/paper-bbob-10d.toml --out runs/bbob-10d
      l2e bench experiments/paper-bbob-10d.toml --out runs/bbob-10d --methods de,my_module:my_method --seeds 3

    Args:
        path: The experiment: suite, methods, seeds, budget, disturbances (see experiments/smoke.toml).
        out: Folder of the records; several commands may work on one at the same time.
        workers: Number of worker processes; one per core if not given.
        executor: Run on a cluster: dask or ray; records come back to this command, which alone writes the store.
        address: Of the cluster (tcp://host:8786 for Dask, auto or host:6379 for Ray); without it one is started here.
        methods: Instead of those in the file.
        seeds: Runs per problem and method, instead of those in the file.
        only: Of an experiment with several budgets or variants, these contests.
        log: Also write official archives: coco (for cocopp), ioh (for IOHanalyzer), or both.
        again: Run these methods anew although their runs are finished; "failed" for all failed runs.
        timeout: Seconds one run may take, instead of those in the file.
        trust: Run the module:factory code of a file that is not under the current folder.
        quote: Only estimate what the missing runs cost, evaluations alone; nothing is run or written.
    """
    from l2e.bench.experiment import load_experiment, refuse_foreign_code
    from l2e.bench.official import check_loggers
    from l2e.bench.plan import make_plan
    from l2e.bench.progress import Progress, method_table
    from l2e.bench.store import RECORDS, Store
    from l2e.bench.todo import AbortedError

    console = Console(markup=False, highlight=False)
    for name, number in (("workers", workers), ("seeds", seeds)):
        if number is not None and number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    whole = load_experiment(path)
    experiment = whole.with_overrides(_names(methods), seeds)
    if not trust:
        refuse_foreign_code(path, experiment, _names(methods))
    loggers = _names(log)
    _check_executor(executor, address, loggers)
    check_loggers(loggers, experiment.suite)
    plan = make_plan(experiment, loggers, _names(only))
    store = Store(out)
    if quote:
        return _quote(plan, store, console)
    store.open()
    store.note_experiment(plain(whole))
    if store.complaint:
        console.print(store.complaint, soft_wrap=True)
    redo = set(_names(again))
    known = {spec.key for spec in plan.specs}
    runs = _Runs(
        plan,
        store,
        timeout or experiment.timeout,
        lambda r: r.key in known and (r.spec.method in redo or ("failed" in redo and r.error is not None)),
    )
    try:
        title = experiment.title or experiment.name
        with _runner(runs, executor, address, workers) as runner, Progress(console, title) as progress:
            runner.show = progress.show
            runner.run()
    except KeyboardInterrupt:
        done = sum(spec.key in store.records for spec in plan.specs)
        console.print(f"stopped: {done} of {len(plan.specs)} runs are in {out / RECORDS}; the same command goes on")
        return 130
    except AbortedError as error:
        raise ValueError(str(error)) from error
    console.print(method_table(runner.status(), experiment.title or experiment.name))
    failed = [store.records[spec.key] for spec in plan.specs if store.records[spec.key].error is not None]
    for record in failed[:5]:
        console.print(f"failed: {record.spec.method} on {record.spec.problem}, seed {record.spec.seed}: {record.error}")
    console.print(f"{runner.done_here} runs done now, {len(plan.specs)} in {out / RECORDS}", soft_wrap=True)
    return 0


class _Runs(NamedTuple):
    """What is to be run, and how."""

    plan: "Plan"
    store: "Store"
    timeout: float
    again: "Callable[[RunRecord], bool]"


@contextlib.contextmanager
def _runner(runs: _Runs, executor: str, address: str | None, workers: int | None) -> "Iterator[Runner | ClusterRunner]":
    """Who does the runs: processes of this machine, or a cluster, which is left at the end."""
    if not executor:
        from l2e.bench.runner import Runner

        yield Runner(runs.plan, runs.store, workers or _cores(), runs.timeout, runs.again)
        return
    from l2e.bench.cluster import ClusterRunner
    from l2e.bench.engines import connect

    engine = connect(executor, address, workers)
    try:
        yield ClusterRunner(runs.plan, runs.store, engine, runs.timeout, runs.again)
    finally:
        engine.close()


def _check_executor(executor: str, address: str | None, loggers: tuple[str, ...]) -> None:
    from l2e.bench.engines import ENGINES
    from l2e.core.errors import unknown

    if executor and executor not in ENGINES:
        raise unknown("executor", executor, ENGINES)
    if address and not executor:
        raise ValueError("address is that of a cluster: say --executor dask or --executor ray")
    if executor and loggers:
        raise ValueError("official archives are written where a run is: use --log without --executor")


def _quote(plan: "Plan", store: "Store", console: Console) -> int:
    """Say what the missing runs will cost; the store is read if there is one."""
    from l2e.bench.quote import quote, quote_table
    from l2e.bench.store import read_store

    done = read_store(store.folder).records if store.folder.exists() else {}
    console.print(quote_table(quote(spec for spec in plan.specs if spec.key not in done)))
    console.print("Evaluations of whole budgets alone; what methods do between them comes on top.", soft_wrap=True)
    return 0


def _cores() -> int:
    """The cores this process may use; where the system does not tell, all there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def report(
    store: Positional[Path],
    /,
    out: Path,
    methods: Annotated[str, arg(metavar="A,B,..")] = "",
    only: Annotated[str, arg(metavar="50x,noise-200x,..")] = "",
    published: bool = True,
    figures: bool = True,
    trust: bool = False,
) -> int:
    """Write a report of an experiment: one page, figures, tables as markdown, LaTeX and CSV.

    Args:
        store: The folder that l2e bench wrote; may still be written to.
        out: Folder for index.html, figures and tables.
        methods: Only these, in this order.
        only: Of an experiment with several budgets or variants, these contests.
        published: Show the paper's printed numbers beside the measured ones, where there are any.
        figures: Draw PNG and PDF figures, which takes most of the time.
        trust: Ask the module:factory suites in the store for their optima, which runs their code.
    """
    from l2e.bench.store import read_store
    from l2e.report.collection import collect_contests
    from l2e.report.write import write_reports

    console = Console(markup=False, highlight=False)
    read = read_store(store)
    contests = collect_contests(read, _names(methods), _names(only), trust)
    for remark in filter(None, (read.complaint, *contests[0].remarks)):
        console.print(remark, soft_wrap=True)
    for path in write_reports(contests, out, published, figures):
        console.print(str(path), soft_wrap=True)
    return 0


def export(source: Positional[Path], to: Positional[Path], /) -> int:
    """Write the records of a contest, or the evaluations of a saved search, as a table.

    Args:
        source: The folder that l2e bench wrote (.csv, .parquet, or thinned for keeping .jsonl.gz), or a journal (.csv,
            .parquet; one row for each evaluation, also while the search runs).
        to: The file; its ending is the format.
    """
    console = Console(markup=False, highlight=False)
    if source.is_file():
        from l2e.core.journal_reader import read_journal
        from l2e.report.run_record import export_run

        console.print(f"{export_run(read_journal(source), to)} evaluations in {to}", soft_wrap=True)
        return 0
    from l2e.bench.store import read_store
    from l2e.report.export import export_records

    console.print(f"{export_records(read_store(source), to)} records in {to}", soft_wrap=True)
    return 0
