"""The command line: `l2e minimize | methods | problems | models | train | diagnose | score | ablate | demo`."""

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from l2e import catalog
from l2e._names import MissingExtraError, require, unknown
from l2e._version import __version__
from l2e.cli_bench import bench, export, report
from l2e.cli_train import train
from l2e.demo import run_demo
from l2e.evaluator import ObjectiveError

Positional = tyro.conf.Positional
arg = tyro.conf.arg


def minimize(
    objective: Annotated[Positional[str | None], arg(metavar="MODULE:FUNCTION")] = None,
    /,
    function: Annotated[str | None, arg(metavar="FAMILY:F..:D..")] = None,
    method: Annotated[str, arg(metavar="NAME")] = catalog.DEFAULT_METHOD,
    budget: Annotated[int, arg(metavar="N")] = 10_000,
    seed: Annotated[int, arg(metavar="N")] = 0,
    bounds: Annotated[tuple[str, ...], arg(metavar="LOW,HIGH"), tyro.conf.UseAppendAction] = (),
    dimension: Annotated[int | None, arg(metavar="D")] = None,
    x0: Annotated[str | None, arg(metavar="X1,X2,..")] = None,
    target: Annotated[float | None, arg(metavar="VALUE")] = None,
    max_seconds: Annotated[float | None, arg(metavar="S")] = None,
    timeout: Annotated[float | None, arg(metavar="S")] = None,
    population_size: Annotated[int | None, arg(metavar="N")] = None,
    vectorized: bool = False,
    on_error: Literal["penalize", "raise"] = "penalize",
    checkpoint: Annotated[Path | None, arg(metavar="FILE")] = None,
    plot: Annotated[Path | None, arg(metavar="PNG")] = None,
    out: Annotated[Path | None, arg(metavar="JSON")] = None,
) -> int:
    """Minimise a benchmark function, or your own Python function, within a counted budget.

    A benchmark function: l2e minimize --function bbob:f10:i3:d20 --method cmaes --budget 2000

    Your own function: l2e minimize mymodule:myfunction --bounds=-5,5 --dimension 10

    Args:
        objective: Your function as module:function, found from the current folder.
        function: A benchmark function instead, e.g. bbob:f10:i3:d20 (see l2e problems).
        method: How to search (see l2e methods).
        budget: Number of evaluations, never exceeded.
        seed: The same seed gives the same result.
        bounds: low,high for all coordinates; or give the option once per coordinate.
        dimension: Number of coordinates, when one pair of bounds is given.
        x0: Where to begin: numbers separated by commas.
        target: Stop at the first value at or below it.
        max_seconds: Stop after that much time.
        timeout: Seconds one evaluation may take before it counts as failed.
        population_size: Instead of the method's own choice.
        vectorized: The function takes a batch (n, d) and returns (n,).
        on_error: What to do when the function fails: penalize (rank last, go on) or raise.
        checkpoint: File from which the same command goes on after an interruption.
        plot: Write a picture of the convergence here.
        out: Write the result as JSON here.
    """
    from l2e.problem import HostFunction

    console = plain_console()
    _check_plot(plot)
    if (objective is None) == (function is None):
        raise ValueError("give either module:function or --function family:f..:d.., see l2e minimize --help")
    if function is not None:
        if bounds or dimension:
            raise ValueError("--bounds and --dimension go with your own function; a benchmark function has its own")
        problem: Any = catalog.problem(function)
    else:
        problem = HostFunction(_user_function(str(objective)), _parse_bounds(bounds, dimension), vectorized)
    options = {
        "x0": None if x0 is None else _numbers(x0, "x0"),
        "method": method,
        "budget": budget,
        "rng": seed,
        "target": target,
        "max_seconds": max_seconds,
        "timeout": timeout,
        "population_size": population_size,
        "on_error": on_error,
        "checkpoint": checkpoint,
    }
    result, seconds, code = _search(problem, options, console)
    optimum = getattr(problem, "optimum", None)
    f_opt = None if optimum is None else optimum.f
    if out is not None:
        _write_json(result, function or str(objective), seed, budget, seconds, out)
    console.print(_result_table(result, seconds, f_opt))
    if code == 130 and checkpoint is not None:
        console.print(f"saved in {checkpoint}: the same command goes on from there")
    if plot is not None and result.x is not None:
        from l2e.report.figures import convergence
        from l2e.report.records import Run

        run = Run.of(result, function or str(objective), seed, budget, f_opt, seconds)
        convergence([run], plot, f"{result.method}, seed {seed}")
    for what, path in (("picture", plot), ("result", out)):
        if path is not None and path.exists():
            console.print(f"{what}: {path}")
    return code


def methods() -> int:
    """List the search methods, one line each."""
    table = Table(box=None, pad_edge=False)
    for heading in ("method", "kind", "what it is"):
        table.add_column(heading, no_wrap=heading != "what it is")
    for name, method in catalog.all_methods().items():
        kind = (
            "native" if method.native or method.program else f"needs l2e[{method.extra}]" if method.extra else "adapter"
        )
        default = "  (default)" if name == catalog.DEFAULT_METHOD else ""
        table.add_row(name, kind, method.summary + default)
    plain_console().print(table)
    return 0


def problems() -> int:
    """List the benchmark problems, one line each."""
    from l2e.problems.bbob_paper import PAPER_TRAIN
    from l2e.problems.bbob_suite import GROUPS, NAMES

    console = plain_console()
    table = Table(box=None, pad_edge=False)
    for heading in ("family", "written like", "what it is"):
        table.add_column(heading, no_wrap=heading != "what it is")
    for name, family in catalog.FAMILIES.items():
        table.add_row(name, family.example, family.summary)
    console.print(table)
    functions = Table(box=None, pad_edge=False)
    for heading in ("\nfunction", "\nname", "\ngroup", "in the paper's\nsplit"):
        functions.add_column(heading)
    for group, members in GROUPS.items():
        for function in members:
            split = "train" if function in PAPER_TRAIN else "test"
            functions.add_row(f"f{function}", NAMES[function - 1], group, split)
    console.print(functions)
    return 0


def demo(
    out: Path = Path("demo"),
    dimension: int = 5,
    budget: int = 5000,
    seeds: int = 5,
    method: str = catalog.DEFAULT_METHOD,
) -> int:
    """Minimise six functions with the default and with CMA-ES; write a picture and a page.

    Args:
        out: Folder for demo.png and demo.html.
        dimension: Number of coordinates.
        budget: Evaluations per run.
        seeds: Runs per function and method.
        method: The method to show beside CMA-ES.
    """
    _at_least_one(seeds=seeds, budget=budget)
    catalog.method(method)
    for module in ("matplotlib", "plotly"):
        require(module, "report")
    run_demo(out, dimension, budget, seeds, method, plain_console())
    return 0


def score(
    method: Positional[str],
    /,
    dimension: Literal[10, 30] = 10,
    budget: int | None = None,
    seeds: int = 10,
    train: bool = False,
    out: Path | None = None,
) -> int:
    """Run a method on the paper's BBOB test functions: mean, std, median, geometric mean.

    Args:
        method: The method's name (see l2e methods).
        dimension: 10 or 30, as in the paper.
        budget: Evaluations per run; the paper's 20000 in 10-D and 50000 in 30-D if not given.
        seeds: Runs per function.
        train: The paper's eight training functions instead of its sixteen test functions.
        out: Write all gaps as JSON here.
    """
    from l2e import score as scoring

    console = plain_console()
    _at_least_one(seeds=seeds, budget=1 if budget is None else budget)
    evaluations = {10: 20_000, 30: 50_000}[dimension] if budget is None else budget
    result = scoring.score(method, dimension, evaluations, seeds, train, console)
    console.print(scoring.table(result))
    if out is not None:
        result.save(out)
    return 0


def ablate(path: Positional[Path], /, out: Path, progress: bool = True) -> int:
    """Train and score the variants of an ablation file; write a table. The same command goes on where it was.

    Args:
        path: The ablation, e.g. experiments/ablation-components.toml.
        out: Folder for the trainings, their scores, ablation.json and ablation.md.
        progress: Show progress bars.
    """
    from l2e import _runtime
    from l2e.ablation import ablate as run

    _runtime._keep_compilations()
    return run(path, out, plain_console(), progress)


def models(folders: Positional[tuple[Path, ...]] = (Path("runs"),)) -> int:
    """List the shipped models and those of your trainings, with what their cards say.

    Args:
        folders: Where to look for trainings.
    """
    from l2e import models as store
    from l2e.checkpoint import load_facts

    console = plain_console()
    local = [path.parent for folder in folders for path in sorted(folder.rglob(store.BEST))]
    table = Table(box=None, pad_edge=False)
    for heading in ("model", "what it is", "trained", "validation", "score"):
        table.add_column(heading, overflow="fold")
    for name in [*store.shipped(), *local]:
        if store.is_program(name):
            facts = load_facts(store.find(name))
            trained = f"{facts['step']} of {facts['steps']} steps, {facts['hours']:.2f} h"
            table.add_row(str(name), "weights of l2e", trained, f"gain {facts['validation_gain']:+.4f}", "")
            continue
        card = store.card(name)
        facts = card.facts
        trained = f"{facts['step']} of {facts['steps']} steps, {facts['hours']:.2f} h"
        first = facts.get("validation_untrained")
        learned = f"{facts['validation']:.2f}" + ("" if first is None else f", untrained {first:.2f}")
        table.add_row(str(name), card.summary, trained, learned, _score_text(facts))
    console.print(table)
    return 0


def diagnose(
    model: Positional[str],
    /,
    out: Path = Path("diagnosis"),
    functions: tuple[int, ...] = (1, 2, 15, 21),
    samples: int = 20,
    seed: int = 0,
) -> int:
    """Measure the stability of a model: Lipschitz estimates, fixed-point residuals, gate statistics, one picture.

    Args:
        model: A shipped model, the folder of a training, or a weights file (see l2e models).
        out: Folder for diagnosis.png and diagnosis.json.
        functions: Training functions of the paper to run on.
        samples: Generations at which Jacobians are looked at.
        seed: Of the runs.
    """
    from l2e import models as store
    from l2e.cli_diagnose import diagnose as look

    card = store.card(model)
    look(
        store.load(model),
        name=card.name,
        out=out,
        console=plain_console(),
        dimension=card.facts["dimension"],
        functions=functions,
        generations=card.facts["generations"] + 1,
        samples=samples,
        seed=seed,
    )
    return 0


COMMANDS = {
    "minimize": minimize,
    "methods": methods,
    "problems": problems,
    "models": models,
    "train": train,
    "diagnose": diagnose,
    "bench": bench,
    "report": report,
    "export": export,
    "score": score,
    "ablate": ablate,
    "demo": demo,
}


def main(arguments: Annotated[list[str] | None, "for tests"] = None) -> None:
    """Run the command line; known errors are one line on stderr and exit code 2."""
    if (sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        print(f"l2e {__version__}")
        sys.exit(0)
    try:
        code = tyro.extras.subcommand_cli_from_dict(
            COMMANDS,
            prog="l2e",
            description="Learned evolutionary optimization: minimise black-box functions, compare methods.",
            args=arguments,
        )
    except (ValueError, TypeError, MissingExtraError, OSError) as error:
        _say_error(error)
        sys.exit(2)
    except ObjectiveError as error:
        _say_error(error)
        sys.exit(1)
    except KeyboardInterrupt:
        code = 130
    if code == 130:  # at once: interrupted compilations make JAX crash when Python cleans up
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def plain_console() -> Console:
    """A console that prints text as it is: names and messages may hold square brackets."""
    return Console(markup=False, highlight=False)


def _say_error(error: Exception) -> None:
    console = Console(stderr=True, markup=False, highlight=False)
    console.print(Text.assemble(("error: ", "red"), str(error)), soft_wrap=True)


def _search(problem: Any, options: dict[str, Any], console: Console) -> tuple[Any, float, int]:
    """Run the search under a progress bar; on Ctrl-C the best so far, with exit code 130."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from l2e._minimize import minimize as search
    from l2e._result import InterruptedSearch

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("best {task.fields[best]}"),
    )
    began = time.perf_counter()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(options["method"], total=options["budget"], best="-")

        def show(intermediate_result: Any) -> None:
            best = f"{intermediate_result.fun:.6g}"
            progress.update(task, completed=intermediate_result.nfev, best=best)

        try:
            result = search(problem, callback=show, **options)
            code = 0 if result.success else 1
        except InterruptedSearch as interrupted:
            result, code = interrupted.result, 130
    return result, time.perf_counter() - began, code


def _result_table(result: Any, seconds: float, f_opt: float | None) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("best value", f"{result.fun:.10g}")
    if f_opt is not None:
        table.add_row("gap to optimum", f"{max(result.fun - f_opt, 0):.3g}")
    table.add_row("at x", "-" if result.x is None else _short(result.x))
    table.add_row("evaluations", f"{result.nfev} in {result.nit} batches, {seconds:.2f} s")
    if result.n_failed:
        table.add_row("failed", f"{result.n_failed}, first: {result.failures[0].reason}")
    table.add_row("ended by", f"{result.reason}: {result.message}")
    if result.confidence is not None:
        table.add_row("confidence", f"{result.confidence:.2f}")
    for warning in result.warnings:
        table.add_row("note", warning)
    return table


def _short(x: Any) -> str:
    shown = ", ".join(f"{value:.6g}" for value in x[:8])
    return f"[{shown}]" if len(x) <= 8 else f"[{shown}, ... {len(x)} numbers, all with --out]"


def _write_json(result: Any, name: str, seed: int, budget: int, seconds: float, path: Path) -> None:
    from l2e.checkpoint import write_whole

    facts = {key: result[key] for key in ("fun", "nfev", "nit", "success", "status", "message", "reason", "method")}
    facts |= {key: result[key] for key in ("confidence", "warnings")}
    facts["x"] = None if result.x is None else result.x.tolist()
    facts["history"] = {"nfev": result.history.nfev.tolist(), "fun": result.history.fun.tolist()}
    facts |= {"problem": name, "seed": seed, "budget": budget, "n_failed": result.n_failed, "seconds": seconds}
    write_whole(path, json.dumps(facts, indent=1).encode())


def _check_plot(plot: Path | None) -> None:
    """A picture that cannot be drawn is an error before the search, not after it."""
    if plot is not None:
        require("matplotlib", "report")
        if plot.suffix not in (".png", ".pdf", ".svg"):
            raise ValueError(f"--plot must end in .png, .pdf or .svg, got {plot}")


def _score_text(facts: dict[str, Any]) -> str:
    """The score of a model, and beside it those of its peers."""
    if "score" not in facts:
        return "-"
    peers = "".join(f"; {name}: {peer['geometric_mean']:.3g}" for name, peer in facts.get("peers", {}).items())
    return f"{facts['score']['geometric_mean']:.3g} on {facts['score']['suite']}{peers}"


def _at_least_one(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")


def _user_function(name: str) -> Any:
    """Import module:function from the current folder or the environment."""
    module_name, separator, attribute = name.partition(":")
    if not separator or not module_name or not attribute:
        raise ValueError(f"write your function as module:function, got {name!r}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0] and error.name != module_name:
            raise
        raise ValueError(f"no module {module_name!r} in the current folder or installed") from error
    if attribute not in vars(module):
        callables = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise unknown(f"function in module {module_name}", attribute, callables)
    return getattr(module, attribute)


def _parse_bounds(bounds: tuple[str, ...], dimension: int | None) -> Any:
    from l2e._space import box

    if not bounds:
        raise ValueError("your own function needs --bounds=low,high (and --dimension)")
    pairs = [_numbers(pair, "bounds") for pair in bounds]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"bounds are written low,high, e.g. --bounds=-5,5; got {' '.join(bounds)}")
    if len(pairs) == 1 and dimension is not None:
        if dimension < 1:
            raise ValueError(f"dimension must be at least 1, got {dimension}")
        pairs = pairs * dimension
    if dimension is not None and len(pairs) != dimension:
        raise ValueError(f"{len(pairs)} bounds were given for dimension {dimension}: give one, or one per coordinate")
    return box(pairs)


def _numbers(text: str, what: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{what} must be numbers separated by commas, got {text!r}") from None
