"""Settings files: what they become, and that every mistake is named together with what is allowed."""

import dataclasses
import json
from typing import Annotated, ClassVar, Literal

import pytest

from l2e.core.settings import Check, Count, FileName, Index, Positive, Reader, parse, plain, read_settings


@dataclasses.dataclass(frozen=True)
class Noise:
    kind: ClassVar[str] = "noise"
    size: Positive


@dataclasses.dataclass(frozen=True)
class Steps:
    kind: Literal["steps", "digits"] = "steps"
    places: Index = 3


@dataclasses.dataclass(frozen=True)
class Part:
    name: str = "x"
    share: Annotated[float, Check(lambda x: 0 <= x <= 1, "a share from 0 to 1")] = 0.5


def _seeds(where, value):
    if isinstance(value, int):
        return tuple(range(value))
    return parse(tuple[Index, ...], value, where)


@dataclasses.dataclass(frozen=True)
class Whole:
    steps: Count
    rate: float = 0.1
    loud: bool = False
    schedule: Literal["constant", "cosine"] = "cosine"
    dimensions: tuple[Count, ...] = (5,)
    labels: tuple[str, ...] = ()
    limit: float | None = None
    part: Part = Part()
    disturb: Noise | Steps | None = None
    parts: dict[FileName, Part] = dataclasses.field(default_factory=dict)
    seeds: Annotated[tuple[int, ...], Reader(_seeds)] = (0,)

    def __post_init__(self):
        if self.rate > self.steps:
            raise ValueError("rate must not exceed steps")


FILE = """
steps = 7
rate = 1
loud = true
dimensions = [2, 3]
labels = ["a", "b"]
limit = 2
seeds = 3
[part]
share = 0.25
[disturb]
kind = "digits"
places = 0
[parts."one, two"]
name = "both"
[parts.three]
"""


def test_a_file_becomes_settings_and_settings_plain_values_again(tmp_path):
    path = tmp_path / "all.toml"
    path.write_text(FILE)
    found = read_settings(path, Whole)
    assert found == Whole(
        steps=7,
        rate=1.0,
        loud=True,
        dimensions=(2, 3),
        labels=("a", "b"),
        limit=2.0,
        part=Part(share=0.25),
        disturb=Steps("digits", 0),
        parts={"one, two": Part("both"), "three": Part()},
        seeds=(0, 1, 2),
    )
    assert type(found.rate) is float
    assert parse(Whole, json.loads(json.dumps(plain(found)))) == found
    assert plain(Noise(0.5)) == {"kind": "noise", "size": 0.5}


def test_kind_chooses_the_class_and_the_first_one_is_meant_without_it():
    assert parse(Noise | Steps, {"kind": "noise", "size": 1}) == Noise(1.0)
    assert parse(Noise | Steps, {"size": 1}) == Noise(1.0)
    assert parse(Noise | Steps, {"kind": "steps"}) == Steps()
    assert parse(Steps | Noise, {}) == Steps()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "missing: steps"),
        ({"stesp": 1}, "unknown key 'stesp'; did you mean steps"),
        ({"steps": 1, "distrub": {}}, "unknown table 'distrub'; did you mean disturb"),
        ({"steps": 0}, "steps must be a whole number from 1, got 0"),
        ({"steps": True}, "steps must be a whole number from 1, got True"),
        ({"steps": 1.0}, "steps must be a whole number from 1, got 1.0"),
        ({"steps": 10**400}, "steps must be a whole number"),
        ({"steps": 10**5000}, "too large to show"),
        ({"steps": 1, "rate": "1"}, "rate must be a finite number, got '1'"),
        ({"steps": 1, "rate": float("nan")}, "rate must be a finite number, got nan"),
        ({"steps": 1, "rate": 10**400}, "rate must be a finite number"),
        ({"steps": 1, "loud": 1}, "loud must be true or false, got 1"),
        ({"steps": 1, "schedule": "cosin"}, "unknown schedule 'cosin'; did you mean cosine"),
        ({"steps": 1, "schedule": ["cosine"]}, "unknown schedule"),
        ({"steps": 1, "dimensions": 3}, "dimensions must be a list of whole numbers, got 3"),
        ({"steps": 1, "dimensions": [0]}, "each of dimensions must be a whole number from 1, got 0"),
        ({"steps": 1, "labels": "ab"}, "labels must be a list of texts, got 'ab'"),
        ({"steps": 1, "part": 3}, "part must be a table, got 3"),
        ({"steps": 1, "part": {"share": 2}}, r"\[part\] share must be a share from 0 to 1, got 2"),
        ({"steps": 1, "part": {"nam": "y"}}, r"unknown key in \[part\] 'nam'; did you mean name"),
        ({"steps": 1, "parts": {"../up": {}}}, r"a name in \[parts\] must be a name of letters, digits"),
        ({"steps": 1, "parts": {"a": {"share": -1}}}, r"\[parts.a\] share must be a share from 0 to 1"),
        ({"steps": 1, "parts": [1]}, "parts must be a table"),
        ({"steps": 1, "disturb": {"kind": "nois"}}, r"unknown \[disturb\] kind 'nois'; did you mean noise"),
        ({"steps": 1, "disturb": {"kind": 3}}, r"unknown \[disturb\] kind 3; allowed: digits, noise, steps"),
        ({"steps": 1, "disturb": {"kind": "noise"}}, r"missing in \[disturb\]: size"),
        ({"steps": 1, "disturb": {"kind": "noise", "size": 1, "places": 1}}, r"unknown key in \[disturb\] 'places'"),
        ({"steps": 1, "disturb": "noise"}, "disturb must be a table, got 'noise'"),
        ({"steps": 1, "seeds": [-1]}, "each of seeds must be a whole number from 0"),
        ({"steps": 1, "rate": 2}, "rate must not exceed steps"),
        ([], "must be a table"),
    ],
)
def test_mistakes_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        parse(Whole, values)


@pytest.mark.parametrize("name", ["..", ".hidden", "a/b", "a\\b", "", "x" * 101, "a\n", "é"])
def test_names_of_files_cannot_lead_elsewhere(name):
    with pytest.raises(ValueError, match="letters, digits"):
        parse(FileName, name, "name")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"steps = ", "is not a TOML file"),
        (b"name = '\xff'", "is not a TOML file"),
        (b"steps = 1" + 5000 * b"0", "is not a TOML file"),
        (b"steps = 0", r"file\.toml: steps must be a whole number from 1"),
        (b"steps = " + 5000 * b"[", "nested too deeply"),
    ],
)
def test_errors_name_the_file(tmp_path, content, message):
    path = tmp_path / "file.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_settings(path, Whole)
    assert "file.toml" in str(caught.value)
