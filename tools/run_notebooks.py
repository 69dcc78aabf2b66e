"""Run the notebooks of `examples/notebooks` from top to bottom, and keep what they show.

    python tools/run_notebooks.py            # run all, write outputs into the files
    python tools/run_notebooks.py --check    # run all, write nothing

A notebook is JSON, and these use nothing but Python: cells are run in one namespace, as a kernel would, and what they
print, the value of their last line and the figures they leave open are their outputs. So neither Jupyter nor a kernel
is needed to test them.
"""

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
DPI = 80


class NotebookError(Exception):
    """A cell raised."""


def run(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of its cells.

    **Raises:** `NotebookError`, which names the cell, from what it raised.
    """
    notebook = json.loads(path.read_text())
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        cell["execution_count"] = count
        try:
            cell["outputs"] = _outputs("".join(cell["source"]), names, count)
        except Exception as error:
            raise NotebookError(f"{path.name}, cell {count}: {type(error).__name__}: {error}") from error
    return notebook


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {count}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    outputs += [{"output_type": "display_data", "data": data, "metadata": {}} for data in _figures()]
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        outputs.append({"output_type": "execute_result", "execution_count": count, "data": data, "metadata": {}})
    return outputs


def _figures() -> list[dict[str, Any]]:
    """All open figures as pictures; they are closed."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None:
        return []
    pictures = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": None})
        pictures.append({"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": ["<Figure>"]})
    plt.close("all")
    return pictures


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(FOLDER.glob("*.ipynb")))
    args = parser.parse_args()
    os.environ["MPLBACKEND"] = "Agg"
    for path in args.notebooks:
        notebook = run(path)
        if not args.check:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"{path.name}: {sum(cell['cell_type'] == 'code' for cell in notebook['cells'])} cells")


if __name__ == "__main__":
    main()
