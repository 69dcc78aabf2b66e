"""A short digest of a method's settings and weights: equal for equal methods, in every process."""

import dataclasses
import hashlib
import re
from typing import Any

import numpy as np

LATER = {"later": True}
"""Metadata of a field that methods did not have at first: it counts only where it is not the default, so that records
of the method stay valid."""

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(thing: Any) -> str:
    """Sixteen hexadecimal digits that change with any setting or weight of a method and with nothing else.

    Fields of dataclasses (equinox modules are dataclasses) are walked by name, arrays are hashed with shape and dtype,
    and functions count by their name, since their address differs from process to process.
    """
    digest = hashlib.sha256()
    for part in _parts(thing):
        digest.update(part)
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def _parts(thing: Any) -> Any:
    yield type(thing).__qualname__.encode()
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            if "later" in field.metadata and getattr(thing, field.name) == field.default:
                continue
            yield field.name.encode()
            yield from _parts(getattr(thing, field.name))
    elif isinstance(thing, dict):
        for key in sorted(thing, key=repr):
            yield repr(key).encode()
            yield from _parts(thing[key])
    elif isinstance(thing, tuple | list):
        for item in thing:
            yield from _parts(item)
    elif hasattr(thing, "__array__"):
        array = np.asarray(thing)
        yield f"{array.dtype}{array.shape}".encode()
        yield array.tobytes()
    elif callable(thing) and hasattr(thing, "__qualname__"):
        yield f"{thing.__module__}.{thing.__qualname__}".encode()
    else:
        yield ADDRESS.sub("", repr(thing)).encode()
