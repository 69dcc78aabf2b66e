"""The store: nothing finished is lost, whatever happens to whoever writes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.made_records import contest, made

from l2e.bench.record import RunRecord
from l2e.bench.store import RECORDS, Store, StoreError, read_store
from l2e.report.export import export_records


def opened(folder: Path) -> Store:
    store = Store(folder)
    store.open()
    return store


def test_what_is_appended_is_read_again(tmp_path) -> None:
    records = [made("a", 1, 0, [3.0, 1e-3]), made("a", 1, 1, [], error="RuntimeError: no")]
    opened(tmp_path / "new" / "store").append(records)
    again = read_store(tmp_path / "new" / "store").records
    assert list(again) == [record.key for record in records]
    for record in records:
        np.testing.assert_array_equal(again[record.key].fun, record.fun)
        assert again[record.key].line == record.line


def test_a_torn_line_costs_one_record(tmp_path) -> None:
    first, second, third = (made("a", 1, seed, [1.0]) for seed in range(3))
    store = opened(tmp_path)
    store.append([first])
    with store.path.open("a") as file:
        file.write(second.line[:40])  # somebody died here
    reader = read_store(tmp_path)
    assert list(reader.records) == [first.key]
    assert reader.skipped == 0  # it might still be being written
    opened(tmp_path).append([third])
    after = read_store(tmp_path)
    assert list(after.records) == [first.key, third.key]
    assert after.skipped == 1


def test_readers_see_what_others_append(tmp_path) -> None:
    writer, reader = opened(tmp_path), read_store(tmp_path)
    writer.append([made("a", 1, 0, [1.0])])
    reader.refresh()
    writer.append([made("a", 1, 1, [1.0])])
    reader.refresh()
    assert len(reader.records) == 2


def test_the_newest_record_of_a_key_counts(tmp_path) -> None:
    store = opened(tmp_path)
    store.append([made("a", 1, 0, [], error="broke")])
    store.append([made("a", 1, 0, [2.0])])
    (record,) = read_store(tmp_path).records.values()
    assert record.error is None


def test_a_record_that_was_changed_by_hand_is_refused(tmp_path) -> None:
    store = opened(tmp_path)
    store.append([made("a", 1, 0, [1.0])])
    store.path.write_text(store.path.read_text().replace('"seed":0', '"seed":5'))
    assert read_store(tmp_path).skipped == 1


def test_a_full_disk_is_told_and_costs_nothing(tmp_path) -> None:
    store = opened(tmp_path)
    store.path.unlink()
    store.path.symlink_to("/dev/full")
    with pytest.raises(StoreError, match=r"cannot write to the store .*No space left"):
        store.append([made("a", 1, 0, [1.0])])
    assert not store.records


@pytest.mark.parametrize("place", ["/proc/store", "file/store"])
def test_a_place_that_cannot_be_written_is_told(tmp_path, place) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match="cannot make or write to the store"):
        opened(tmp_path / place)


def test_no_store_is_an_error_that_says_so(tmp_path) -> None:
    with pytest.raises(StoreError, match=f"neither {RECORDS}"):
        read_store(tmp_path)


HOLD = """
import sys
from pathlib import Path
from l2e.bench.store import Store
store = Store(Path(sys.argv[1]))
store.open()
print(store.claim(sys.argv[2]), flush=True)
sys.stdin.read()
"""


def test_claims_hold_against_other_processes_and_end_with_them(tmp_path) -> None:
    key = made("a", 1, 0, [1.0]).key
    store = opened(tmp_path)
    command = [sys.executable, "-c", HOLD, str(tmp_path), key]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "True"
    assert not store.claim(key)
    assert store.claim(made("a", 1, 1, [1.0]).key)
    process.kill()
    process.wait()
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()
    assert store.claim(key)


def test_export_to_csv_and_thinned(tmp_path, monkeypatch) -> None:
    store = opened(tmp_path / "store")
    store.append(contest())
    assert export_records(store, tmp_path / "all.csv") == 60
    head, first, *_ = (tmp_path / "all.csv").read_text().splitlines()
    assert head.startswith("key,problem,method,searcher,seed,budget")
    assert first.split(",")[0] in store.records
    (tmp_path / "kept").mkdir()
    export_records(store, tmp_path / "kept" / "records.jsonl.gz")
    kept = read_store(tmp_path / "kept")
    assert kept.records.keys() == store.records.keys()
    for key, record in kept.records.items():
        assert record.fun[-1] == store.records[key].fun[-1]
    with pytest.raises(ValueError, match=r"allowed: \.csv"):
        export_records(store, tmp_path / "all.xls")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"l2e\[parquet\]"):
        export_records(store, tmp_path / "all.parquet")


def test_thinning_keeps_targets_and_ends(tmp_path) -> None:
    from l2e.report.collection import collect
    from l2e.report.export import thinned
    from l2e.report.targets import hits

    store = opened(tmp_path)
    gaps = 10 ** np.linspace(2.5, -9, 1500)
    store.append([made("a", 1, 0, gaps, budget=2000), made("a", 1, 1, [], budget=2000)])
    short: list[RunRecord] = [thinned(record) for record in store.records.values()]
    assert all(len(record.nfev) < 120 for record in short)
    thin = opened(tmp_path / "thin")
    thin.append(short)
    for run, again in zip(collect(store).runs, collect(thin).runs, strict=True):
        np.testing.assert_array_equal(hits(again), hits(run))
        assert (again.key, again.final) == (run.key, run.final)
