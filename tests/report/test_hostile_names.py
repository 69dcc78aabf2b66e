"""Names from files of strangers: no script runs on the page, no command in LaTeX, no element in markdown."""

import json
import re
from html.parser import HTMLParser

import pytest
from helpers.made_records import contest

from l2e.bench.store import Store
from l2e.report.collection import collect
from l2e.report.page import filled, json_in_html
from l2e.report.tables import Cell, Line, Table, latex, markdown
from l2e.report.write import write_report

NAMES = (
    "@@DATA@@<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<!--<script>",
    r"\input{/etc/passwd} $x^{ _a_ ~ & % #",
    "_hidden",
    "a|b [link](javascript:alert(1)) `code`",
)


class Elements(HTMLParser):
    """Every element of a page that could run something, and the text of its JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.images = 0
        self.scripts: list[dict[str, str | None]] = []
        self.handlers: list[str] = []
        self.data = ""
        self._in_data = False

    def handle_starttag(self, tag, attrs):
        self.images += tag == "img"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag == "script":
            self.scripts.append(dict(attrs))
        self._in_data = tag == "script" and dict(attrs).get("id") == "data"

    def handle_data(self, data):
        if self._in_data:
            self.data += data


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("hostile") / "store")
    store.open()
    store.append(contest(NAMES, functions=(1, 8), seeds=2))
    store.note_experiment({"title": NAMES[0] + NAMES[1], "methods": list(NAMES)})
    write_report(collect(store), store.folder / "report")
    return store.folder / "report"


def test_no_script_of_a_stranger_is_on_the_page(report) -> None:
    found = Elements()
    found.feed((report / "index.html").read_text())
    assert found.images == 0
    assert found.handlers == []
    assert len(found.scripts) == 3  # the data, the charting library, ours
    data = json.loads(found.data)
    assert [method["name"] for method in data["methods"]] == list(NAMES)
    assert "<" not in found.data


def test_names_are_shown_as_they_are_in_figures(report) -> None:
    assert (report / "figures" / "convergence.png").stat().st_size > 5000
    assert (report / "figures" / "critical-difference.png").stat().st_size > 5000


def test_a_template_is_filled_in_one_pass() -> None:
    assert filled("@@A@@-@@B@@", {"A": "@@B@@", "B": "@@A@@"}) == "@@B@@-@@A@@"
    assert json.loads(json_in_html({"</script>": "\u2028<"})) == {"</script>": "\u2028<"}
    assert "\u2028" not in json_in_html("\u2028")


def table_of(name: str) -> Table:
    line = Line(name, (Cell(name, 1.0, "best"), Cell(name, 2.0)))
    return Table("x", f"{name}\n\\end{{document}}", f"{name}\r\nnote", name, (name, "b"), (line,))


@pytest.mark.parametrize("name", [*NAMES, "\\\\", "\\", "a\nb", "^^5cinput"])
def test_latex_has_our_commands_only(name) -> None:
    comment, *lines = latex(table_of(name)).splitlines()
    assert comment.startswith("% ")
    body = "\n".join(lines)
    ours = r"\\(begin|end|toprule|midrule|bottomrule|textbf|text[a-z]+|\\|[&%$#_{}])"
    left = re.sub(ours, "", body)
    assert "\\" not in left
    assert not re.search(r"[%$#_~^]", left)  # no special letter is left that is not escaped
    assert len(lines) == 7  # begin, rules, head, one row, end
    assert lines[2].count(" & ") == lines[4].count(" & ") == 2


@pytest.mark.parametrize("name", [*NAMES, "a\nb"])
def test_markdown_has_no_elements_links_or_columns_of_a_stranger(name) -> None:
    title, _, _, _, head, rule, row = markdown(table_of(name)).splitlines()
    assert title.startswith("## ")
    assert {line.count("|") for line in (head, rule, row)} == {4}
    assert not re.search(r"[<\[`]", head + row + title)
