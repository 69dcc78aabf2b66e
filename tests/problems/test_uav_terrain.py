"""The terrains: what they are like, that they are always the same, and that a user's own file is read with care."""

import pickle

import numpy as np
import pytest

from l2e.api import problem_catalog
from l2e.bench.suite import instances
from l2e.problems import uav
from l2e.problems._uav.official import TerrainFileError
from l2e.problems._uav.terrain import COUNT, DANGER, DRONE, SIZE, _drawn, draw_terrain

SOME = (1, 2, 3, 4, 19, 30, 43, 56)


@pytest.mark.parametrize("number", SOME)
def test_terrains_look_like_those_of_the_benchmark(number):
    terrain = draw_terrain(number)
    heights = np.asarray(terrain.heights, float)
    assert heights.shape == (SIZE, SIZE)
    assert np.isfinite(heights).all()
    assert 60 < heights.std() < 310
    assert -50 < heights.mean() < 400
    steepness = np.hypot(*np.gradient(heights))
    assert 0.3 < np.median(steepness) < 5
    ahead = [np.corrcoef(heights[:, :-lag].ravel(), heights[:, lag:].ravel())[0, 1] for lag in (1, 30, 90)]
    assert ahead[0] > 0.99
    assert ahead[1] > 0.8
    assert ahead[0] > ahead[1] > ahead[2]
    threats = terrain.real_threats
    assert len(threats) == (15 if number % 2 else 30)
    assert ((threats[:, 2] >= 60) & (threats[:, 2] <= 90)).all()
    assert ((threats[:, :2] >= 60) & (threats[:, :2] <= [720, SIZE])).all()
    for point in (terrain.start, terrain.end):
        clear = np.hypot(*(threats[:, :2] - point[:2]).T) - threats[:, 2]
        assert (clear > DRONE + DANGER).all()
        assert point[2] == 150
    assert (terrain.start[:2] <= 0.19 * SIZE + 1).all()
    assert (terrain.end[:2] >= 0.81 * SIZE - 1).all()


def test_ruggedness_differs_from_place_to_place():
    for number in SOME[:4]:
        steepness = np.hypot(*np.gradient(np.asarray(draw_terrain(number).heights, float)))
        blocks = steepness.reshape(6, SIZE // 6, 6, SIZE // 6).mean(axis=(1, 3))
        assert blocks.max() > 1.8 * blocks.min()


def test_a_number_and_a_seed_always_give_the_same_terrain():
    first = draw_terrain(5)
    _drawn.cache_clear()
    again, other = draw_terrain(5), draw_terrain(5, seed=1)
    np.testing.assert_array_equal(first.heights, again.heights)
    np.testing.assert_array_equal(first.threats, again.threats)
    assert np.abs(first.heights - other.heights).max() > 10
    assert draw_terrain(5) is again
    assert problem_catalog.problem("uav:f5:i2").terrain is other  # pyright: ignore[reportAttributeAccessIssue]


def test_suite_is_the_one_of_its_records():
    """Stores know a run by the name of its terrain: whoever changes the generator must give the suite a new name."""
    costs = [uav(number)(uav(number).space.from_unit(np.full(30, 0.5))) for number in (1, 2, 56)]
    np.testing.assert_allclose(costs, [37484.977438665315, 339082.29679501546, 115864.40008879016], rtol=1e-9)


def test_box_is_that_of_the_encoding():
    problem = uav(7)
    start, end = problem.terrain.start, problem.terrain.end
    reach = 2 * np.linalg.norm(end - start) / 10
    azimuth = np.arctan2(end[1] - start[1], end[0] - start[0])
    lower, upper = problem.space.lower.reshape(10, 3), problem.space.upper.reshape(10, 3)
    np.testing.assert_allclose(lower, np.tile([0, -np.pi / 4, azimuth - np.pi / 4], (10, 1)))
    np.testing.assert_allclose(upper, np.tile([reach, np.pi / 4, azimuth + np.pi / 4], (10, 1)))
    assert problem.dimension == 30
    assert getattr(problem, "optimum", None) is None


def test_names_and_groups_are_those_of_the_paper():
    assert [uav(number).group for number in (1, 8, 9, 56)] == [
        "Terrain 1-8",
        "Terrain 1-8",
        "Terrain 9-16",
        "Terrain 49-56",
    ]
    assert uav(12).name == "Terrain 12"
    assert problem_catalog.problem("uav:f12").name == "Terrain 12"  # pyright: ignore[reportAttributeAccessIssue]


def test_suite_holds_all_terrains():
    found = instances("uav", (3, 4), (30,), (1,))
    assert [instance.problem for instance in found] == ["uav:f3:i1:d30", "uav:f4:i1:d30"]
    with pytest.raises(ValueError, match=r"write dimensions = \[30\]"):
        instances("uav", (3,), (10,), (1,))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"terrain": 0}, ValueError, "terrain must be at least 1"),
        ({"terrain": COUNT + 1}, ValueError, "terrain must be between 1 and 56"),
        ({"terrain": "1"}, TypeError, "terrain must be an integer"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"seed": 1, "data": "x.npz"}, ValueError, "leave seed or data"),
        ({"data": "nowhere.npz"}, FileNotFoundError, r"no file of terrains at nowhere\.npz"),
    ],
)
def test_wrong_arguments_are_errors_that_say_what_is_allowed(arguments, error, message):
    with pytest.raises(error, match=message):
        uav(**arguments)


def official(terrain):
    """A terrain as the official file holds it."""
    threats = np.insert(terrain.real_threats, 2, 250.0, axis=1)
    bounds = dict(zip(("xmin", "ymin", "zmin"), terrain.lower, strict=True))
    bounds |= dict(zip(("xmax", "ymax", "zmax"), terrain.upper, strict=True))
    return {"H": terrain.heights, "threats": threats, "start": terrain.start, "end": terrain.end, **bounds}


def write(path, number=2, **changes):
    arrays = official(draw_terrain(2)) | changes
    np.savez(path, **{f"{number}/{name}": array for name, array in arrays.items() if array is not None})
    return path


def test_a_users_file_gives_the_same_costs(tmp_path, monkeypatch):
    path = write(tmp_path / "uav.npz")
    ours, theirs = uav(2), uav(2, data=path)
    points = ours.space.from_unit(np.random.default_rng(0).random((50, 30)))
    np.testing.assert_allclose(theirs(points), ours(points), rtol=1e-13)
    monkeypatch.setenv("L2E_UAV_DATA", str(write(tmp_path / "shifted.npz", end=np.array([850.0, 850, 150]))))
    assert uav(2).terrain.end[0] == 850
    assert problem_catalog.problem("official-uav:f2").terrain.end[0] == 850  # pyright: ignore[reportAttributeAccessIssue]
    assert problem_catalog.problem("uav:f2").terrain is draw_terrain(2)  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TerrainFileError, match="lacks H, threats, start"):
        uav(3)


def test_without_a_file_the_official_suite_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("L2E_UAV_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="L2E_UAV_DATA"):
        problem_catalog.problem("official-uav:f2")


class Trap:
    """Unpickling it would write a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_refused_and_never_opened(tmp_path):
    path, trace = tmp_path / "Model56.pkl", tmp_path / "trace"
    path.write_bytes(pickle.dumps(Trap(trace)))
    with pytest.raises(TerrainFileError, match="never opened here"):
        uav(1, data=path)
    inside = tmp_path / "inside.npz"
    np.savez(inside, **{"2/H": np.array([Trap(trace)], dtype=object)})
    arrays = official(draw_terrain(2)) | {"H": np.array([Trap(trace)], dtype=object)}
    np.savez(inside, **{f"2/{name}": array for name, array in arrays.items()})
    with pytest.raises(TerrainFileError, match="cannot be read"):
        uav(2, data=inside)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"H": np.zeros(900)}, "H must be a table of heights"),
        ({"H": np.full((900, 900), np.nan)}, "H holds values that are not finite"),
        ({"threats": np.zeros((3, 3))}, "threats must be rows"),
        ({"start": np.zeros(2)}, "start and end must be"),
        ({"start": np.array([0.0, 5.0, 150.0])}, "start is outside the map"),
        ({"xmax": np.array(901.0)}, "bounded by 1 and the size of H"),
        ({"zmin": np.array(300.0)}, "must be bounded"),
        ({"threats": None}, "lacks threats"),
        ({"end": draw_terrain(2).start}, "start and end are the same"),
    ],
)
def test_files_that_hold_something_else_are_errors(tmp_path, changes, message):
    with pytest.raises(TerrainFileError, match=message):
        uav(2, data=write(tmp_path / "uav.npz", **changes))


def test_a_damaged_file_is_an_error(tmp_path):
    path = write(tmp_path / "uav.npz")
    content = bytearray(path.read_bytes())
    content[2000:2100] = bytes(100)
    path.write_bytes(bytes(content))
    with pytest.raises(TerrainFileError, match="cannot be read"):
        uav(2, data=path)
