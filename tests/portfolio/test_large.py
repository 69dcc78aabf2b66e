"""The default method beyond 100 dimensions: its parts, its promises, and where it begins."""

import numpy as np
import pytest
from helpers.large import PLACE, D, begun, bowl, drive

import l2e
from l2e.portfolio.large.asking import PIECE, Anchor
from l2e.portfolio.large.axes import Axes, Eigenvectors, SomeAxes
from l2e.portfolio.large.descent import Descent
from l2e.portfolio.large.entry import Entry
from l2e.portfolio.large.evolution import SeparableEvolution
from l2e.portfolio.large.graph import Graph, bandwidth_order
from l2e.portfolio.large.grouping import Grouping
from l2e.portfolio.large.pattern import Pattern, overlapping
from l2e.portfolio.large.search import _Large
from l2e.portfolio.large.windows import Windows
from l2e.portfolio.policy import Policy

TURN = np.linalg.qr(np.random.default_rng(1).standard_normal((20, 20)))[0]


def waves(points):
    y = points - PLACE[: points.shape[1]]
    return (y**2 + 10 * (1 - np.cos(2 * np.pi * y))).sum(axis=1)


def two_groups(points):
    """Variables 0-19 and 20-39 are rotated ellipsoids, the others separable."""
    y = points - PLACE
    powers = 10.0 ** (4 * np.arange(20) / 19)
    groups = sum((powers * (y[:, begin : begin + 20] @ TURN.T) ** 2).sum(axis=1) for begin in (0, 20))
    return groups + (y[:, 40:] ** 4).sum(axis=1)


def chain(points):
    return (100 * (points[:, 1:] - points[:, :-1] ** 2) ** 2 + (1 - points[:, :-1]) ** 2).sum(axis=1)


def turned_waves(points):
    """Waves along 20 hidden axes."""
    y = (points - PLACE[:20]) @ TURN.T
    return (y**2 + 10 * (1 - np.cos(2 * np.pi * y))).sum(axis=1)


def test_grouping_finds_groups_and_separable_variables() -> None:
    run = begun(two_groups)
    _, found = drive(Grouping(run.best_x, np.arange(D)).find(run, 15 * D), two_groups)
    assert [group.tolist() for group in found.groups] == [list(range(20)), list(range(20, 40))]
    assert found.separable.tolist() == list(range(40, D))
    assert len(found.rest) == 0
    assert run.used < 10 * D


def test_grouping_of_a_separable_function_takes_two_evaluations_per_variable() -> None:
    run = begun(waves)
    _, found = drive(Grouping(run.best_x, np.arange(D)).find(run, 15 * D), waves)
    assert len(found.separable) == D
    assert run.used == 2 * D + 3


@pytest.mark.parametrize("function", [chain, lambda points: points.sum(axis=1) ** 2], ids=["chain", "all with all"])
def test_what_has_no_groups_of_a_useful_size_is_the_rest(function) -> None:
    dimension = 200
    run = begun(function, dimension=dimension)
    _, found = drive(Grouping(run.best_x, np.arange(dimension)).find(run, 15 * dimension), function)
    assert not found.groups
    assert len(found.rest) == dimension
    assert run.used <= 16 * dimension


def test_overlapping_groups_are_found_one_by_one() -> None:
    def overlapping(points):
        return sum(points[:, begin : begin + 24].sum(axis=1) ** 4 for begin in range(0, 100, 20))

    run = begun(overlapping)
    _, found = drive(Grouping(np.full(D, 0.7), np.arange(D)).find(run, 15 * D), overlapping)
    assert len(found.groups) >= 4
    assert all(20 <= len(group) <= 44 for group in found.groups)
    assert set(np.concatenate(found.groups)) | set(found.rest) == set(range(104))


def test_axes_find_the_minimum_of_a_separable_wavy_function() -> None:
    run = begun(waves)
    unit = Axes(np.arange(D))
    for _ in range(4):
        drive(unit.turn(run), waves)
    assert run.best_f < D  # about one wave above the minimum in a third of the variables
    assert waves(np.zeros((1, D)))[0] > 10 * D


def test_eigenvectors_find_hidden_axes() -> None:
    run = begun(turned_waves, dimension=20)
    unit = Eigenvectors(np.arange(20))
    for _ in range(3):
        drive(unit.turn(run), turned_waves)
    overlaps = np.abs(unit._basis @ TURN.T)
    assert (overlaps.max(axis=1) > 0.9).mean() > 0.8
    assert run.best_f < 20


def test_descent_keeps_its_memory_between_turns() -> None:
    def uneven(points):
        return (10.0 ** (4 * np.arange(D) / D) * (points - PLACE) ** 2).sum(axis=1)

    def after(forget):
        run, unit = begun(uneven), Descent(np.arange(D), 5)
        for _ in range(8):
            drive(unit.turn(run), uneven)
            if forget:
                unit._pairs.clear()
        return run.best_f

    assert after(forget=False) < 0.3 * after(forget=True)


def test_descent_follows_a_valley() -> None:
    """In as many gradients as scipy's L-BFGS-B with as much memory, which is at 41 after 360 iterations."""
    run, unit = begun(chain), Descent(np.arange(D), 60)
    for _ in range(6):
        drive(unit.turn(run), chain)
    assert run.best_f < 48


def test_evolution_converges_on_a_bowl() -> None:
    run = begun(bowl)
    unit = SeparableEvolution(np.arange(D), np.zeros(D), 2.0, 1500)
    drive(unit.turn(run), bowl)
    assert run.best_f < 1e-6


@pytest.mark.parametrize("unit", [Axes(np.arange(D)), Eigenvectors(np.arange(60)), Descent(np.arange(D), 2)])
def test_batches_stay_small(unit) -> None:
    assert drive(unit.turn(begun(bowl)), bowl)[0] <= PIECE


def test_it_begins_above_a_hundred_dimensions() -> None:
    def parts(dimension):
        result = l2e.minimize(bowl, bounds=[(-5, 5)] * dimension, budget=300, rng=0, vectorized=True)
        return {span.part for span in result.trace}

    assert "newton" in parts(100)
    assert parts(101) <= {"start", "L-BFGS", "separable evolution"}


def test_same_seed_same_run_and_the_box_does_not_matter() -> None:
    def run(scale, seed):
        told = []

        def function(points):
            told.append(points / scale)
            return waves(points / scale)

        bounds = [(-5 * scale, 5 * scale)] * D
        l2e.minimize(function, bounds=bounds, budget=60 * D, rng=seed, vectorized=True)
        return np.concatenate(told)

    first = run(1.0, 3)
    np.testing.assert_array_equal(first, run(1.0, 3))
    np.testing.assert_allclose(first, run(4.0, 3), atol=1e-12)
    assert not np.array_equal(first, run(1.0, 4))


ODD = {
    "constant": lambda x: np.full(len(x), 3.0),
    "never": lambda x: np.full(len(x), np.nan),
    "minus infinity": lambda x: np.where(x[:, 0] > 1, -np.inf, bowl(x)),
    "half fails": lambda x: np.where(x[:, 0] + x[:, 1] > 0, np.nan, bowl(x)),
    "huge": lambda x: 1e300 * (1 + bowl(x)),
    "noise": lambda x: np.random.default_rng(int(abs(x).sum() * 1e6) % 2**32).standard_normal(len(x)),
    "steps": lambda x: np.round(bowl(x)),
    "tiny": lambda x: 1e-300 * bowl(x),
}


@pytest.mark.filterwarnings("ignore:the objective returned")
@pytest.mark.parametrize("name", ODD)
def test_any_values_use_the_whole_budget_and_raise_nothing(name) -> None:
    budget = 45 * D
    result = l2e.minimize(ODD[name], bounds=[(-5, 5)] * D, budget=budget, rng=0, vectorized=True)
    assert result.nfev == budget
    assert not [span for span in result.trace if span.reason.startswith("failed")]
    assert [span.begin for span in result.trace[1:]] == [span.end for span in result.trace[:-1]]
    assert result.trace[-1].end == budget


@pytest.mark.parametrize("budget", [1, 2, 119, 121, 1000])
def test_any_budget_is_used_and_not_exceeded(budget) -> None:
    assert l2e.minimize(waves, bounds=[(-5, 5)] * D, budget=budget, rng=0, vectorized=True).nfev == budget


def test_it_begins_at_the_best_of_several_starts_and_known_points_cost_nothing() -> None:
    near = np.clip(PLACE + 0.01, -5, 5)
    fields = {"bounds": [(-5, 5)] * D, "budget": 50, "rng": 0, "vectorized": True}
    several = l2e.minimize(bowl, x0=np.stack([np.full(D, 4.0), near]), **fields)
    assert several.fun <= bowl(near[None])[0]
    informed = l2e.minimize(bowl, known=(near[None], bowl(near[None])), **fields)
    assert informed.trace[0].part == "L-BFGS"
    assert informed.nfev == 50


def test_parts_can_be_left_out() -> None:
    from l2e.core.box import box
    from l2e.core.program import ProgramSearch
    from l2e.portfolio.method import Portfolio

    search = ProgramSearch(
        Portfolio(policy=Policy().without("newton", "coordinates")), box([(-5, 5)] * D), 0, 1000, None
    )
    for _ in range(20):
        search.tell(bowl(search.ask()))
    assert {span.part for span in search.account.spans} == {"start", "separable evolution"}


def test_rugged_and_smooth_functions_get_the_part_that_suits_them() -> None:
    def spent(function):
        result = l2e.minimize(function, bounds=[(-5, 5)] * D, budget=30 * D, rng=0, vectorized=True)
        parts = {}
        assert not [span for span in result.trace if span.reason.startswith("failed")]
        for span in result.trace:
            parts[span.part] = parts.get(span.part, 0) + span.end - span.begin
        return parts

    def ripples(points):
        return bowl(points) + 5 * np.abs(np.sin(300 * points)).sum(axis=1)

    smooth, rugged = spent(chain), spent(ripples)
    assert smooth["L-BFGS"] > smooth["separable evolution"]
    assert rugged["separable evolution"] > rugged["L-BFGS"]


def test_where_a_search_would_be_is_projected_from_its_gains() -> None:
    everything = np.arange(D)

    def evolution(own):
        return Entry(SeparableEvolution(everything, np.zeros(D), 1.0, 1), own=own).projected(10)

    def descent(own):
        return Entry(Descent(everything, 4), own=own).projected(10)

    assert descent([]) == evolution([]) == np.inf
    assert descent([100.0]) == evolution([100.0]) == 100
    assert descent([100.0, 90.0, 88.0]) == pytest.approx(88 - 2 * (0.2 + 0.04 + 0.008), abs=0.01)
    assert descent([100.0, 90.0, 95.0]) == 95
    assert evolution([100.0, 90.0]) == 80  # too early to expect more than the same once again
    steps = 0.85 + 0.85**2 + 0.85**3 + 0.85**4 + 0.85**5
    assert evolution([100.0, 95.0, 90.0, 86.0, 85.0]) == pytest.approx(85 - 5 * steps)


def test_some_axes_tell_whether_the_function_is_one_of_a_separable_one() -> None:
    def additive(function):
        run, unit = begun(function), SomeAxes(np.arange(D))
        drive(unit.turn(run), function)
        return unit.additive

    assert additive(lambda points: np.log1p(bowl(points)))
    assert not additive(lambda points: (points.sum(axis=1) - 6) ** 2)


def shuffled_chain(points):
    order = np.random.default_rng(5).permutation(points.shape[1])
    return chain((points + 2)[:, order])


def test_the_graph_of_a_chain_is_found() -> None:
    run, order = begun(shuffled_chain), np.random.default_rng(5).permutation(D)
    _, edges = drive(Graph(Grouping(run.best_x, np.arange(D))).edges(run, 60 * D), shuffled_chain)
    assert {frozenset(edge) for edge in edges.tolist()} == {
        frozenset(pair) for pair in zip(order[:-1].tolist(), order[1:].tolist(), strict=True)
    }
    assert run.used < 25 * D
    places = np.argsort(bandwidth_order(D, edges))
    assert np.abs(places[edges[:, 0]] - places[edges[:, 1]]).max() == 1


def test_a_graph_that_is_not_sparse_is_none() -> None:
    def all_with_all(points):
        return points.sum(axis=1) ** 4

    run = begun(all_with_all)
    assert drive(Graph(Grouping(np.full(D, 0.3), np.arange(D))).edges(run, 60 * D), all_with_all)[1] is None


def test_windows_descend_a_chain_at_the_cost_of_its_edges() -> None:
    run = begun(shuffled_chain)
    order = np.random.default_rng(5).permutation(D)
    edges = np.stack([np.arange(D - 1), np.arange(1, D)], axis=1)
    unit, before, cost = Windows(order, edges), run.best_f, 0.0
    for _ in range(6):
        cost += unit.cost()
        drive(unit.turn(run), shuffled_chain)
    assert run.best_f < 0.05 * before
    assert run.used < 1.2 * cost


def test_sparse_functions_get_windows_when_there_is_enough_to_spend() -> None:
    bounds = [(-5, 5)] * 160
    result = l2e.minimize(shuffled_chain, bounds=bounds, budget=260 * 160, rng=0, vectorized=True)
    assert {"graph", "windows"} <= {span.part for span in result.trace}
    edges = [int(span.reason.split()[0]) for span in result.trace if span.part == "graph"]
    assert len(edges) == 1
    assert 159 <= edges[0] <= 2 * 159  # rounding, which differs between processors, may add some


def test_gains_of_others_fade_with_those_of_descent() -> None:
    run = begun(bowl)
    large = _Large(run)
    large.entries = [large.descent, large.evolution]
    large.evolution.rate, large.evolution.beside = 1.0, 10.0
    large.descent.rate = 1.0
    assert large._promise(large.evolution) == pytest.approx(0.1)
    large.descent.rate = 100.0
    assert large._promise(large.evolution) == 1.0
    large.descent.rate = 0.0  # stuck: what the others gained is all that is known
    assert large._promise(large.evolution) == 1.0


def test_a_unit_without_gain_is_not_revived_by_a_negative_value() -> None:
    run = begun(lambda points: bowl(points) - 1e6)
    large = _Large(run)
    large.entries = [large.descent, large.evolution]
    large.descent.rate, large.evolution.rate = 1.0, 0.0
    large.evolution.value = run.best_f
    large._next()
    assert large.evolution.rate == 0.0


def test_descent_goes_on_without_measuring_its_gradient_again() -> None:
    def long_bowl(points):
        return (points - PLACE) ** 2 @ (1.0 + np.arange(D))

    run = begun(long_bowl)
    unit = Descent(np.arange(D), 2)
    drive(unit.turn(run), long_bowl)
    before = run.used
    drive(unit.turn(run), long_bowl)
    assert run.used - before < 2.5 * D  # two steps, two gradients


def test_beside_a_point_lines_find_digits_that_the_cube_does_not_have() -> None:
    """A box whose width is no power of two times the cube's: most of its points are not places of the cube."""
    place = np.random.default_rng(4).uniform(-80, 80, D)
    told = []

    def distance(points):
        told.append(((points - place) ** 2 * 10.0 ** (3 * np.arange(D) / D)).sum(axis=1))
        return told[-1]

    result = l2e.minimize(distance, bounds=[(-100, 100)] * D, budget=300 * D, rng=0, vectorized=True)
    assert min(values.min() for values in told) == result.fun == 0.0
    np.testing.assert_array_equal(result.x, place)


def test_moves_from_an_anchor_are_kept_as_they_are() -> None:
    run, asked = begun(bowl), []
    anchor = Anchor(np.full(D, 3.0), 1.0)

    def note(moves):
        asked.append((run.anchor, moves))
        return np.asarray([2.0, 0.5])

    drive(anchor.evaluate(run, np.stack([np.full(D, 1e-20), np.full(D, 2e-20)])), note)
    assert asked[0][0] is anchor.point
    assert run.anchor is None
    assert (anchor.f, anchor.moves[0]) == (0.5, 2e-20)
    assert run.best_f == 0.5


def overlapping_bowls(points):
    """Three rotated ellipsoids of 20 variables; neighbours share four."""
    y, powers = points - PLACE[: points.shape[1]], 10.0 ** (4 * np.arange(20) / 19)
    return sum((powers * (y[:, begin : begin + 20] @ TURN.T) ** 2).sum(axis=1) for begin in (0, 16, 32))


CHAIN = tuple(np.arange(begin, begin + 20) for begin in (0, 16, 32))


def test_groups_that_share_variables_make_one_chain() -> None:
    (members, pairs), *others = overlapping((CHAIN[0], np.arange(60, 70), CHAIN[2], CHAIN[1]))
    assert not others
    assert members.tolist() == list(range(52))
    assert {(0, 19), (16, 35), (32, 51)} <= set(map(tuple, pairs.tolist()))
    assert not {(0, 20), (15, 35)} & set(map(tuple, pairs.tolist()))
    assert overlapping((CHAIN[0], CHAIN[2])) == []


def test_overlapping_groups_descend_in_the_metric_of_their_curvature() -> None:
    run = begun(overlapping_bowls, dimension=52)
    first, unit = run.best_f, Pattern(*overlapping(CHAIN)[0])
    drive(unit.turn(run), overlapping_bowls)
    assert run.best_f < 1e-8 * first
    assert run.used < 1 + len(unit._edges) + 4 * 52 + unit._descent.cost() + 12 * 4


def test_curvature_is_measured_anew_only_when_it_has_become_stale() -> None:
    run = begun(overlapping_bowls, dimension=52)
    unit = Pattern(*overlapping(CHAIN)[0])
    costs = []
    for gain in (0.5, 0.4, 0.01, 0.3):
        run.best_f, before = 1.0, run.used
        unit._descent.turn = lambda run, gain=gain: _falls(run, gain)
        costs.append(unit._stale)
        drive(unit.turn(run), overlapping_bowls)
        assert (run.used > before) == costs[-1]
    assert costs == [True, False, False, True]


def _falls(run, gain):
    run.best_f -= gain
    return None
    yield


def test_rows_of_the_interaction_matrix_share_their_values() -> None:
    run = begun(overlapping_bowls, dimension=52)
    grouping = Grouping(run.best_x, np.arange(52))
    drive(grouping._coupled(run), overlapping_bowls)
    costs = []
    for start in (1, 40, 40):
        before = run.used
        row = drive(grouping._row(run, [start], list(range(52))), overlapping_bowls)[1]
        costs.append(run.used - before)
        assert sorted([start, *row]) == list(range(20) if start == 1 else range(32, 52))
    assert costs[2] < 0.8 * costs[0]  # only sets together with the variable are new
