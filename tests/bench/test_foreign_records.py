"""Lines that nobody's runner wrote: each is skipped, counted and named, and the other records count."""

import contextlib
import copy
import gzip
import json
from typing import Any

import pytest
from helpers.made_records import contest, made

from l2e.bench.record import RunRecord, RunSpec
from l2e.bench.store import EXPERIMENT, PACKED, Store, StoreError, read_store
from l2e.core.errors import LONGEST, error_line
from l2e.report.collection import collect
from l2e.report.write import write_report

GOOD: dict[str, Any] = json.loads(made("stranger", 1, 7, [3.0, 1.0]).line)


def changed(*where: str, to: Any) -> bytes:
    """A good record with one value replaced, its key recomputed where a spec could still be read from it."""
    values = copy.deepcopy(GOOD)
    place = values
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = to
    return keyed(values)


def without(*where: str) -> bytes:
    values = copy.deepcopy(GOOD)
    place = values
    for name in where[:-1]:
        place = place[name]
    del place[where[-1]]
    return keyed(values)


def keyed(values: dict[str, Any]) -> bytes:
    with contextlib.suppress(TypeError, ValueError, KeyError):
        values["key"] = RunSpec(**values["spec"]).key
    return json.dumps(values).encode()


ODD = {
    "no JSON": b"{",
    "half a record": json.dumps(GOOD).encode()[:60],
    "a number": b"3",
    "null": b"null",
    "a text": b'"record"',
    "a list": json.dumps([GOOD]).encode(),
    "bytes that are not UTF-8": b'{"key":"\xff\xfe"}',
    "a zero byte": b"\x00",
    "nested a hundred thousand times": b"[" * 100_000,
    "a number of five thousand digits": b'{"key":' + b"9" * 5000 + b"}",
    "an empty object": b"{}",
    "a spec that is a number": b'{"key":"x","spec":3}',
    "a spec that is a list": changed("spec", to=[1]),
    "no spec": without("spec"),
    "no key": json.dumps({name: value for name, value in GOOD.items() if name != "key"}).encode(),
    "a key of another run": json.dumps({**GOOD, "key": "0" * 20}).encode(),
    "a key that is a number": json.dumps({**GOOD, "key": 5}).encode(),
    "an unknown key": changed("colour", to="red"),
    "an unknown key in the spec": changed("spec", "colour", to="red"),
    "no problem": without("spec", "problem"),
    "a problem that is a list": changed("spec", "problem", to=["bbob"]),
    "a problem without a dimension": changed("spec", "problem", to="bbob:f1"),
    "a problem of letters": changed("spec", "problem", to="bbob:fx:i1:dy"),
    "a problem of many digits": changed("spec", "problem", to="bbob:f1:i1:d" + "9" * 20),
    "a method that is a number": changed("spec", "method", to=5),
    "a method that is an object": changed("spec", "method", to={}),
    "an empty method": changed("spec", "method", to=""),
    "a method of ten thousand letters": changed("spec", "method", to="m" * 10_000),
    "a method that cannot be encoded": changed("spec", "method", to="\ud800"),
    "a method that clears the screen": changed("spec", "method", to="\x1b[2J"),
    "a seed below 0": changed("spec", "seed", to=-1),
    "a seed that is true": changed("spec", "seed", to=True),
    "a seed of 1000 digits": changed("spec", "seed", to=10**1000),
    "a seed that is a fraction": changed("spec", "seed", to=0.5),
    "a budget of 0": changed("spec", "budget", to=0),
    "a budget that is null": changed("spec", "budget", to=None),
    "a log that is a text": changed("spec", "log", to="coco"),
    "a disturbance that is a text": changed("spec", "disturb", to="noise"),
    "a disturbance of nothing": changed("spec", "disturb", to={}),
    "an unknown disturbance": changed("spec", "disturb", to={"nois": 1.0}),
    "a trace that is a number": changed("nfev", to=3),
    "a trace of texts": changed("fun", to=["1", "0"]),
    "a trace of lists": changed("fun", to=[[3.0], [1.0]]),
    "a trace with null": changed("fun", to=[3.0, None]),
    "a trace with NaN": changed("fun", to=[3.0, float("nan")]),
    "a trace with infinity": changed("fun", to=[float("inf"), 3.0]),
    "a trace with 1e999": changed("fun", to=[3.0, 1.0]).replace(b'"fun": [3.0', b'"fun": [1e999'),
    "a trace of huge numbers": changed("fun", to=[10**400, 1]),
    "a trace of huge places": changed("nfev", to=[1, 10**30]),
    "a trace of two lengths": changed("nfev", to=[1, 2, 3]),
    "a trace that rises": changed("fun", to=[1.0, 3.0]),
    "a trace that goes back": changed("nfev", to=[2, 1]),
    "a trace from 0": changed("nfev", to=[0, 1]),
    "a trace beyond the budget": changed("nfev", to=[1, 101]),
    "more used than the budget": changed("used", to=101),
    "fewer than none used": changed("used", to=-3),
    "more failed than used": changed("failed", to=101),
    "failed that is a text": changed("failed", to="0"),
    "a reason that is null": changed("reason", to=None),
    "CPU seconds below 0": changed("cpu_seconds", to=-1.0),
    "CPU seconds that are NaN": changed("cpu_seconds", to=float("nan")),
    "wall seconds that are a text": changed("wall_seconds", to="1"),
    "an engine that is a list": changed("engine", to=["host"]),
    "versions that are a list": changed("versions", to=["1"]),
    "versions of numbers": changed("versions", to={"l2e": 1}),
    "an error that is a number": changed("error", to=3),
    "written that is a number": changed("written", to=20260101),
    "no trace": without("fun"),
    "nothing used": without("used"),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_line_costs_nothing_but_itself(kind, tmp_path) -> None:
    others = contest(functions=(1, 8), seeds=2)
    store = Store(tmp_path)
    store.open()
    store.append(others[:5])
    with store.path.open("ab") as file:
        file.write(ODD[kind] + b"\n")
    store.append(others[5:])  # as a runner does that has not read the line
    found = read_store(tmp_path)
    assert found.records.keys() == {record.key for record in others}
    assert found.skipped == 1
    assert found.complaint is not None
    assert found.complaint.startswith(f"1 line was skipped in {tmp_path}; the first is line 6 of records.jsonl: ")
    assert len(found.complaint) < 600
    assert found.complaint.isprintable()
    assert len(collect(found).runs) == len(others)


def test_the_good_line_that_the_odd_ones_are_made_of_is_read(tmp_path) -> None:
    (tmp_path / "records.jsonl").write_bytes(keyed(copy.deepcopy(GOOD)) + b"\n" + b"\n".join(ODD.values()) + b"\n")
    found = read_store(tmp_path)
    assert list(found.records) == [GOOD["key"]]
    assert found.skipped == len(ODD) >= 60
    assert "the first is line 2 of records.jsonl" in str(found.complaint)


def test_all_odd_lines_together_leave_a_report_as_it_is(tmp_path) -> None:
    store = Store(tmp_path / "store")
    store.open()
    store.append(contest(functions=(1, 8), seeds=2))
    write_report(collect(store), tmp_path / "before", figures=False)
    with store.path.open("ab") as file:
        file.write(b"\n".join(ODD.values()) + b"\n")
    write_report(collect(read_store(store.folder)), tmp_path / "after", figures=False)
    for path in sorted((tmp_path / "before").rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "after" / path.relative_to(tmp_path / "before")).read_bytes()


@pytest.mark.parametrize("problem", ["evil:f1:i1:d2", "bbob:f99:i1:d2", "bbob:f1:i1:d1", "bbob:f1:i1:d999999999"])
def test_problems_that_do_not_exist_are_left_out_and_named(tmp_path, problem) -> None:
    store = Store(tmp_path)
    store.open()
    store.append(contest(functions=(1, 8), seeds=2))
    with store.path.open("ab") as file:
        file.write(changed("spec", "problem", to=problem) + b"\n")
    results = collect(read_store(tmp_path))
    assert len(results.runs) == 12
    assert results.remarks == (f"1 records are left out: their problems are unknown, {problem} for instance",)


@pytest.mark.parametrize(
    "note",
    [
        b"{",
        b"3",
        b"[]",
        b'{"methods": "good"}',
        b'{"title": 3}',
        b'{"ablation": {"ful": 1}}',
        b'{"published": "x"}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_damaged_note_of_the_experiment_is_left_out_and_said(tmp_path, note) -> None:
    store = Store(tmp_path)
    store.open()
    store.append(contest(functions=(1, 8), seeds=2))
    (tmp_path / EXPERIMENT).write_bytes(note)
    results = collect(read_store(tmp_path))
    assert results.methods == ("good", "middle", "bad")
    assert results.title == tmp_path.name
    (remark,) = results.remarks
    assert remark.startswith("the note of the experiment is left out: ")


@pytest.mark.parametrize(
    "damage", [b"no gzip", gzip.compress(b"{}\n" * 1000, mtime=0)[:40], b""], ids=["no gzip", "cut off", "empty"]
)
def test_a_damaged_archive_is_an_error_that_names_it(tmp_path, damage) -> None:
    (tmp_path / PACKED).write_bytes(damage)
    if damage == b"":  # what gzip makes of nothing
        assert read_store(tmp_path).records == {}
        return
    with pytest.raises(StoreError, match="cannot read the store"):
        read_store(tmp_path)


def test_long_errors_are_cut_and_stay_on_one_line() -> None:
    text = error_line(RuntimeError("first line\n\x1b[31msecond line" + 3_000_000 * "x"))
    assert text.startswith("RuntimeError: first line [31msecond linex")
    assert text.endswith("...")
    assert len(text) == LONGEST
    foreign = RunRecord.from_line(changed("error", to="e" * 5_000_000))
    assert len(str(foreign.error)) == LONGEST


def test_an_exception_without_a_readable_message_is_named() -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert error_line(OddError()) == "OddError: (its message cannot be read)"
