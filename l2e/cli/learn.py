"""The command `l2e learn`, and the table that `l2e score` prints of a family's model."""

import dataclasses
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import tyro
from rich.table import Table

from l2e.api.family import BUDGETS, Family
from l2e.cli.console import plain_console
from l2e.cli.search import user_function
from l2e.core.settings import Check, Count, read_settings
from l2e.portfolio.transfer.knowledge import SAID

if TYPE_CHECKING:
    from l2e.api.family_model import FamilyModel

Positional = tyro.conf.Positional
arg = tyro.conf.arg

JOURNALS = ".journals"
"""Added to a model's name: the folder of the searches it was learned from."""

MOST_TIMED = 3
"""Evaluations that a quote makes to know how long one takes."""


@dataclasses.dataclass(frozen=True)
class FamilyFile:
    """A family as a TOML file: a factory `module:function` of seeds, or a list of functions."""

    factory: str | None = None
    seeds: Annotated[int, Check(lambda count: count >= 1, "a whole number from 1")] = 40
    """Members are `factory(0)` to `factory(seeds - 1)`."""
    members: tuple[str, ...] = ()
    bounds: tuple[tuple[float, ...], ...] = ()
    """A pair for each coordinate; not needed if members are problems."""
    coordinates: tuple[str, ...] = ()
    features: tuple[tuple[float, ...], ...] = ()
    """Numbers known of each member, a row for each in order."""
    budget: Count | None = None
    budgets: tuple[float, ...] = BUDGETS
    vectorized: bool = False
    scale: Literal["same", "free"] = "same"
    noisy: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if (self.factory is None) == (not self.members):
            raise ValueError("give either factory or members")

    def family(self) -> Family:
        """The family, imported."""
        bounds: Any = [tuple(pair) for pair in self.bounds] or None
        options: Any = {"vectorized": self.vectorized, "coordinates": self.coordinates or None}
        options["features"] = self.features or None
        if self.factory is not None:
            return Family.of(user_function(self.factory), range(self.seeds), bounds, **options)
        return Family({name: user_function(name) for name in self.members}, bounds, **options)


def learn(
    sources: Annotated[Positional[tuple[Path, ...]], arg(metavar="FAMILY.toml|JOURNAL..")],
    /,
    out: Annotated[Path, arg(metavar="MODEL")],
    quote: bool = False,
    scale: Literal["same", "free"] = "same",
    workers: Annotated[int, arg(metavar="N")] = 1,
) -> int:
    """Learn from solved members of a family, so that the next one is solved sooner.

    From functions: l2e learn depots.toml --out models/depots

    From journals of past searches alone: l2e learn runs/*.l2e --out models/depots

    Args:
        sources: A TOML file that names a factory and seeds, or members; or journals, as written by --checkpoint.
        out: The model's file; with functions, journals go beside it, and the same command goes on after a kill.
        quote: Only say what learning would cost: a few evaluations are timed, nothing is learned.
        scale: For journals: free if values of different members do not compare; a TOML file says it itself.
        workers: Members that are searched at the same time.
    """
    from l2e.api.archives import learn_from
    from l2e.api.family_model import SUFFIX
    from l2e.api.learn import learn as learn_family

    console = plain_console()
    paths = list(sources)
    if not paths:
        raise ValueError("name a family's TOML file, or journals, see l2e learn --help")
    if paths[0].suffix != ".toml":
        if quote:
            console.print("journals cost no evaluation")
            return 0
        return _saved(learn_from(paths, scale=scale), out, console)
    if len(paths) > 1:
        raise ValueError("one TOML file at a time")
    settings = read_settings(paths[0], FamilyFile)
    family = settings.family()
    if quote:
        console.print(_quoted(family, settings.budget), soft_wrap=True)
        return 0
    folder = out.with_name(out.name.removesuffix(SUFFIX) + JOURNALS)
    console.print(str(family.quote(settings.budget)), soft_wrap=True)
    try:
        model = learn_family(
            family,
            settings.budget,
            budgets=settings.budgets,
            rng=settings.seed,
            workers=workers,
            folder=folder,
            scale=settings.scale,
            noisy=settings.noisy,
        )
    except KeyboardInterrupt:
        command = shlex.join(["l2e", "learn", str(paths[0]), "--out", str(out)])
        console.print(f"saved in {folder}; to go on: {command}", soft_wrap=True)
        return 130
    return _saved(model, out, console)


def _saved(model: "FamilyModel", out: Path, console: Any) -> int:
    path = model.save(out)
    console.print(str(model), soft_wrap=True)
    console.print(f"model: {path}")
    return 0


def _quoted(family: Family, budget: int | None) -> str:
    """What learning costs, in evaluations and, by a few timed ones, in seconds."""
    quote = family.quote(budget)
    centre, taken = family.space.from_unit(np.full(family.dimension, 0.5)), []
    for function, vectorized in list(family.functions.values())[:MOST_TIMED]:
        began = time.perf_counter()
        function(centre[None] if vectorized else centre)
        taken.append(time.perf_counter() - began)
    seconds = float(np.median(taken)) * quote.total
    return f"{quote}\nabout {seconds:.3g} s of evaluations one after the other ({len(taken)} were timed)"


def score_table(model: "FamilyModel") -> Table:
    """What leaving members out said of a model, by budget."""
    table = Table(box=None, pad_edge=False)
    for heading in ("evaluations per dimension", "left out", "default's regret", "with the model", "ratio", "used"):
        table.add_column(heading, justify="left" if heading == "used" else "right")
    judged = {one.per_dimension: one for one in model.judged if one.members}
    for budget, plan in model.plans.entries:
        used = f"yes: seeds, then {SAID[plan.follow]}" if plan.opened else f"no: {plan.why}"
        one = judged.get(budget)
        if one is None:
            table.add_row(f"{budget:g}", "0", "-", "-", "-", used)
            continue
        numbers = f"{np.exp(one.default):.3g}", f"{np.exp(one.default + one.gain):.3g}"
        low, high = np.exp(one.gain - one.error), np.exp(one.gain + one.error)
        table.add_row(
            f"{budget:g}", str(one.members), *numbers, f"{np.exp(one.gain):.2f} ({low:.2f} to {high:.2f})", used
        )
    return table
