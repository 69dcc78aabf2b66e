"""Tables as values, and as markdown, LaTeX and CSV. Each cell knows the records it was computed from."""

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from l2e.core.checkpoint import write_whole

Mark = Literal["", "best", "second", "grey"]


@dataclass(frozen=True)
class Cell:
    """What is shown, the number behind it (for sorting), how it is marked, and the keys of its records."""

    text: str
    value: float | None = None
    mark: Mark = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A row: its label, its cells, and for filters the group of problems or the method it is about.

    `against`: the method that this one is compared to, if it is.
    """

    label: str
    cells: tuple[Cell, ...]
    group: str = ""
    method: str = ""
    against: str = ""


@dataclass(frozen=True)
class Table:
    """A table; `heads` has one entry per cell of a line, `corner` stands above the labels."""

    name: str
    title: str
    note: str
    corner: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    columns_are_methods: bool = False

    def sources(self, places: dict[str, int]) -> dict[str, dict[str, list[list[int]]]]:
        """For each line and column the records, as ranges (first, last) of their places in a list of keys."""
        return {
            line.label: {
                head: _ranges([places[key] for key in cell.keys])
                for head, cell in zip(self.heads, line.cells, strict=True)
            }
            for line in self.lines
        }


def _ranges(places: list[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for place in sorted(places):
        if ranges and ranges[-1][1] == place - 1:
            ranges[-1][1] = place
        else:
            ranges.append([place, place])
    return ranges


def write_open(path: Path, text: str) -> None:
    """Write a file whole, readable for whoever may read its folder (a page may be served)."""
    write_whole(path, text.encode())
    path.chmod(0o644)


def marked(texts: list[str], values: list[float], keys: list[tuple[str, ...]], largest: bool = False) -> list[Cell]:
    """Cells of one row, the best and the second best marked; equal ones are marked alike."""
    known = sorted({value for value in values if value == value}, reverse=largest)
    marks: list[Mark] = ["best" if known and value == known[0] else "" for value in values]
    if len(known) > 1 and marks.count("best") < 2:
        marks = ["second" if value == known[1] else mark for value, mark in zip(values, marks, strict=True)]
    return [Cell(*parts) for parts in zip(texts, values, marks, keys, strict=True)]


def p_text(p: float) -> str:
    """A p-value as people read it."""
    return f"{p:.1e}" if p < 0.001 else f"{p:.3f}"


def markdown(table: Table) -> str:
    """For documents: best bold, second best in italics, published numbers in parentheses."""
    rows = [[_plain(head) for head in (table.corner, *table.heads)], ["---", *["---:"] * len(table.heads)]]
    rows += [[_plain(line.label), *(_in_markdown(cell) for cell in line.cells)] for line in table.lines]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {_plain(table.title)}\n\n{_plain(table.note)}\n\n{body}\n"


def _in_markdown(cell: Cell) -> str:
    text = _plain(cell.text)
    return {"best": f"**{text}**", "second": f"*{text}*", "grey": f"({text})", "": text}[cell.mark]


def _plain(text: str) -> str:
    """A text that markdown shows as it is: no element, link or column begins in it."""
    found = _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace("[", "&#91;")
    return found.replace("`", "&#96;").replace("|", "/")


def latex(table: Table) -> str:
    """For papers, with booktabs: best bold, second best underlined, published numbers grey (needs xcolor)."""
    rows = [[_escaped(table.corner), *map(_escaped, table.heads)]]
    rows += [[_escaped(line.label), *(_in_latex(cell) for cell in line.cells)] for line in table.lines]
    head, *body = [" & ".join(row) + r" \\" for row in rows]
    columns = "l" + "r" * len(table.heads)
    comment = _one_line(f"{table.title}. {table.note}")
    lines = [f"% {comment}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule"]
    return "\n".join([*lines, *body, r"\bottomrule", r"\end{tabular}", ""])


def _in_latex(cell: Cell) -> str:
    text = _escaped(cell.text)
    wrapped = {
        "best": rf"\textbf{{{text}}}",
        "second": rf"\underline{{{text}}}",
        "grey": rf"\textcolor{{gray}}{{{text}}}",
    }
    return wrapped.get(cell.mark, text)


_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "·": r"$\cdot$",
    "µ": r"$\mu$",
}


def _escaped(text: str) -> str:
    """A text as LaTeX shows it, letter by letter: no command can hide in a name, and it stays on its line."""
    return "".join(_LATEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def comma_separated(table: Table) -> str:
    """For programs: the numbers behind the cells, or the text where there is none."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([table.corner, *table.heads])
    for line in table.lines:
        writer.writerow([line.label, *(_in_csv(cell) for cell in line.cells)])
    return stream.getvalue()


def _in_csv(cell: Cell) -> str:
    return cell.text if cell.value is None or math.isnan(cell.value) else str(cell.value)
