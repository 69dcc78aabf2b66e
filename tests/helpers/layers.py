"""The storeys of the package, and the two pictures drawn from them: in DESIGN.md and in the documentation.

python tests/helpers/layers.py      # draws both again after a change of STOREYS
"""

from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "l2e"
SVG = ROOT / "docs" / "assets" / "layers.svg"
DESIGN = ROOT / "DESIGN.md"
BEGIN, END = "<!-- layers -->", "<!-- /layers -->"


class Storey(NamedTuple):
    """Packages of one height, each with a few words on what it holds."""

    packages: dict[str, str]


# From the bottom up. A package imports from storeys below its own only, so packages of one storey are independent.
STOREYS = [
    Storey({"core": "boxes, problems, the meter, searches, files; core.traced is its JAX half"}),
    Storey({"problems": "BBOB, LSGO, surrogates, terrains, robots, random landscapes, families"}),
    Storey(
        {
            "algorithms": "CMA-ES, DE, L2E, learned peers",
            "portfolio": "the default method",
            "adapters": "pycma, scipy, minion, evosax",
        }
    ),
    Storey({"api": "minimize, Optimizer, results, saved searches; names become things here"}),
    Storey(
        {
            "bench": "contests: plan, runs, records, store",
            "meta": "training of optimizers",
            "integrations": "Optuna, scikit-learn",
        }
    ),
    Storey({"report": "statistics, tables, figures, pages; reads the optimum"}),
    Storey({"cli": "the command l2e"}),
]
LOOSE = {"_version": -1, "__main__": len(STOREYS), "__init__": len(STOREYS)}
"""The only modules outside of packages, and their heights."""

DATA = {"weights"}
"""Folders of the package without code."""

HEIGHT = LOOSE | {name: height for height, storey in enumerate(STOREYS) for name in storey.packages}

WIDTH, ROW, GAP, MARGIN = 760, 62, 10, 16


def svg() -> str:
    """The storeys as a picture, the highest on top."""
    height = len(STOREYS) * (ROW + GAP) - GAP + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="Helvetica, Arial, sans-serif" role="img" aria-label="Packages of l2e by storey">',
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff"/>',
    ]
    for row, storey in enumerate(reversed(STOREYS)):
        top = MARGIN + row * (ROW + GAP)
        number = len(STOREYS) - row
        parts.append(f'<text x="{MARGIN}" y="{top + ROW / 2 + 5:g}" font-size="14" fill="#78909c">{number}</text>')
        parts += _row(storey, top)
    return "\n".join([*parts, "</svg>", ""])


def _row(storey: Storey, top: float) -> list[str]:
    left, count = MARGIN + 22, len(storey.packages)
    width = (WIDTH - MARGIN - left - (count - 1) * GAP) / count
    parts = []
    for i, (name, what) in enumerate(storey.packages.items()):
        x = left + i * (width + GAP)
        middle = x + width / 2
        parts += [
            f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{ROW}" rx="6" fill="#e8eef7" stroke="#5c7fb5"/>',
            f'<text x="{middle:.1f}" y="{top + 25}" font-size="16" font-weight="bold" text-anchor="middle"'
            f' fill="#1d2b45">{escape(name)}</text>',
            f'<text x="{middle:.1f}" y="{top + 46}" font-size="13" text-anchor="middle"'
            f' fill="#37474f">{escape(what)}</text>',
        ]
    return parts


def text() -> str:
    """The storeys as the block of DESIGN.md."""
    lines = ["```"]
    for number, storey in reversed(list(enumerate(STOREYS, 1))):
        for i, (name, what) in enumerate(storey.packages.items()):
            lines.append(f"{number if i == 0 else ' '}  {name:<11} {what}")
    return "\n".join([BEGIN, *lines, "```", END])


def with_text(document: str) -> str:
    """A document with the block between its markers drawn anew."""
    before, _, rest = document.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"no block between {BEGIN} and {END}")
    return before + text() + after


def main() -> None:
    """Write both pictures."""
    SVG.write_text(svg())
    DESIGN.write_text(with_text(DESIGN.read_text()))


if __name__ == "__main__":
    main()
