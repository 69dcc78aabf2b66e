"""Code of the user's own that a file names as `module:factory`: found from the current folder, imported and called.

Whoever writes such a name into a file can run code on the machine of whoever uses the file, so that nothing here is
called for a file from elsewhere unless the user says that it is to be trusted.
"""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from l2e.core.errors import MissingExtraError, error_line

FACTORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]{0,150}:[A-Za-z_][A-Za-z0-9_]{0,99}")
"""How such a name is written."""


def is_factory(name: str) -> bool:
    """Whether a name is `module:factory` rather than a name of the catalog or a path."""
    return ":" in name and not Path(name).exists()


def call_factory(kind: str, name: str, *arguments: Any) -> Any:
    """What the factory of this name makes of the arguments.

    **Arguments:** `kind`: what it is to make, for messages.

    **Raises:** `ValueError` if the module or the factory does not exist, or fails.
    """
    module_name, _, attribute = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module_name), attribute)(*arguments)
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:
        hint = "; write module:factory, found from the current folder" if _is_missing(error, module_name) else ""
        raise ValueError(f"{kind} {name!r} cannot be built: {error_line(error)}{hint}") from error


def refuse_foreign_code(path: Path, names: list[str]) -> None:
    """An error if a file from elsewhere names code to run: its `module:factory` would be imported and called."""
    if names and not path.resolve().is_relative_to(Path.cwd()):
        raise ValueError(
            f"{path} is not under the current folder and names Python code to run ({', '.join(names)}); "
            "if you trust it, repeat the command with --trust"
        )


def _is_missing(error: BaseException, module: str) -> bool:
    """Whether the module itself, or the factory in it, does not exist."""
    if isinstance(error, ModuleNotFoundError):
        return error.name is not None and (module == error.name or module.startswith(f"{error.name}."))
    return isinstance(error, AttributeError) and getattr(error.obj, "__name__", None) == module
