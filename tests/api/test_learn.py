"""Learning a family: quoted, never over budget, resumable; its model is one file, and wrong files say what is wrong."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.searching import rotation

import l2e
from l2e.api.family import Quote
from l2e.core.checkpoint import save_arrays
from l2e.problems import families

D, M = 4, 8
BOUNDS = [(-2.0, 4.0)] * D
SCALES = np.geomspace(1, 50, D)
TURN = rotation(D)


def minimiser(seed: int) -> np.ndarray:
    return 2.0 + 0.1 * np.random.default_rng(seed).standard_normal(D)


def member(seed: int) -> Callable[[np.ndarray], float]:
    at = minimiser(seed)
    return lambda x: float((SCALES * (TURN @ (x - at)) ** 2).sum())


@pytest.fixture(scope="module")
def model() -> l2e.FamilyModel:
    return l2e.learn(l2e.Family.of(member, seeds=range(M), bounds=BOUNDS), 2400, rng=0)


def fresh(model: l2e.FamilyModel) -> l2e.FamilyModel:
    return dataclasses.replace(model)


def test_a_learned_model_makes_the_next_member_faster(model: l2e.FamilyModel) -> None:
    result = l2e.minimize(member(100), model=model, budget=4 * D, rng=0)
    plain = l2e.minimize(member(100), bounds=BOUNDS, budget=4 * D, rng=0)
    assert result.model.trusted
    assert result.nfev == 4 * D
    assert result.fun < plain.fun


def test_learning_never_exceeds_its_budget_and_is_quoted_first() -> None:
    for budget in (M * 2 * (D + 1), 1000, 2001):
        calls = 0

        def counted(seed: int) -> Callable[[np.ndarray], float]:
            inner = member(seed)

            def function(x: np.ndarray) -> float:
                nonlocal calls
                calls += 1
                return inner(x)

            return function

        family = l2e.Family.of(counted, seeds=range(M), bounds=BOUNDS)
        learned = l2e.learn(family, budget, rng=0)
        assert calls == learned.spent <= family.quote(budget).total <= (budget or 100 * D * M)
    with pytest.raises(ValueError, match=f"give {M * 2 * (D + 1)} or more"):
        family.quote(M * 2 * (D + 1) - 1)


def test_the_quote_says_what_it_is_for() -> None:
    said = str(Quote(10, 4, 500, 90, 400))
    assert "at most 990 evaluations" in said
    assert "400 to choose" in said


def test_a_killed_learning_goes_on_where_it_was(tmp_path: Path) -> None:
    budget, calls = 1000, 0

    def family(limit: int) -> l2e.Family:
        def make(seed: int) -> Callable[[np.ndarray], float]:
            inner = member(seed)

            def function(x: np.ndarray) -> float:
                nonlocal calls
                calls += 1
                if calls > limit:
                    raise KeyboardInterrupt
                return inner(x)

            return function

        return l2e.Family.of(make, seeds=range(M), bounds=BOUNDS)

    whole = l2e.learn(family(10**9), budget, rng=1)
    calls = 0
    with pytest.raises(KeyboardInterrupt):
        l2e.learn(family(500), budget, rng=1, folder=tmp_path)
    calls = 0
    resumed = l2e.learn(family(10**9), budget, rng=1, folder=tmp_path)
    assert calls <= whole.spent - 490
    np.testing.assert_array_equal(resumed.knowledge.cross, whole.knowledge.cross)
    np.testing.assert_array_equal(resumed.knowledge.ends, whole.knowledge.ends)
    assert resumed.plans == whole.plans


def test_workers_learn_the_same(model: l2e.FamilyModel) -> None:
    again = l2e.learn(l2e.Family.of(member, seeds=range(M), bounds=BOUNDS), 2400, rng=0, workers=3)
    np.testing.assert_array_equal(again.knowledge.cross, model.knowledge.cross)
    assert again.plans == model.plans


def test_a_model_is_used_up_to_four_times_the_largest_budget_it_was_judged_at(model: l2e.FamilyModel) -> None:
    assert model.plans.largest == 200
    assert model.plans.plan(200) is model.plans.plan(50)
    assert not model.plans.plan(201).opened
    few = l2e.learn(l2e.Family.of(member, seeds=range(M), bounds=BOUNDS), M * 30, budgets=(2, 8), rng=0)
    assert few.plans.largest == 32


def test_the_card_says_members_cost_gain_and_trust(model: l2e.FamilyModel) -> None:
    said = str(model)
    assert f"{M} members in {D}-D" in said
    assert f"{model.spent} evaluations" in said
    assert "of the default's on" in said
    assert "alike" in said
    assert "in doubt" not in said
    assert json.loads(json.dumps(model.card)) == model.card


def test_a_saved_model_is_the_same_search(model: l2e.FamilyModel, tmp_path: Path) -> None:
    path = model.save(tmp_path / "bowls")
    assert path.name == "bowls.safetensors"
    for again in (l2e.FamilyModel.load(path), l2e.FamilyModel.load(tmp_path / "bowls")):
        one, other = (l2e.minimize(member(7), model=m, budget=8 * D, rng=3) for m in (model, again))
        np.testing.assert_array_equal(one.x, other.x)
        assert str(again) == str(model)
    assert l2e.minimize(member(7), model=path, budget=8 * D, rng=3).fun == one.fun


def test_a_foreign_damaged_or_newer_file_says_so(model: l2e.FamilyModel, tmp_path: Path) -> None:
    load = l2e.FamilyModel.load
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    (tmp_path / "text.safetensors").write_text("no")
    with pytest.raises(l2e.CheckpointError, match="damaged"):
        load(tmp_path / "text.safetensors")
    save_arrays(tmp_path / "other.safetensors", {"x": np.ones(3)}, "Other")
    with pytest.raises(l2e.CheckpointError, match="does not hold the model of a family"):
        load(tmp_path / "other.safetensors")
    path = model.save(tmp_path / "model")
    content = path.read_bytes()
    path.write_bytes(content[:-8] + b"\1" * 8)
    with pytest.raises(l2e.CheckpointError, match="not those that were written"):
        load(path)
    path.write_bytes(content[:-100])
    with pytest.raises(l2e.CheckpointError):
        load(path)
    arrays = {"ends": np.ones((1, 1))}
    save_arrays(tmp_path / "newer.safetensors", arrays, "FamilyModel", model.card | {"version": 99, "l2e": "9.0"})
    with pytest.raises(l2e.CheckpointError, match="newer version of l2e"):
        load(tmp_path / "newer.safetensors")


def test_bounds_and_method_are_the_models(model: l2e.FamilyModel) -> None:
    assert l2e.minimize(member(1), model=model, bounds=BOUNDS, budget=20, rng=0).nfev == 20
    with pytest.raises(ValueError, match="not those of the model's family"):
        l2e.minimize(member(1), model=model, bounds=[(-2, 5)] * D, budget=20)
    with pytest.raises(ValueError, match="default method"):
        l2e.minimize(member(1), model=model, method="cmaes", budget=20)
    with pytest.raises(TypeError, match="model of a family"):
        l2e.minimize(member(1), model=3, budget=20)  # pyright: ignore[reportArgumentType]


def test_a_search_with_a_model_resumes_from_its_journal(model: l2e.FamilyModel, tmp_path: Path) -> None:
    whole = l2e.minimize(member(5), model=model, budget=10 * D, rng=2)
    path = tmp_path / "run.l2e"
    l2e.minimize(member(5), model=model, budget=10 * D, rng=2, checkpoint=path, target=1e30)
    again = l2e.minimize(member(5), model=model, budget=10 * D, rng=2, checkpoint=path)
    assert again.fun == whole.fun
    other = fresh(model)
    other.add(None, whole)
    with pytest.raises(l2e.CheckpointError, match="another search"):
        l2e.minimize(member(5), model=other, budget=10 * D, rng=2, checkpoint=path)


def test_an_added_member_is_known_and_costs_what_is_said(model: l2e.FamilyModel) -> None:
    more, result = fresh(model), l2e.minimize(member(50), model=model, budget=10 * D, rng=2)
    used = more.add(member(50), result, name="fifty")
    assert used <= M + D + 1
    assert more.members == M + 1
    assert more.names[-1] == "fifty"
    assert model.members == M
    known = more.knowledge
    np.testing.assert_allclose(known.cross[M, :M], [member(50)(minimiser_of) for minimiser_of in ends_of(model)])
    np.testing.assert_allclose(known.gradient[M], 6 * 2 * TURN.T @ (SCALES * (TURN @ (1 - minimiser(50)))), rtol=1e-3)
    assert more.add(None, result) == 0
    assert l2e.minimize(member(51), model=more, budget=5 * D, rng=2).model.trusted


def ends_of(model: l2e.FamilyModel) -> np.ndarray:
    return model.space.from_unit(model.knowledge.ends)


def test_an_empty_model_learns_by_adding() -> None:
    growing = l2e.FamilyModel.empty(BOUNDS)
    for seed in range(6):
        result = l2e.minimize(member(seed), model=growing, budget=20 * D, rng=seed)
        assert result.model.trusted == (seed > 4)
        assert growing.add(member(seed), result) == seed
    assert growing.knowledge.kin is not None


def test_journals_alone_make_a_model(tmp_path: Path) -> None:
    empty = l2e.FamilyModel.empty(BOUNDS)
    for seed in range(8):
        path = tmp_path / f"bowl-{seed}.l2e"
        l2e.minimize(member(seed), model=empty, budget=20 * D, rng=seed, checkpoint=path)
    model = l2e.learn_from(tmp_path / "*.l2e")
    assert model.names[:2] == ("bowl-0", "bowl-1")
    assert model.spent == 0
    assert np.isfinite(model.knowledge.gradient).all()
    result = l2e.minimize(member(100), model=model, budget=5 * D, rng=0)
    assert result.model.trusted
    assert result.fun < l2e.minimize(member(100), bounds=BOUNDS, budget=5 * D, rng=0).fun
    assert "unmeasured" in str(model)


def test_journals_of_plain_searches_and_other_boxes(tmp_path: Path) -> None:
    for seed in range(6):
        path = tmp_path / f"a{seed}.l2e"
        l2e.minimize(member(seed), bounds=BOUNDS, budget=60 * D, rng=seed, checkpoint=path)
    model = l2e.learn_from(sorted(tmp_path.glob("a*.l2e")))
    assert np.isfinite(model.knowledge.centre).all()
    assert np.isnan(model.knowledge.gradient).any()
    assert l2e.minimize(member(100), model=model, budget=5 * D, rng=0).model.trusted
    l2e.minimize(member(0), bounds=[(0, 1)] * D, budget=10, rng=0, checkpoint=tmp_path / "b.l2e")
    with pytest.raises(l2e.CheckpointError, match="another box"):
        l2e.learn_from(tmp_path / "*.l2e")
    with pytest.raises(ValueError, match="no journal matches"):
        l2e.learn_from(tmp_path / "*.none")


def test_a_control_whose_members_share_nothing_is_closed() -> None:
    model = l2e.learn(l2e.Family.of(families.control, seeds=range(10)), budget=10 * 100, rng=0)
    assert not any(plan.opened for _, plan in model.plans.entries)
    problem = families.control(77)
    ours, plain = (l2e.minimize(problem, model=m, budget=200, rng=1) for m in (model, None))
    np.testing.assert_array_equal(ours.evaluations.x, plain.evaluations.x)
    assert "no more alike" in ours.warnings[-1]


def test_a_family_is_checked_at_the_door() -> None:
    with pytest.raises(ValueError, match="at least one member"):
        l2e.Family({}, BOUNDS)
    with pytest.raises(ValueError, match="bounds are needed"):
        l2e.Family([member(0)])
    with pytest.raises(TypeError, match="member 'a' must be callable"):
        l2e.Family({"a": 3}, BOUNDS)
    with pytest.raises(ValueError, match="one box"):
        l2e.Family([families.truss(0), families.seir(0)])
    with pytest.raises(ValueError, match="3 names"):
        l2e.Family([member(0)], BOUNDS, coordinates=("a", "b", "c"))
    with pytest.raises(ValueError, match="unknown scale"):
        l2e.learn(l2e.Family([member(0)], BOUNDS), scale="other")  # pyright: ignore[reportArgumentType]


def test_known_points_and_several_starts_go_with_a_model(model: l2e.FamilyModel) -> None:
    good = minimiser(60) + 0.01
    result = l2e.minimize(member(60), model=model, budget=5 * D, rng=0, known=(good[None], [member(60)(good)]))
    assert result.fun <= member(60)(good)
    result = l2e.minimize(member(60), good[None].repeat(2, axis=0), model=model, budget=5 * D, rng=0)
    assert result.fun <= member(60)(good)


def test_a_model_searches_a_space_of_named_parameters(model: l2e.FamilyModel) -> None:
    space = l2e.Space({name: l2e.Float(-2.0, 4.0) for name in "abcd"})

    def named(a: float, b: float, c: float, d: float) -> float:
        return member(61)(np.array([a, b, c, d]))

    result = l2e.minimize(named, bounds=space, model=model, budget=5 * D, rng=0)
    assert result.model.trusted
    assert set(result.params) == set("abcd")
