"""Records on disk: a folder with one file of JSON lines to which finished runs are appended.

JSON lines rather than a database: an append is one write under a lock, a crash can tear at most the last line, which
readers skip and the next append fences off; any tool reads the file while a run is going on, git can keep it, and two
stores are merged with `cat`. Who runs what is agreed by locks on single bytes of a second file, which the kernel
releases with the process that holds them, however it ends: no claim outlives its runner.
"""

import contextlib
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from l2e.bench.record import RunRecord
from l2e.core.checkpoint import write_whole
from l2e.core.errors import one_line

try:
    import fcntl
except ImportError:  # not a POSIX system: two runners on one store may then do a run twice, which is harmless
    fcntl = None

RECORDS = "records.jsonl"
PACKED = "records.jsonl.gz"
EXPERIMENT = "experiment.json"
CLAIMS = ".claims"


class StoreError(OSError):
    """The store cannot be read or written."""


class Store:
    """The records of a folder. One object per process and folder; the last record of a key counts."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.records: dict[str, RunRecord] = {}
        self.skipped = 0
        self._first_skipped = ""
        self._read_to = 0
        self._lines = 0
        self._claims: int | None = None

    @property
    def path(self) -> Path:
        """The file of JSON lines."""
        return self.folder / RECORDS

    def open(self) -> None:
        """Make the folder if need be and see that it can be written to; read what is there.

        **Raises:** `StoreError` that says what cannot be done.
        """
        with self._explained("make or write to"):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._claims = os.open(self.folder / CLAIMS, os.O_RDWR | os.O_CREAT, 0o644)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644))
        self.refresh()

    @property
    def complaint(self) -> str | None:
        """A sentence about the lines that are no records and were skipped; None if there are none."""
        if not self.skipped:
            return None
        lines = "1 line was" if self.skipped == 1 else f"{self.skipped} lines were"
        return f"{lines} skipped in {self.folder}; the first is {self._first_skipped}"

    def refresh(self) -> None:
        """Read what has been appended since the last time, by whomever."""
        with self._explained("read"):
            if self._read_to == 0 and (self.folder / PACKED).exists():
                self._take(_unpacked(self.folder / PACKED), PACKED, 0)
            if not self.path.is_file():
                return
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                content = file.read()
        whole = content.rfind(b"\n") + 1  # a line that is still being written is for the next time
        self._read_to += whole
        self._lines += self._take(content[:whole], RECORDS, self._lines)

    def append(self, records: Iterable[RunRecord]) -> None:
        """Add records, all or none of them; on return they are on the disk.

        **Raises:** `StoreError`, with the file as it was.
        """
        records = list(records)
        content = "".join(record.line + "\n" for record in records).encode()
        with self._explained("write to"):
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                if fcntl is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                self._write(descriptor, content)
            finally:
                os.close(descriptor)
        self.records |= {record.key: record for record in records}

    def _write(self, descriptor: int, content: bytes) -> None:
        length = os.fstat(descriptor).st_size
        if length and os.pread(descriptor, 1, length - 1) != b"\n":
            content = b"\n" + content  # somebody died in the middle of a line
        try:
            written = 0
            while written < len(content):
                written += os.write(descriptor, content[written:])
            if self.path.is_file():
                os.fsync(descriptor)
        except OSError:
            if self.path.is_file():
                os.ftruncate(descriptor, length)
            raise

    def claim(self, key: str) -> bool:
        """Take a run for this process; False if another one has it. It ends with `release`, or with the process."""
        return self._lock(key, "LOCK_EX", "LOCK_NB")

    def release(self, key: str) -> None:
        """Give a run back."""
        self._lock(key, "LOCK_UN")

    def _lock(self, key: str, *modes: str) -> bool:
        if fcntl is None or self._claims is None:
            return True
        try:
            fcntl.lockf(self._claims, sum(getattr(fcntl, mode) for mode in modes), 1, int(key[:15], 16))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _take(self, content: bytes, name: str, before: int) -> int:
        """Read lines, of which there were some before in the file; lines that are no records are counted."""
        lines = content.split(b"\n")
        for number, line in enumerate(lines, start=before + 1):
            if not line.strip():
                continue
            try:
                record = RunRecord.from_line(line)
            except ValueError as error:
                self.skipped += 1
                self._first_skipped = self._first_skipped or f"line {number} of {name}: {one_line(str(error))}"
                continue
            self.records[record.key] = record
        return len(lines) - 1

    def note_experiment(self, values: dict[str, Any]) -> None:
        """Keep the experiment beside its records, for reports."""
        with self._explained("write to"):
            write_whole(self.folder / EXPERIMENT, (json.dumps(values, indent=1) + "\n").encode())

    def experiment(self) -> Any:
        """The experiment last run into this store, as it was noted, or an empty table.

        **Raises:** `ValueError` if the file is not JSON.
        """
        path = self.folder / EXPERIMENT
        try:
            return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged: {error}") from error

    @contextlib.contextmanager
    def _explained(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise StoreError(f"cannot {what} the store {self.folder}: {reason}") from error


def _unpacked(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except (EOFError, zlib.error) as error:  # a damaged header is an OSError
        raise OSError(f"{path.name} is damaged: {error}") from error


def read_store(folder: Path) -> Store:
    """An existing store, for reading; works while a runner appends, and in read-only folders."""
    if not any((Path(folder) / name).exists() for name in (RECORDS, PACKED)):
        raise StoreError(f"no records in {folder}: it has neither {RECORDS} nor {PACKED}")
    store = Store(folder)
    store.refresh()
    return store
