"""Commands that show what there is: `l2e methods`, `problems`, `models`, and saved searches by `l2e show`."""

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from l2e.api import catalog, problem_catalog, saved
from l2e.cli.console import plain_console
from l2e.core.environment import differences
from l2e.core.journal_frames import Recorded
from l2e.core.journal_reader import read_journal
from l2e.report.run_record import best_of, best_so_far, evaluations_of
from l2e.report.text_chart import chart

SHOWN_REASONS = 3
"""Of the reasons for failures, the most common so many are shown."""

Positional = tyro.conf.Positional


GROUPS = {
    "default": "The default",
    "native": "Ours in JAX: ask/tell, compiled, vmapped",
    "model": "Trained models",
    "adapter": "Other libraries behind our meter, for comparisons; they run their own loop",
}
"""Headings of `l2e methods`, in the order in which a user wants them."""

NAME_WIDTH = 22
"""Columns for names, the same in all groups."""


def methods() -> int:
    """List the search methods by kind, one line each."""
    console = plain_console()
    known = catalog.all_methods()
    for kind, heading in GROUPS.items():
        chosen = {name: method for name, method in known.items() if method.kind == kind}
        extras = sorted({method.extra for method in chosen.values() if method.extra})
        free = "scipy's are always there; others: " if extras and any(not m.extra for m in chosen.values()) else ""
        console.print(heading + (f" ({free}pip install 'l2e[{extras[0]}]')" if extras else ""), soft_wrap=True)
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True, min_width=NAME_WIDTH)
        table.add_column()
        for name, method in chosen.items():
            table.add_row(f"  {name}", method.summary)
        console.print(table)
        console.print()
    return 0


def problems() -> int:
    """List the benchmark problems, one line each."""
    from l2e.problems._bbob.paper import PAPER_TRAIN
    from l2e.problems._bbob.suite import GROUPS, NAMES

    console = plain_console()
    table = Table(box=None, pad_edge=False)
    for heading in ("family", "written like", "what it is"):
        table.add_column(heading, no_wrap=heading != "what it is")
    for name, family in problem_catalog.FAMILIES.items():
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


def models(folders: Positional[tuple[Path, ...]] = (Path("runs"), Path("models"))) -> int:
    """List the shipped models, those of your trainings and those of families, with what their cards say.

    Args:
        folders: Where to look for trainings and for models of families.
    """
    from l2e.api import models as store
    from l2e.core.checkpoint import load_metadata

    console = plain_console()
    local = [path.parent for folder in folders for path in sorted(folder.rglob(store.BEST))]
    table = Table(box=None, pad_edge=False)
    for heading in ("model", "what it is", "trained", "validation", "score"):
        table.add_column(heading, overflow="fold")
    for name in [*store.shipped(), *local]:
        if store.is_gate(name):
            facts = load_metadata(store.find(name))
            trained = f"{facts['step']} of {facts['steps']} steps, {facts['hours']:.2f} h"
            table.add_row(
                str(name),
                "weights of the default method's gate",
                f"{trained}, on random landscapes",
                f"gain {facts['validation_gain']:+.4f}",
                "",
            )
            continue
        card = store.card(name)
        facts = card.metadata
        trained = f"{facts['step']} of {facts['steps']} steps, {facts['hours']:.2f} h"
        first = facts.get("validation_untrained")
        learned = f"{facts['validation']:.2f}" + ("" if first is None else f", untrained {first:.2f}")
        table.add_row(str(name), card.summary, f"{trained}, on {_family_text(facts)}", learned, _score_text(facts))
    console.print(table)
    _show_families(folders, console)
    return 0


def _show_families(folders: tuple[Path, ...], console: Console) -> None:
    """List models of families, if there are any: what they know, what it cost, and where they are used."""
    from l2e.api.family_model import family_file
    from l2e.core.checkpoint import load_metadata

    found = sorted({path for folder in folders for path in folder.rglob("*.safetensors") if family_file(path)})
    if not found:
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("\nmodel of a family", "\nmembers", "\ncost", "\nregret over the default's, left out", "\nused"):
        table.add_column(heading, overflow="fold")
    for path in found:
        facts = load_metadata(path)
        gains = [(np.exp(one["gain"]), one["per_dimension"]) for one in facts["judged"] if one["members"]]
        judged = ", ".join(f"{gain:.2f} at {budget:g}·d" for gain, budget in gains)
        used = ", ".join(f"{budget:g}·d" for budget, opened, *_ in facts["plans"] if opened)
        members = f"{len(facts['members'])} in {facts['dimension']}-D, from {facts['source']}"
        table.add_row(str(path), members, f"{facts['spent']} evaluations", judged or "unmeasured", used or "nowhere")
    console.print(table)


def _family_text(facts: dict[str, Any]) -> str:
    """What a model was trained on; the cards of older models list BBOB functions only."""
    functions = facts.get("tasks", {}).get("functions", [])
    return str(facts.get("family") or f"BBOB {', '.join(f'f{function}' for function in functions)}")


def _score_text(facts: dict[str, Any]) -> str:
    """The score of a model, and beside it those of its peers."""
    if "score" not in facts:
        return "-"
    peers = "".join(f"; {name}: {peer['geometric_mean']:.3g}" for name, peer in facts.get("peers", {}).items())
    return f"{facts['score']['geometric_mean']:.3g} on {facts['score']['suite']}{peers}"


def show(paths: Annotated[Positional[tuple[Path, ...]], tyro.conf.arg(metavar="FILE")]) -> int:
    """Show saved searches: what was searched, the best point, failures; of several, whether they can be compared.

    Args:
        paths: Journals, as written by --checkpoint, minimize(checkpoint=...) or Optimizer.save.
    """
    if not paths:
        raise ValueError("name one or more saved searches, see l2e show --help")
    console = plain_console()
    recorded = [read_journal(path) for path in paths]
    for path, one in zip(paths, recorded, strict=True):
        console.print(_journal_table(path, one))
        evaluations = evaluations_of(one)
        console.print()
        console.print(chart(best_so_far(evaluations), min(console.width, 100)))
        console.print()
    for path, one in zip(paths[1:], recorded[1:], strict=True):
        console.print(_comparison(paths[0], recorded[0], path, one), soft_wrap=True)
    return 0


def _journal_table(path: Path, recorded: Recorded) -> Table:
    settings, evaluations = saved.settings_of(path, recorded), recorded.evaluations
    best, note = best_of(recorded)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("saved search", os.fspath(path))
    table.add_row("method", f"{settings.get('method')}, {recorded.header['dimension']} dimensions")
    begun = (
        "begun without a budget" if recorded.open_ended else f"begun with a budget of {recorded.header.get('budget')}"
    )
    table.add_row("evaluations", f"{len(evaluations)}; {begun}")
    table.add_row("best value", ("-" if best is None else f"{best.value:.10g}") + note)
    table.add_row("at x", "-" if best is None else np.array2string(best.x, precision=6, threshold=12))
    failed = [one for one in evaluations if one.reason is not None]
    for reason, count in Counter(one.reason for one in failed).most_common(SHOWN_REASONS):
        table.add_row("failed", f"{count} times: {reason}")
    parts = Counter(one.part for one in evaluations if one.part)
    if parts:
        table.add_row("asked by", ", ".join(f"{part} {count}" for part, count in parts.most_common()))
    if len(recorded.segments) > 1:
        times = len(recorded.segments) - 1
        table.add_row("note", f"begun anew {times} times, where it could not be replayed to the bit")
    made = ", ".join(f"{name} {version}" for name, version in recorded.header.get("environment", {}).items())
    table.add_row("made with", made)
    return table


def _comparison(first: Path, one: Recorded, second: Path, other: Recorded) -> str:
    """Whether two runs with the same seed may be expected to be the same."""
    ours, theirs = saved.settings_of(first, one), saved.settings_of(second, other)
    settings = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    changed = differences(one.header.get("environment", {}), other.header.get("environment", {}))
    points = [[e.x.tobytes() for e in r.evaluations] for r in (one, other)]
    common = min(len(points[0]), len(points[1]))
    same = next((i for i in range(common) if points[0][i] != points[1][i]), common)
    agree = f"their first {same} points are the same" if same else "they have no point in common from the start"
    if settings:
        return f"{first} and {second} are different searches ({', '.join(settings)}); {agree}"
    if changed:
        return f"{first} and {second} cannot be compared to the bit ({'; '.join(changed)}); {agree}"
    return f"{first} and {second} are the same search made with the same versions and linear algebra; {agree}"
