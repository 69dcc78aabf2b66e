"""What the pages of the results are made of: recorded contests, and pieces of markdown."""

import json
from pathlib import Path
from typing import Any

from l2e.bench.store import read_store
from l2e.report.collection import Results, collect_contests
from l2e.report.tables import Table, markdown

DEFAULT = "auto"
BIPOP = "pycma-bipop"


class Recorded:
    """The contests recorded below a folder, by store and name."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._stores: dict[str, dict[str, Results]] = {}

    def contests(self, store: str, prefix: str = "") -> list[Results]:
        """The contests of a store whose names begin like this."""
        if store not in self._stores:
            found = collect_contests(read_store(self.folder / store))
            self._stores[store] = {results.name: results for results in found}
        return [results for name, results in self._stores[store].items() if name.startswith(prefix)]

    def contest(self, store: str, name: str) -> Results:
        """One contest."""
        self.contests(store)
        return self._stores[store][name]

    def values(self, path: str) -> Any:
        """A file of JSON."""
        return json.loads((self.folder / path).read_text())


def commands(store: str, only: str = "") -> str:
    """How the runs are made, and how to see all of them."""
    return (
        f"```\nl2e bench experiments/{store}.toml --out runs/{store}{' ' + only if only else ''}\n"
        f"l2e report results/{store} --out report/{store}     # pages with figures and tables for every problem\n```"
    )


def section(table: Table, level: int = 2) -> str:
    """A table under a heading of this level."""
    return "#" * (level - 2) + markdown(table).strip()


def bold(text: str, is_bold: bool) -> str:
    """The text, bold or not."""
    return f"**{text}**" if is_bold else text


def page(*paragraphs: str) -> str:
    """Paragraphs as one text."""
    return "\n\n".join(paragraph.strip() for paragraph in paragraphs) + "\n"


def capital(text: str) -> str:
    """The text with a capital letter first."""
    return text[:1].upper() + text[1:]
