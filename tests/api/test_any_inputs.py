"""Odd arguments and odd objectives get a right result or a clear error; `tools/attack_inputs.py` tries thousands."""

import pytest

from tools.attack_inputs import ANSWERS, ODD, draw, play


@pytest.mark.parametrize("number", range(60))
def test_nothing_escapes_and_no_result_is_wrong(number) -> None:
    outcome = play(number, seed=1)
    assert not outcome.what.startswith(("wrong", "escaped")), (outcome.what, outcome.odd, outcome.text)


def test_the_runs_reach_every_kind_of_objective_and_every_odd_argument() -> None:
    drawn = [draw(number, seed=0) for number in range(1000)]
    assert {answer for _, _, answer in drawn} == set(ANSWERS)
    assert {name for _, odd, _ in drawn for name in odd.split()} == {*ODD, "nothing"}
