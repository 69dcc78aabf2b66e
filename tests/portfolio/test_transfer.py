"""Searches that know their family: what they keep of the past, when they trust it, and what it costs if not."""

from typing import Any

import numpy as np
import pytest
from helpers.searching import rotation

import l2e
from l2e.core.errors import UnknownNameError
from l2e.portfolio.secants import Pair
from l2e.portfolio.transfer.jump import jumps
from l2e.portfolio.transfer.kin import kin, left_out
from l2e.portfolio.transfer.knowledge import Knowledge, Plan, Plans
from l2e.portfolio.transfer.method import Transfer
from l2e.portfolio.transfer.metric import replayed, shared
from l2e.portfolio.transfer.past import Past, on_box
from l2e.portfolio.transfer.recall import Recalling
from l2e.portfolio.transfer.seeds import cover, medoids, next_by_distance, next_by_members, normal_scores, regrets

D, M = 6, 24
BOUNDS = [(-2.0, 4.0)] * D
OPEN = Plan(True, "default", "open")
CLOSED = Plan(False, "default", "closed")
SCALES = np.geomspace(1, 100, D)
TURN = rotation(D)
HALF_HESSIAN = TURN.T @ np.diag(SCALES) @ TURN


def minimiser(seed: int) -> np.ndarray:
    """Members of the family have their minimiser in one corner of the box."""
    return 2.0 + 0.4 * np.random.default_rng(seed).standard_normal(D)


def member(seed: int):
    at = minimiser(seed)

    def bowl(x: np.ndarray) -> float:
        return float((SCALES * (TURN @ (x - at)) ** 2).sum())

    return bowl


def knowledge(count: int = M, cross: bool = True) -> Knowledge:
    space = l2e.box(BOUNDS)
    ends = np.stack([minimiser(seed) for seed in range(count)])
    functions = [member(seed) for seed in range(count)]
    middle = np.ones(D)
    table = np.array([[f(end) for end in ends] for f in functions])
    gradients = np.stack([6.0 * 2 * HALF_HESSIAN @ (middle - end) for end in ends])
    values = np.diagonal(table).copy()
    table = table if cross else np.where(np.eye(count, dtype=bool), table, np.nan)
    centre = np.array([f(middle) for f in functions])
    return Knowledge(space.to_unit(ends), values, centre, gradients, table, HALF_HESSIAN / SCALES.sum())


def asked(fun, method, budget: int, **options) -> tuple[np.ndarray, Any]:
    seen = []

    def recorded(x: np.ndarray) -> float:
        seen.append(x.copy())
        return fun(x)

    result = l2e.minimize(recorded, bounds=BOUNDS, method=method, budget=budget, rng=5, **options)
    return np.array(seen), result


@pytest.mark.parametrize("cross", [True, False])
@pytest.mark.parametrize("follow", ["default", "evolution", "newton"])
def test_a_member_is_solved_sooner_and_the_budget_is_kept(cross: bool, follow) -> None:
    method = Transfer(knowledge(cross=cross), Plans.always(Plan(True, follow, "open")))
    points, result = asked(member(100), method, 4 * D)
    _, plain = asked(member(100), "auto", 4 * D)
    assert result.model.trusted
    assert result.model.strategy == follow
    assert len(points) == result.nfev == 4 * D
    assert result.fun < plain.fun / 3


def test_a_closed_plan_is_the_default_to_the_bit() -> None:
    for budget in (5 * D, 20 * D, 60 * D):
        ours, result = asked(member(100), Transfer(knowledge(), Plans.always(CLOSED)), budget)
        plain, _ = asked(member(100), "auto", budget)
        np.testing.assert_array_equal(ours, plain)
        assert not result.model.trusted
        assert "closed" in result.warnings[-1]


def test_a_foreign_gradient_costs_nothing_below_40_evaluations_per_dimension() -> None:
    def foreign(x: np.ndarray) -> float:
        return float((SCALES[::-1] * x**2).sum())

    _, result = asked(foreign, Transfer(knowledge(), Plans.always(OPEN)), 10 * D)
    _, plain = asked(foreign, "auto", 10 * D)
    assert "points where no member's does" in result.model.why
    assert result.model.seeds == 0
    assert result.fun == plain.fun


def test_a_value_at_the_centre_of_another_size_is_noticed_unless_scales_are_free() -> None:
    def far(x: np.ndarray) -> float:
        return 1e6 + member(100)(x)

    _, result = asked(far, Transfer(knowledge(), Plans.always(OPEN)), 5 * D)
    assert "unlike" in result.model.why
    known = knowledge()
    free = Knowledge(known.ends, known.best, known.centre, known.gradient, known.cross, known.metric, scale_free=True)
    _, result = asked(far, Transfer(free, Plans.always(OPEN)), 5 * D)
    assert result.model.trusted


def test_seeds_that_do_not_win_are_left() -> None:
    known = knowledge()
    away = Knowledge(1 - known.ends, known.best, known.centre, known.gradient, known.cross, known.metric)
    _, result = asked(member(100), Transfer(away, Plans.always(OPEN)), 20 * D)
    assert not result.model.trusted
    assert result.model.seeds <= 6


def test_few_members_are_not_trusted_but_the_differences_are_taken() -> None:
    points, result = asked(member(100), Transfer(Knowledge.empty(D), Plans.always(OPEN)), 20 * D)
    assert not result.model.trusted
    assert np.isfinite(result.model.gradient).all()
    space = l2e.box(BOUNDS)
    past = Past(space, points, np.array([member(100)(x) for x in points]))
    np.testing.assert_allclose(past.gradient, 6.0 * 2 * HALF_HESSIAN @ (1 - minimiser(100)), rtol=1e-4)
    assert past.centre == member(100)(np.ones(D))


def test_the_start_of_the_user_is_one_more_seed() -> None:
    points, _ = asked(member(100), Transfer(knowledge(), Plans.always(OPEN)), 5 * D, x0=minimiser(100))
    assert (points == minimiser(100)).all(axis=1).any()


def test_parts_can_be_left_out_and_unknown_ones_are_named() -> None:
    method = Transfer(knowledge(), Plans.always(OPEN), left_out=("gate", "jump"))
    _, result = asked(member(100), method, 5 * D)
    assert result.model.jumps == 0
    assert np.isnan(result.model.likeness)
    with pytest.raises(UnknownNameError, match="covariance"):
        Transfer(knowledge(), Plans.always(OPEN), left_out=("covarance",))


@pytest.mark.filterwarnings("ignore:the objective returned:RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1e300])
def test_no_value_ends_a_search_with_a_model(value: float) -> None:
    points, _ = asked(lambda x: value, Transfer(knowledge(), Plans.always(OPEN)), 10 * D)
    assert len(points) == 10 * D
    points, _ = asked(lambda x: value if x[0] > 1 else member(1)(x), Transfer(knowledge(), Plans.always(OPEN)), 10 * D)
    assert len(points) == 10 * D


def test_a_recalled_point_is_not_paid_for_and_seen_once() -> None:
    run = Recalling(2, 100, np.random.default_rng(0))
    point = np.array([[1.0, -0.0]])
    steps = run.evaluate(point)
    next(steps)
    with pytest.raises(StopIteration):
        steps.send(np.array([3.0]))
    with pytest.raises(StopIteration) as ended:
        next(run.evaluate(np.array([[1.0, 0.0]])))
    assert ended.value.value == [3.0]
    assert run.used == 1
    assert len(run.memory()[1]) == 1


def test_plans_are_taken_from_the_nearest_budget_and_end_at_the_largest() -> None:
    plans = Plans(((5.0, CLOSED), (50.0, OPEN)), 100.0)
    assert plans.plan(2) is CLOSED
    assert plans.plan(15) is CLOSED
    assert plans.plan(17) is OPEN
    assert plans.plan(100) is OPEN
    assert not plans.plan(101).opened


def test_cover_takes_the_end_that_helps_most_members_first() -> None:
    table = np.array([[0, -5, 1.0, -1], [-2, 0, 1, -1], [-2, 1, 0, -1], [1, -9, 1, 0]])
    assert cover(table, 2) == [1, 0]


def test_regrets_know_their_own_end_for_nothing_and_fill_what_is_unknown() -> None:
    cross = np.array([[1.0, 2.0, np.nan], [3.0, 0.0, np.nan], [np.nan] * 3])
    table = regrets(cross, np.array([1.0, 0.0, 0.5]), np.array([3.0, 4.0, 1.0]))
    np.testing.assert_array_equal(np.diagonal(table), 0)
    assert np.isfinite(table).all()
    assert table[0, 1] == pytest.approx(np.log(0.501 / 1.001), abs=1e-3)


def test_medoids_begin_in_the_middle_of_good_ends() -> None:
    ends = np.array([[0.1, 0.1], [0.12, 0.1], [0.1, 0.12], [0.9, 0.9]])
    assert medoids(ends, np.array([0.0, 1.0, 2.0, 3.0]), 2)[0] == 0
    assert sorted(medoids(ends, np.zeros(4), 9)) == [0, 1, 2, 3]


def test_the_next_seed_is_untried_and_near_what_was_good() -> None:
    ends = np.array([[0.1], [0.15], [0.9], [0.85]])
    chosen = next_by_distance(ends, np.zeros(4), [0, 2], np.array([-1.0, 5.0]), 2.0)
    assert chosen == 1
    features = np.array([[-1, -1, 1, 1], [1, 1, -1, -1], [-1, -0.9, 1, 0.9]], dtype=float)
    assert next_by_members(features, [0], np.array([-1.0])) == 1


def test_normal_scores_are_symmetric() -> None:
    scores = normal_scores(np.array([3.0, 1.0, 2.0]))
    np.testing.assert_allclose(scores, [-scores[1], scores[1], 0], atol=1e-12)


def test_the_jump_finds_a_dependence_and_its_left_out_error_is_that_of_leaving_out() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((20, 2))
    ends = 0.5 + 0.1 * features @ np.array([[1.0, 0, 2], [0, 1, 1]])
    best = jumps(features, np.array([0.3, -0.2]), ends)[0]
    assert best.error < 0.02
    np.testing.assert_allclose(best.point, 0.5 + 0.1 * np.array([0.3, -0.2, 0.4]), atol=0.02)
    noise = jumps(rng.standard_normal((20, 2)), np.zeros(2), rng.random((20, 3)))[0]
    assert noise.error > 0.8
    assert jumps(features, np.zeros(2), np.ones((20, 3))) == []


def test_random_directions_are_no_family_and_like_ones_are() -> None:
    rng = np.random.default_rng(1)
    random = kin(rng.standard_normal((M, 10)))
    alike = kin(1.0 + 0.2 * rng.standard_normal((M, 10)))
    assert random is not None
    assert not random.is_family
    assert alike is not None
    assert alike.is_family
    looked = len(alike.coordinates)
    assert 3 <= looked < 6, "fewer than a look at them all are enough"
    assert alike.foreign < 0.02
    assert alike.likeness(np.ones(looked)) > alike.limit > alike.likeness(-np.ones(looked))
    assert len(random.coordinates) == 6
    many = kin(1.0 + 0.2 * rng.standard_normal((M, 30)))
    assert many is not None
    assert len(many.coordinates) == 10, "beyond 24-D quasi-Newton wants them anyway"
    assert kin(np.ones((4, 10))) is None
    assert left_out(np.eye(3)).tolist() == [0, 0, 0]


def test_a_replayed_metric_is_the_hessian_and_is_kept_only_where_it_is_shared() -> None:
    rng = np.random.default_rng(2)
    hessian = np.diag([1.0, 10.0, 100.0])
    steps = [rng.standard_normal((40, 3)) for _ in range(6)]
    alike = [[Pair(s, hessian @ s) for s in each] for each in steps]
    found = replayed(alike[0])
    assert found is not None
    np.testing.assert_allclose(found, hessian / 111, atol=1e-3)
    assert shared(alike) is not None
    turns = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in steps]
    unlike = [[Pair(s, q @ hessian @ q.T @ s) for s in each] for q, each in zip(turns, steps, strict=True)]
    assert shared(unlike) is None
    assert replayed([]) is None


def test_stars_of_a_default_search_give_its_gradients() -> None:
    points, _ = asked(member(3), "auto", 110 * D)  # with less to spend quasi-Newton does not come first
    points = points[: 30 * D]
    space = l2e.box(BOUNDS)
    past = Past(space, points, np.array([member(3)(x) for x in points]))
    assert past.star_share > 0.3
    hessian = 36.0 * 2 * HALF_HESSIAN
    for pair in past.secants[:2]:
        np.testing.assert_allclose(pair.y, hessian @ pair.s, rtol=0.01, atol=1.0)


def test_the_working_cube_meets_the_box_as_a_search_does() -> None:
    points, _ = asked(member(3), "auto", 3)
    np.testing.assert_array_equal(on_box(np.zeros(D), l2e.box(BOUNDS)), points[0])
