"""Errors at the door: what was given, what is allowed, and what was probably meant."""

import difflib
import importlib
import importlib.util
from collections.abc import Iterable
from types import ModuleType


class UnknownNameError(ValueError):
    """A name that is not in the list of allowed ones."""


class MissingExtraError(ImportError):
    """An optional dependency is not installed."""


def unknown(kind: str, given: object, allowed: Iterable[str]) -> UnknownNameError:
    """The error for an unknown name: it names the nearest allowed ones, or all when none is near."""
    names = sorted(allowed)
    near = difflib.get_close_matches(str(given), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return UnknownNameError(f"unknown {kind} {given!r}; {hint}allowed: {', '.join(names)}")


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(error.name + ".")):
            raise
        raise MissingExtraError(
            f"this needs {error.name!r}, which is not installed: pip install 'l2e[{extra}]'"
        ) from error


JAX = ("jax", "equinox", "jaxtyping")
"""What the extra `jax` must have brought."""


def has_jax() -> bool:
    """Whether the extra that brings JAX is installed."""
    return all(importlib.util.find_spec(module) is not None for module in JAX)


def need_jax() -> None:
    """Refuse to go on without JAX, with the line that installs it."""
    for module in JAX:
        require(module, "jax")


LONGEST = 300
"""Letters of an error message that a record keeps."""


def one_line(text: str) -> str:
    """A message as one printable line of at most `LONGEST` letters."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text[: 10 * LONGEST])
    line = " ".join(printable.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def error_line(error: BaseException) -> str:
    """An exception as one line: its class and its message."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - a method's own exception may fail at anything
        message = "(its message cannot be read)"
    return one_line(f"{type(error).__name__}: {message}")
