"""What a path costs: every term against a plain loop, and penalties where they belong and nowhere else."""

import itertools
import math

import jax
import numpy as np
import pytest

from l2e.core.traced import runtime
from l2e.core.traced.problem import stack
from l2e.problems import UAV, drawn_uav
from l2e.problems._uav.cost import PENALTY, WAYPOINTS, WEIGHTS
from l2e.problems._uav.suite import problem
from l2e.problems._uav.terrain import SIZE, Terrain, assemble

DIAGONAL = math.pi / 4
LENGTH = 600 * math.sqrt(2)
COMPARED = (1, 2, 27, 56)
NO_THREATS = np.empty((0, 3))


def loop_path(point, terrain):
    """Start, ten way-points and end as rows x, y, altitude, height; one after the other, as one would fly."""
    place, rows = [float(c) for c in terrain.start], [terrain.start]
    for k in range(WAYPOINTS):
        distance, climb, azimuth = point[3 * k : 3 * k + 3]
        step = (
            distance * math.cos(climb) * math.sin(azimuth),
            distance * math.cos(climb) * math.cos(azimuth),
            distance * math.sin(climb),
        )
        place = [min(max(place[i] + step[i], terrain.lower[i]), terrain.upper[i]) for i in range(3)]
        rows.append(place)
    rows.append(terrain.end)
    found = []
    for x, y, altitude in rows:
        ground = terrain.heights[round(float(y)) - 1, round(float(x)) - 1]
        found.append((float(x), float(y), float(altitude), float(altitude) + float(ground)))
    return found


def loop_length(rows):
    return sum(math.dist((a[0], a[1], a[3]), (b[0], b[1], b[3])) for a, b in itertools.pairwise(rows))


def distance_to_segment(x, y, a, b):
    length = math.dist(a[:2], b[:2])
    if length == 0:
        return math.dist((x, y), a[:2])
    share = ((x - a[0]) * (b[0] - a[0]) + (y - a[1]) * (b[1] - a[1])) / length**2
    if share <= 0:
        return math.dist((x, y), a[:2])
    if share >= 1:
        return math.dist((x, y), b[:2])
    return abs((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / length


def loop_threats(rows, terrain):
    total = 0.0
    for x, y, radius in terrain.real_threats:
        for a, b in itertools.pairwise(rows):
            distance = distance_to_segment(x, y, a, b)
            if distance < radius + 1:
                total += 1e4
            elif distance <= radius + 1 + 10:
                total += radius + 1 + 10 - distance
    return total


def loop_altitude(rows, terrain):
    middle = (terrain.lower[2] + terrain.upper[2]) / 2
    return sum(1e4 if row[2] < 0 else abs(row[2] - middle) for row in rows[1:-1])


def loop_turns(rows):
    def step(i):
        return rows[i + 1][0] - rows[i][0], rows[i + 1][1] - rows[i][1]

    def direction(order):
        return next((step(i) for i in order if step(i) != (0, 0)), (0.0, 0.0))

    total = 0.0
    for i in range(len(rows) - 2):
        first, second = direction(range(i, -1, -1)), direction(range(i + 1, len(rows) - 1))
        cross, dot = first[0] * second[1] - first[1] * second[0], first[0] * second[0] + first[1] * second[1]
        turn = math.degrees(math.atan2(abs(cross), dot))
        climbs = [
            math.degrees(math.atan2(rows[j + 1][3] - rows[j][3], math.hypot(*along)))
            for j, along in ((i, first), (i + 1, second))
        ]
        change = abs(climbs[1] - climbs[0])
        total += (turn if turn > 45 else 0) + (change if change > 45 else 0)
    return total


def loop_ground(rows, terrain):
    for a, b in itertools.pairwise(rows):
        for k in range(12):
            x, y, height = (a[i] + k / 11 * (b[i] - a[i]) for i in (0, 1, 3))
            if x > SIZE - 1 or y > SIZE - 1:
                return 1e4
            column, row = min(math.floor(x), SIZE - 2), min(math.floor(y), SIZE - 2)
            right, up = x - column, y - row
            corners = terrain.heights[row : row + 2, column : column + 2].astype(float)
            ground = np.array([1 - up, up]) @ corners @ np.array([1 - right, right])
            if not height > ground:
                return 1e4
    return 0.0


def sample(space, n, seed=0):
    """Random points; in some of them way-points stay where they are, once or twice in a row, or move straight up."""
    points = space.from_unit(np.random.default_rng(seed).random((n, 30)))
    points[::4, 9] = 0
    points[::4, 12] = 0
    points[1::4, 27] = 0
    points[2::4, 0] = 0
    return points


@pytest.mark.parametrize("number", COMPARED)
def test_every_term_is_that_of_a_plain_loop(number):
    uav = drawn_uav(number)
    points = sample(uav.space, 40, number)
    terms, terrain = uav.terms(points), uav.terrain
    rows = [loop_path(point, terrain) for point in points]
    np.testing.assert_allclose(terms.length, [loop_length(r) for r in rows], rtol=1e-12)
    np.testing.assert_allclose(terms.threats, [loop_threats(r, terrain) for r in rows], rtol=1e-12)
    np.testing.assert_allclose(terms.altitude, [loop_altitude(r, terrain) for r in rows], rtol=1e-12)
    np.testing.assert_allclose(terms.turns, [loop_turns(r) for r in rows], rtol=1e-10)
    np.testing.assert_array_equal(terms.ground, [loop_ground(r, terrain) for r in rows])
    total = 5 * terms.length + terms.threats + 10 * terms.altitude + terms.turns + terms.ground
    np.testing.assert_allclose(uav(points), total, rtol=1e-14)
    np.testing.assert_allclose(uav.path(points[3]), np.asarray(rows[3])[:, [0, 1, 3]], rtol=1e-13)


def test_the_sample_meets_every_case():
    """Or the comparison with the loops would prove little."""
    found = [drawn_uav(number).terms(sample(drawn_uav(number).space, 40, number)) for number in COMPARED]
    _, threats, _, turns, ground = map(np.concatenate, zip(*found, strict=True))
    assert set(ground) == {0.0, PENALTY}
    assert {bool(rest) for rest in threats % PENALTY} == {False, True}  # rings were crossed by some, not by all
    assert turns.min() < 60
    assert turns.max() > 600


def flat(threats=NO_THREATS, height=0.0, **changes) -> UAV:
    """A flat map, to be crossed along its diagonal."""
    start, end = np.array([100.0, 100, 150]), np.array([700.0, 700, 150])
    terrain = assemble(np.full((SIZE, SIZE), height), np.asarray(threats, float), start, end)
    return problem(Terrain(**{**vars(terrain), **changes}), 1)


def straight(climb=0.0):
    """Ten equal steps along the diagonal that end a tenth of the way before the end."""
    return np.tile([LENGTH / 11, climb, DIAGONAL], WAYPOINTS)


def test_straight_path_over_flat_country_costs_its_length():
    uav = flat(height=300.0)
    assert uav(straight()) == pytest.approx(WEIGHTS[0] * LENGTH, rel=1e-12)
    others = uav(uav.space.from_unit(np.random.default_rng(0).random((500, 30))))
    assert uav(straight()) < others.min()


@pytest.mark.parametrize(
    ("off", "expected"),
    [(0.0, PENALTY), (60.9, PENALTY), (61.1, 9.9), (66.0, 5.0), (70.9, 0.1), (71.1, 0.0), (200.0, 0.0)],
)
def test_threats_cost_by_their_distance(off, expected):
    """One threat of radius 60 beside the middle of a segment, so far away that no other segment is near."""
    middle = 400 + off / math.sqrt(2) * np.array([1, -1])
    uav = flat([(*middle, 60)])
    one_long_step = np.array([0, 0, DIAGONAL] * (WAYPOINTS - 1) + [LENGTH, 0, DIAGONAL])
    assert uav.terms(one_long_step).threats[0] == pytest.approx(expected, abs=1e-9)


def test_every_segment_through_a_threat_is_penalised():
    assert flat([(400, 400, 500)]).terms(straight()).threats[0] == 11 * PENALTY
    assert flat([(400, 400, 500)] * 3).terms(straight()).threats[0] == 33 * PENALTY


def test_a_wall_higher_than_the_path_is_penalised_and_a_lower_one_is_not():
    ground = np.zeros((SIZE, SIZE))
    ground[:, 300:340] = 149.0
    assert flat(heights=ground).terms(straight()).ground[0] == 0
    ground[:, 395:399] = 151.0
    assert flat(heights=ground).terms(straight()).ground[0] == PENALTY


def test_ground_beyond_the_last_known_cell_counts_as_too_high():
    up_to = np.tile([2 * LENGTH / 10, 0, DIAGONAL], WAYPOINTS)  # clipped at the corner of the map
    assert flat().terms(up_to).ground[0] == PENALTY
    inside = flat(upper=np.array([SIZE - 1.0, SIZE - 1.0, 200.0]))
    assert inside.terms(up_to).ground[0] == 0


def test_altitude_is_measured_from_the_middle_and_below_ground_is_penalised():
    climbing = straight(climb=0.2)
    uav = flat()
    path = uav.path(climbing)
    np.testing.assert_allclose(uav.terms(climbing).altitude[0], np.sum(path[1:-1, 2] - 150), rtol=1e-12)
    assert path[:, 2].max() == 200
    deep = flat(lower=np.array([1.0, 1, -100]), upper=np.array([900.0, 900, 200]))
    diving = straight(climb=-0.7)
    below = (deep.path(diving)[1:-1, 2] < 0).sum()
    assert 0 < below < WAYPOINTS
    assert deep.terms(diving).altitude[0] // PENALTY == below


@pytest.mark.parametrize(("turn", "expected"), [(44.0, 0.0), (46.0, 46.0), (80.0, 80.0)])
def test_turns_beyond_45_degrees_cost_their_angle(turn, expected):
    half = math.radians(turn) / 2
    before, after = (50 * np.array([math.sin(angle), math.cos(angle)]) for angle in (DIAGONAL + half, DIAGONAL - half))
    point = np.tile([50, 0, DIAGONAL - half], WAYPOINTS)
    point[2] = DIAGONAL + half
    uav = flat(end=np.array([*(100 + before + WAYPOINTS * after), 150.0]))
    assert uav.terms(point).turns[0] == pytest.approx(expected, abs=1e-9)


def test_compiled_mapped_and_single_evaluations_agree():
    problems = [drawn_uav(number) for number in (1, 2, 3)]
    points = problems[0].space.from_unit(np.random.default_rng(1).random((20, 30)))
    expected = np.stack([uav(points) for uav in problems])
    assert problems[0](points[4]) == pytest.approx(expected[0, 4], rel=1e-13)
    with runtime.float64():
        mapped = jax.jit(jax.vmap(lambda uav, x: uav.evaluate(x), in_axes=(0, None)))(stack(problems), points)
    np.testing.assert_allclose(mapped, expected, rtol=1e-13)
    single = np.asarray(jax.jit(lambda uav, x: uav.evaluate(x))(problems[0], points.astype(np.float32)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(np.median(single / expected[0]), 1, rtol=1e-5)
