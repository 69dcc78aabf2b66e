"""Named arrays on disk: safetensors with a JSON header. Nothing is ever pickled.

A file holds arrays by name and a header that says what they are: the format's version, the class they belong to, a
digest of their bytes, and whatever metadata the writer adds (settings, seed, provenance). A reader says which names,
shapes and types it expects, and these are compared before any array is read: a foreign or damaged file is an error
that says what is wrong, never a half-filled state and never a file read whole for nothing.
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

FORMAT = "l2e-1"
DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
}
"""The names of types in a safetensors header, and numpy's."""


class CheckpointError(ValueError):
    """A file that is not a checkpoint, is damaged, or belongs to something else."""


def save_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], kind: str, metadata: dict[str, Any] | None = None
) -> None:
    """Write arrays and metadata; the file appears whole or not at all.

    **Arguments:** `kind`: the name of the class the arrays belong to, which a reader must name again.

    **Raises:** `OSError` (a full disk, a missing or read-only folder); an older file of that name is then untouched.
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    header = {"format": FORMAT, "class": kind, "digest": _digest(plain), "facts": metadata or {}}
    write_whole(Path(path), save(plain, metadata={"l2e": json.dumps(header)}))


def load_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The metadata in a file's header, without reading its arrays."""
    return _header(Path(path))["facts"]


def load_kind(path: str | os.PathLike[str]) -> str:
    """The name of the class that a file's arrays belong to."""
    return _header(Path(path))["class"]


def load_arrays(path: str | os.PathLike[str], expected: Mapping[str, np.ndarray], kind: str) -> dict[str, np.ndarray]:
    """Read the arrays of a file of this kind.

    **Arguments:** `expected`: arrays of the names, shapes and types that the file must have.

    **Raises:** `CheckpointError` for a file that is damaged or holds something else; `FileNotFoundError`.
    """
    path = Path(path)
    header = _header(path)
    if header["class"] != kind:
        raise CheckpointError(f"{path} holds a {header['class']}, not a {kind}")
    with _open(path) as file:
        names = set(file.keys())
        if names != expected.keys():
            missing, extra = sorted(expected.keys() - names), sorted(names - expected.keys())
            raise CheckpointError(f"{path} does not fit: missing {missing[:3]}, unexpected {extra[:3]}")
        for name, want in expected.items():
            part = file.get_slice(name)
            shape, dtype = tuple(part.get_shape()), DTYPES.get(part.get_dtype(), part.get_dtype())
            if shape != want.shape or dtype != str(want.dtype):
                raise CheckpointError(
                    f"{path} does not fit: {name} is {dtype}{shape}, expected {want.dtype}{want.shape}"
                )
        arrays = {name: file.get_tensor(name) for name in expected}
    if "digest" in header and header["digest"] != _digest(arrays):
        raise CheckpointError(f"{path} is damaged: its arrays are not those that were written")
    return arrays


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old one or the new one, never a part.

    Its mode follows the umask, or is that of the file it replaces, and symbolic links are followed. Temporary files
    that a killed process left behind are removed.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _sweep(path: Path) -> None:
    """Remove temporary files of this name whose process is gone."""
    for left in path.parent.glob(f".{path.name}.*-*.tmp"):
        owner = left.name.removeprefix(f".{path.name}.").partition("-")[0]
        if owner.isdigit() and not _alive(int(owner)):
            with contextlib.suppress(OSError):
                left.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype}{arrays[name].shape}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _open(path: Path) -> Iterator[Any]:
    try:
        present = path.is_file()
    except (OSError, ValueError) as error:  # a name too long, or with a NUL in it
        raise FileNotFoundError(f"no checkpoint can have the name {str(path)[:60]!r}: {error}") from error
    if not present:
        raise FileNotFoundError(f"no checkpoint at {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except SafetensorError as error:
        raise CheckpointError(f"{path} is not a checkpoint or is damaged: {error}") from error


def _header(path: Path) -> dict[str, Any]:
    with _open(path) as file:
        text = (file.metadata() or {}).get("l2e")
    if text is None:
        raise CheckpointError(f"{path} is a safetensors file, but not one of l2e's")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: its header cannot be read ({type(error).__name__})") from error
    if not isinstance(header, dict):
        raise CheckpointError(f"{path} is damaged: its header is no table")
    if header.get("format") != FORMAT:
        raise CheckpointError(f"{path} has format {header.get('format')!r}; this version reads {FORMAT!r}")
    if not isinstance(header.get("class"), str) or not isinstance(header.get("facts"), dict):
        raise CheckpointError(f"{path} is damaged: its header lacks what every checkpoint has")
    return header
