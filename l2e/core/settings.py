"""Settings files: TOML tables read into frozen dataclasses, with every key known and every value of its type.

A class declares what its table may hold:

    @dataclass(frozen=True)
    class Training:
        steps: Count = 1000
        rate: Annotated[float, Check(lambda x: x > 0, "a positive number")] = 0.01
        schedule: Literal["constant", "cosine"] = "cosine"

    read_settings(Path("training.toml"), Training)

Fields may be `bool`, `int`, `float`, `str`, `Literal`, `tuple[T, ...]`, `dict[str, T]`, another dataclass, `T | None`
and `Any`, each of them `Annotated` with a `Check` or a `Reader` if need be. A field may also be a union of dataclasses,
which the key `kind` tells apart: each class of the union has a field `kind` of type `Literal`, or a class attribute
`kind`; without the key, the first class is meant. Checks across several fields belong in `__post_init__`.
"""

import dataclasses
import functools
import math
import re
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from l2e.core.errors import unknown

Settings = TypeVar("Settings")
TAG = "kind"
LARGEST = 2**63 - 1
"""Whole numbers of TOML have 64 bits."""


class Check(NamedTuple):
    """A condition on a value that already has the right type, and the words for it: "a whole number from 1"."""

    holds: Callable[[Any], bool]
    wanted: str


class Reader(NamedTuple):
    """Reads a plain value in its own way: `read(where, value)` returns the field or raises `ValueError`."""

    read: Callable[[str, Any], Any]


Count = Annotated[int, Check(lambda number: number >= 1, "a whole number from 1")]
Index = Annotated[int, Check(lambda number: number >= 0, "a whole number from 0")]
Positive = Annotated[float, Check(lambda number: number > 0, "a positive number")]
Label = Annotated[
    str,
    Check(lambda text: text.isprintable() and 0 < len(text) <= 300, "a printable text of 1 to 300 letters"),
]
FileName = Annotated[
    str,
    Check(
        lambda name: re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 .,_()+-]{0,99}", name) is not None,
        "a name of letters, digits, spaces and . , _ ( ) + - that begins with a letter or digit (at most 100)",
    ),
]
"""A name that becomes the name of a file or folder, and cannot lead out of the folder it is put into."""


def read_settings(path: Path, kind: type[Settings]) -> Settings:
    """Read a TOML file.

    **Raises:** `ValueError` naming the file and the key that is unknown, missing or has a wrong value; `OSError`.
    """
    values = read_tables(path)
    try:
        return parse(kind, values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def read_tables(path: Path) -> dict[str, Any]:
    """The plain values of a TOML file, unchecked."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, or a number of thousands of digits
        raise ValueError(f"{path} is not a TOML file: {error}") from error
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


def parse(kind: Any, values: Any, where: str = "") -> Any:
    """Plain values as an object of a type; `where` names the place in messages, for instance "[training] steps"."""
    origin = typing.get_origin(kind)
    if kind is Any:
        return values
    if origin is Annotated:
        return _annotated(kind, values, where)
    if dataclasses.is_dataclass(kind):
        return _table(kind, values, where)
    if origin in (typing.Union, types.UnionType):
        return _union(typing.get_args(kind), values, where)
    if origin is Literal:
        allowed = typing.get_args(kind)
        if not isinstance(values, str | int) or values not in allowed:
            raise unknown(where, values, map(str, allowed))
        return values
    if origin is tuple:
        if not isinstance(values, list | tuple):
            raise ValueError(f"{where} must be a list of {_plural(kind)}, got {_shown(values)}")
        return tuple(parse(typing.get_args(kind)[0], item, f"each of {where}") for item in values)
    if origin is dict:
        if not isinstance(values, Mapping):
            raise ValueError(f"{where} must be a table, got {_shown(values)}")
        name, item = typing.get_args(kind)
        return {
            parse(name, key, f"a name in [{_bare(where)}]"): parse(item, values[key], _under(where, key))
            for key in values
        }
    return _number_or_text(kind, values, where)


def plain(settings: Any) -> Any:
    """Settings as plain JSON, which `parse` turns back into equal settings."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        fields = {field.name: plain(getattr(settings, field.name)) for field in dataclasses.fields(settings)}
        return fields if TAG in fields or not hasattr(settings, TAG) else {TAG: getattr(settings, TAG), **fields}
    if isinstance(settings, Mapping):
        return {key: plain(value) for key, value in settings.items()}
    return [plain(item) for item in settings] if isinstance(settings, tuple | list) else settings


def _table(kind: Any, values: Any, where: str) -> Any:
    if not isinstance(values, Mapping):
        raise ValueError(f"{where} must be a table, got {_shown(values)}")
    fields, required = _fields(kind)
    place = f" in [{_bare(where)}]" if where else ""
    for key, value in values.items():
        if key not in fields:
            raise unknown(("table" if isinstance(value, Mapping) else "key") + place, key, fields)
    missing = [name for name in required if name not in values]
    if missing:
        raise ValueError(f"missing{place}: {', '.join(missing)}")
    given = {key: parse(fields[key], value, _under(where, key)) for key, value in values.items()}
    try:
        return kind(**given)
    except ValueError as error:
        raise ValueError(f"[{_bare(where)}]: {error}" if where else str(error)) from error


@functools.cache
def _fields(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types of a class's fields by name, and the names of those without a default."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    none = dataclasses.MISSING
    required = tuple(field.name for field in fields if field.default is none and field.default_factory is none)
    return {field.name: hints[field.name] for field in fields}, required


def _annotated(kind: Any, values: Any, where: str) -> Any:
    inner, *notes = typing.get_args(kind)
    for note in notes:
        if isinstance(note, Reader):
            return note.read(where, values)
    checks = [note for note in notes if isinstance(note, Check)]
    try:
        parsed = parse(inner, values, where)
    except ValueError:
        if not checks or isinstance(values, Mapping | list | tuple):
            raise
        raise ValueError(f"{where} must be {checks[0].wanted}, got {_shown(values)}") from None
    for check in checks:
        if not check.holds(parsed):
            raise ValueError(f"{where} must be {check.wanted}, got {_shown(values)}")
    return parsed


def _union(members: tuple[Any, ...], values: Any, where: str) -> Any:
    if values is None and types.NoneType in members:
        return None
    members = tuple(member for member in members if member is not types.NoneType)
    if len(members) == 1:
        return parse(members[0], values, where)
    if not isinstance(values, Mapping):
        raise ValueError(f"{where} must be a table, got {_shown(values)}")
    by_tag = {tag: member for member in members for tag in _tags(member)}
    tag = values.get(TAG, next(iter(by_tag)))
    if not isinstance(tag, str) or tag not in by_tag:
        raise unknown(_under(where, TAG), tag, by_tag)
    chosen = by_tag[tag]
    is_field = any(field.name == TAG for field in dataclasses.fields(chosen))
    return parse(chosen, values if is_field else {key: values[key] for key in values if key != TAG}, where)


def _tags(kind: Any) -> tuple[str, ...]:
    hint = typing.get_type_hints(kind).get(TAG)
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else (getattr(kind, TAG),)


def _number_or_text(kind: Any, value: Any, where: str) -> Any:
    is_whole = type(value) is int and abs(value) <= LARGEST
    if kind is float and (is_whole or (type(value) is float and math.isfinite(value))):
        return float(value)
    if type(value) is kind and (is_whole or kind in (bool, str)):
        return value
    raise ValueError(f"{where} must be {_NAMES[kind]}, got {_shown(value)}")


_NAMES = {int: "a whole number", float: "a finite number", bool: "true or false", str: "a text"}


def _plural(kind: Any) -> str:
    item = typing.get_args(kind)[0]
    while typing.get_origin(item) is Annotated:
        item = typing.get_args(item)[0]
    return {int: "whole numbers", float: "numbers", bool: "true and false", str: "texts"}.get(item, "values")


def _under(where: str, key: str) -> str:
    """The place of a key: `steps` in `training` is "[training] steps", `a` in that is "[training.steps] a"."""
    return f"[{_bare(where)}] {key}" if where else key


def _bare(where: str) -> str:
    return where.replace("[", "").replace("] ", ".")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python refuses to write out numbers of thousands of digits
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= 80 else f"{text[:77]}..."
