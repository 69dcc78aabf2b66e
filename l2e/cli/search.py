"""The command `l2e minimize`."""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from l2e.api import catalog, problem_catalog
from l2e.cli.console import plain_console
from l2e.core.errors import require, unknown
from l2e.portfolio.transfer.knowledge import SAID

Positional = tyro.conf.Positional
arg = tyro.conf.arg


def minimize(
    objective: Annotated[Positional[str | None], arg(metavar="MODULE:FUNCTION")] = None,
    /,
    function: Annotated[str | None, arg(metavar="FAMILY:F..:D..")] = None,
    method: Annotated[str, arg(metavar="NAME")] = catalog.DEFAULT_METHOD,
    budget: Annotated[int | None, arg(metavar="N")] = None,
    seed: Annotated[int, arg(metavar="N")] = 0,
    bounds: Annotated[tuple[str, ...], arg(metavar="LOW,HIGH"), tyro.conf.UseAppendAction] = (),
    dimension: Annotated[int | None, arg(metavar="D")] = None,
    x0: Annotated[str | None, arg(metavar="X1,X2,..")] = None,
    target: Annotated[float | None, arg(metavar="VALUE")] = None,
    max_seconds: Annotated[float | None, arg(metavar="S")] = None,
    timeout: Annotated[float | None, arg(metavar="S")] = None,
    population_size: Annotated[int | None, arg(metavar="N")] = None,
    vectorized: bool = False,
    noisy: bool = False,
    on_error: Annotated[str, arg(metavar="penalize|raise|retry(N)")] = "penalize",
    workers: Annotated[int | None, arg(metavar="N")] = None,
    checkpoint: Annotated[Path | None, arg(metavar="FILE")] = None,
    tol: Annotated[float | None, arg(metavar="VALUE")] = None,
    patience: Annotated[int | None, arg(metavar="N")] = None,
    model: Annotated[Path | None, arg(metavar="FILE")] = None,
    features: Annotated[str | None, arg(metavar="F1,F2,..")] = None,
    trace: bool = False,
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
        budget: Number of evaluations, never exceeded. Without it the search ends when it has settled.
        seed: The same seed gives the same result.
        bounds: low,high for all coordinates; or give the option once per coordinate.
        dimension: Number of coordinates, when one pair of bounds is given.
        x0: Where to begin: numbers separated by commas.
        target: Stop at the first value at or below it.
        max_seconds: Stop after that much time.
        timeout: Seconds one evaluation may take before it counts as failed.
        population_size: Instead of the method's own choice.
        vectorized: The function takes a batch (n, d) and returns (n,).
        noisy: Values are uncertain; recommend the point with the best median. Noise is also noticed without it.
        on_error: What to do when the function fails: penalize (rank last, go on), raise, or retry(3) first.
        workers: Evaluate in that many processes at once; -1 for one per core.
        checkpoint: Journal of all evaluations; run the same command again to resume, also with a larger budget.
        tol: Improvements up to this count as none; ends a search that has settled.
        patience: End after so many evaluations without an improvement.
        model: Of the family the function belongs to (see l2e learn); its bounds are the default.
        features: Numbers known of the function beforehand, if the model knows them of its members.
        trace: Show which part of the method had which evaluations, and why it ended.
        plot: Write a picture of the convergence here, with the parts of the method.
        out: Write the result as JSON here.
    """
    from l2e.core.problem import HostFunction

    console = plain_console()
    _check_plot(plot)
    if (objective is None) == (function is None):
        raise ValueError("give either module:function or --function family:f..:d.., see l2e minimize --help")
    if objective is not None and objective.partition(":")[0] in problem_catalog.FAMILIES:
        raise ValueError(f"{objective} is a benchmark function: write --function {objective}")
    if function is not None:
        if bounds or dimension:
            raise ValueError("--bounds and --dimension go with your own function; a benchmark function has its own")
        problem: Any = problem_catalog.problem(function)
    else:
        space = _parse_bounds(bounds, dimension) if bounds or model is None else _bounds_of(model)
        problem = HostFunction(user_function(str(objective)), space, vectorized)
    options = {
        "x0": None if x0 is None else _numbers(x0, "x0"),
        "method": method,
        "budget": budget,
        "rng": seed,
        "target": target,
        "max_seconds": max_seconds,
        "timeout": timeout,
        "population_size": population_size,
        "noisy": noisy or None,
        "on_error": on_error,
        "workers": workers,
        "checkpoint": checkpoint,
        "tol": tol,
        "patience": patience,
        "model": model,
        "features": None if features is None else _numbers(features, "features"),
    }
    result, seconds, code = _search(problem, options)
    optimum = getattr(problem, "optimum", None)
    f_opt = None if optimum is None else optimum.f
    if out is not None:
        _write_json(result, function or str(objective), seed, budget, seconds, out)
    console.print(_result_table(result, seconds, f_opt))
    if trace:
        console.print(_trace_table(result))
    if code == 130 and checkpoint is not None:
        console.print(f"saved in {checkpoint}: run the same command again to resume")
    if plot is not None and result.x is not None:
        from l2e.report.run_figure import run_figure

        run_figure(result, plot, f"{function or objective}, {result.method}, seed {seed}", budget or result.nfev, f_opt)
    for what, path in (("picture", plot), ("result", out)):
        if path is not None and path.exists():
            console.print(f"{what}: {path}")
    return code


def _search(problem: Any, options: dict[str, Any]) -> tuple[Any, float, int]:
    """Run the search; on Ctrl-C the best so far, with exit code 130."""
    from l2e.api.minimize import minimize as search
    from l2e.api.result import InterruptedSearch

    began = time.perf_counter()
    try:
        result = search(problem, **options)
        code = 0 if result.success else 1
    except InterruptedSearch as interrupted:
        result, code = interrupted.result, 130
    return result, time.perf_counter() - began, code


def _result_table(result: Any, seconds: float, f_opt: float | None) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("best value", f"{result.fun:.10g}{_error(result)}")
    if f_opt is not None:
        table.add_row("gap to optimum", f"{max(result.fun - f_opt, 0):.3g}")
    table.add_row("at x", "-" if result.x is None else _short(result.x))
    table.add_row("evaluations", f"{result.nfev} in {result.nit} batches, {seconds:.2f} s")
    if result.n_failed:
        table.add_row("failed", f"{result.n_failed}, first: {result.failures[0].reason}")
    table.add_row("ended by", f"{result.reason}: {result.message}")
    if result.confidence is not None:
        table.add_row("confidence", f"{result.confidence:.2f}")
    if result.model is not None and result.model.trusted:
        said = result.model
        steps = f"{said.seeds} seeds, {said.jumps} jumps, then {SAID[said.strategy]}"
        table.add_row("model", f"{steps}; {said.why}")
    for warning in result.warnings:
        if warning not in result.message:
            table.add_row("note", warning)
    return table


def _error(result: Any) -> str:
    """How certain a value is that was found by several evaluations of its point."""
    if result.get("fun_evaluations", 1) < 2:
        return ""
    return f" ± {result.fun_error:.2g}, of {result.fun_evaluations} evaluations"


def _trace_table(result: Any) -> Table:
    """Who had which evaluations, and why it ended."""
    table = Table(box=None, pad_edge=False)
    for heading in ("part", "evaluations", "share", "ended"):
        table.add_column(heading, justify="right" if heading in ("evaluations", "share") else "left")
    for span in result.trace:
        share = (span.end - span.begin) / max(result.nfev, 1)
        table.add_row(span.part, f"{span.begin + 1} to {span.end}", f"{share:.0%}", str(span.reason))
    if not result.trace:
        table.add_row(f"method {result.method} keeps no account of its parts", "", "", "")
    return table


def _short(x: Any) -> str:
    shown = ", ".join(f"{value:.6g}" for value in x[:8])
    return f"[{shown}]" if len(x) <= 8 else f"[{shown}, ... {len(x)} numbers, all with --out]"


def _write_json(result: Any, name: str, seed: int, budget: int | None, seconds: float, path: Path) -> None:
    from l2e.core.checkpoint import write_whole

    facts = {key: result[key] for key in ("fun", "nfev", "nit", "success", "status", "message", "reason", "method")}
    facts |= {key: result[key] for key in ("confidence", "warnings")}
    if result.get("fun_evaluations", 1) > 1:
        facts |= {"fun_error": result.fun_error, "fun_evaluations": result.fun_evaluations}
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


def user_function(name: str) -> Any:
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


def _bounds_of(model: Path) -> Any:
    from l2e.api.family_model import FamilyModel

    return FamilyModel.load(model).space


def _parse_bounds(bounds: tuple[str, ...], dimension: int | None) -> Any:
    from l2e.core.box import box

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
