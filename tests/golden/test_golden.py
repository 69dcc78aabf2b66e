"""The default and every native method ask for exactly the points they asked for when the traces were recorded."""

import json

import pytest
from golden_runs import FILE, kernel, names, play

RECORDED = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", names())
def test_asks_for_the_recorded_points(name: str) -> None:
    if kernel() != RECORDED["kernel"]:
        pytest.skip("the traces were recorded with other linear algebra; they hold to the bit only where that is equal")
    assert play(name) == RECORDED["runs"][name]
