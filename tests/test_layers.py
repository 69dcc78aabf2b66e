"""Imports go one way: a module imports only from storeys below its own, and the pictures show these storeys."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from helpers.layers import DATA, DESIGN, HEIGHT, LOOSE, PACKAGE, STOREYS, SVG, svg, with_text

FILES = sorted(PACKAGE.rglob("*.py"))
OPTIONAL = {"cma", "minionpy", "evosax", "matplotlib", "plotly", "cocoex", "ioh", "optuna", "sklearn"}
JAX = {"jax", "equinox", "optax", "jaxtyping"}

NEEDS_JAX = {"api/models.py"}
"""Trained models are JAX; this module is imported only where one is used."""


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def unit(path: Path) -> str:
    """The package of a file, or its own name if it is in none."""
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    assert node.level == 0, f"relative import of {node.module}"
    return {f"{node.module}.{alias.name}" for alias in node.names}


def imported(path: Path) -> set[str]:
    """Full names of all modules a file imports, wherever in the file."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for name in modules(node)}


def imported_at_once(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Names that are imported with the module itself: outside of functions, and not for type checkers only."""
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from modules(node)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imported_at_once(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from imported_at_once([*node.body, *getattr(node, "orelse", [])])


def needs_no_jax(path: Path) -> bool:
    name = name_of(path)
    inside = name.startswith(("core/", "portfolio/", "api/")) and not name.startswith("core/traced/")
    return inside and name not in NEEDS_JAX


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_down(path: Path) -> None:
    own = unit(path)
    assert own in HEIGHT, f"{own} has no storey: add it to STOREYS in tests/helpers/layers.py"
    parts = [name.split(".") for name in imported(path)]
    for other in {p[1] for p in parts if p[0] == "l2e" and len(p) > 1 and p[1] in HEIGHT} - {own}:
        assert HEIGHT[other] < HEIGHT[own], f"{own} imports {other}, which is not below it"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_optional_packages_are_imported_only_through_require(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & OPTIONAL


@pytest.mark.parametrize("path", filter(needs_no_jax, FILES), ids=name_of)
def test_core_portfolio_and_api_import_no_jax_with_the_module(path: Path) -> None:
    for name in imported_at_once(ast.parse(path.read_text()).body):
        assert name.split(".")[0] not in JAX, f"{name_of(path)} imports {name}"
        assert not name.startswith(("l2e.core.traced", "l2e.algorithms")), f"{name_of(path)} imports {name}"


def test_at_most_eleven_packages_and_no_loose_modules() -> None:
    """Ten are the storeys; the eleventh, integrations, is what others import from us and nothing of ours does."""
    packages = {name for storey in STOREYS for name in storey.packages}
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"} == packages | DATA
    assert len(packages) <= 11
    assert {path.stem for path in PACKAGE.glob("*.py")} == set(LOOSE)


def test_the_pictures_of_the_storeys_are_up_to_date() -> None:
    redraw = "draw it again: python tests/helpers/layers.py"
    assert SVG.read_text() == svg(), redraw
    assert DESIGN.read_text() == with_text(DESIGN.read_text()), redraw
