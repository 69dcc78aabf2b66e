"""The journal of a search: what was written is read again, and damage is noticed wherever it is."""

import itertools

import numpy as np
import pytest

from l2e.core.checkpoint import CheckpointError
from l2e.core.journal import Journal
from l2e.core.journal_reader import read_journal

HEADER = {"dimension": 2, "settings": {"method": "x"}, "budget": 9}


def written(path, evaluations: int = 4):
    journal = Journal(path, HEADER)
    for i in range(evaluations):
        journal.begin(np.full((1, 2), float(i)))
        journal.end(float(i) if i else np.nan, None if i else "raised something")
    journal.close()
    return path.read_bytes()


def test_what_was_written_is_read_again(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    written(path)
    recorded = read_journal(path)
    assert recorded.header == HEADER
    assert [evaluation.value for evaluation in recorded.evaluations[1:]] == [1, 2, 3]
    assert recorded.evaluations[0].reason == "raised something"
    np.testing.assert_array_equal(recorded.evaluations[2].x, [2, 2])


def test_a_journal_is_appended_to(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    before = written(path)
    assert written(path)[: len(before)] == before
    assert len(read_journal(path).evaluations) == 8


def test_a_file_cut_off_anywhere_loses_at_most_one_evaluation(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    content = written(path)
    header = content.index(b"P")  # the first frame after the header is still whole somewhere before it
    counts = []
    for length in range(header + 60, len(content) + 1):
        path.write_bytes(content[:length])
        counts.append(len(read_journal(path).evaluations))
    assert counts[-1] == 4
    assert all(0 <= later - earlier <= 1 for earlier, later in itertools.pairwise(counts))


def test_every_flipped_bit_is_noticed(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    content = written(path)
    whole = read_journal(path)
    for place in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            path.write_bytes(bytes(flipped))
            with pytest.raises(CheckpointError, match=r"damaged at byte|not a saved search"):
                read_journal(path)
    assert len(whole.evaluations) == 4


def test_damage_says_what_is_intact(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    content = bytearray(written(path))
    content[-3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="The 3 evaluations before it are intact"):
        read_journal(path)


def test_points_in_flight_are_remembered_and_abandoned_ones_are_not_blamed(tmp_path) -> None:
    path = tmp_path / "run.l2e"
    journal = Journal(path, HEADER)
    journal.begin(np.ones((1, 2)))
    journal.close()
    journal = Journal(path, HEADER)
    assert journal.recorded.deaths == {np.ones(2).tobytes(): 1}
    journal.begin(np.ones((1, 2)))
    journal.abandon()
    journal.close()
    assert read_journal(path).deaths == {np.ones(2).tobytes(): 1}


def test_a_second_process_gets_an_error(tmp_path) -> None:
    first = Journal(tmp_path / "run.l2e", HEADER)
    with pytest.raises(CheckpointError, match="in use by another process"):
        Journal(tmp_path / "run.l2e", HEADER)
    first.close()
    Journal(tmp_path / "run.l2e", HEADER).close()


@pytest.mark.parametrize(
    "content", [b"x", b"l2e journal 2\n", b"l2e journal 2\nrubbish and more rubbish", b"\x00" * 99]
)
def test_what_is_no_journal_is_refused(tmp_path, content) -> None:
    path = tmp_path / "run.l2e"
    path.write_bytes(content)
    with pytest.raises(CheckpointError):
        Journal(path, HEADER)
    assert path.read_bytes() == content
