"""The documents keep their size, their links lead somewhere, and the code in them runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LOG = sorted(path for path in (DOCS / "log").glob("*.md") if path.name != "index.md")
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    """Code of a page that is written there, and not put in from an example."""
    return [code for _, code in BLOCK.findall(page.read_text()) if "--8<--" not in code]


PAGES = [page for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))] if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n\n".join(blocks(page)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_the_readme_fits_a_minute() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 120
    assert {"make demo", "make test"} <= {line[:9] for line in lines[:12]}


def test_the_design_fits_a_sitting() -> None:
    assert len((ROOT / "DESIGN.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("name", ["README.md", "DESIGN.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_documents_outside_of_the_site_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text()):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_decisions_are_numbered_and_listed() -> None:
    assert [int(path.name[:4]) for path in LOG] == list(range(1, len(LOG) + 1))
    listed = re.findall(r"\]\((\d{4}[^)]*\.md)\)", (DOCS / "log" / "index.md").read_text())
    assert sorted(set(listed)) == [path.name for path in LOG]


@pytest.mark.parametrize("path", LOG, ids=lambda path: path.stem[:4])
def test_a_decision_has_its_date_question_evidence_and_outcome(path: Path) -> None:
    text = path.read_text()
    assert re.search(rf"^\*{path.name[:4]} · \d{{4}}-\d\d-\d\d · ", text, re.MULTILINE)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Question", "Evidence", "Outcome"]


def test_every_example_is_in_the_guide() -> None:
    guide = "\n".join(page.read_text() for page in (DOCS / "guide").glob("*.md"))
    for example in sorted((ROOT / "examples").glob("*.py")):
        assert f'--8<-- "examples/{example.name}"' in guide, example.name
