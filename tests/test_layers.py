"""Imports go one way: a module imports only from layers below its own."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "l2e"

# From the bottom up; modules on one line may not import each other unless they are in one folder.
LAYERS = [
    {"_version", "_types", "_names", "_watchdog", "_cma_defaults"},
    {"_runtime"},
    {"_space"},
    {"_fold", "_normal", "_projection", "problem", "optimizer", "operator", "evaluator", "checkpoint"},
    {"contestant", "driver"},
    {"program"},
    {"experts"},
    {"nn"},
    {"operators"},
    {"problems", "optimizers", "adapters"},
    {"solve", "peers"},
    {"model_config"},
    {"controlled_config"},
    {"peer_config"},
    {"meta", "diagnostics"},
    {"models", "held_out"},
    {"catalog"},
    {"cli_train"},
    {"_setup", "_result", "_saved_run"},
    {"_minimize", "_ask_tell"},
    {"bench"},
    {"report"},
    {"cli_diagnose", "cli_bench"},
    {"demo", "score"},
    {"ablation"},
    {"cli"},
    {"__main__"},
    {"__init__"},
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
OPTIONAL = {"cma", "minionpy", "evosax", "matplotlib", "plotly", "cocoex", "ioh"}


def unit(path: Path) -> str:
    """The layer's name of a file: its first folder inside the package, or its own name."""
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imported(path: Path) -> set[str]:
    """Full names of all modules a file imports, wherever in the file."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return names


def own_units(path: Path) -> set[str]:
    parts = [name.split(".") for name in imported(path)]
    return {p[1] for p in parts if p[0] == "l2e" and len(p) > 1 and p[1] in HEIGHT}


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(path: Path) -> None:
    name = unit(path)
    assert name in HEIGHT, f"{name} has no layer: add it to LAYERS"
    for other in own_units(path) - {name}:
        assert HEIGHT[other] < HEIGHT[name], f"{name} imports {other}, which is not below it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_optional_packages_are_imported_only_through_require(path: Path) -> None:
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & OPTIONAL
