"""From TOML to runs: keys, budgets, and errors that name what was meant."""

import dataclasses
import json
from pathlib import Path

import pytest

from l2e.bench.disturbance import Disturbance
from l2e.bench.experiment import AblationTable, load_experiment, parse_experiment
from l2e.bench.plan import make_plan
from l2e.bench.record import RunSpec
from l2e.core.settings import plain
from l2e.problems import lsgo

BASIC = {"name": "x", "suite": "bbob", "methods": ["de"], "dimensions": [2, 3], "budget_per_dimension": 50}
EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budgett": 3}, "did you mean budget"),
        ({"method": ["de"]}, "did you mean methods"),
        ({"suite": "bbbo"}, "did you mean bbob"),
        ({"methods": ["cmeas"]}, "did you mean cmaes"),
        ({"methods": []}, "at least one"),
        ({"methods": ["de", "de"]}, "twice"),
        ({"methods": ["no_such_module:thing"]}, "module:factory"),
        ({"budget": 100}, "exactly one of budget, budget_per_dimension and budgets_per_dimension"),
        ({"budget_per_dimension": 0}, "from 1"),
        ({"dimensions": [1]}, "at least 2"),
        ({"dimensions": "2"}, "list of whole numbers"),
        ({"functions": [25]}, "between 1 and 24"),
        ({"seeds": 0}, "from 1"),
        ({"seeds": [-1]}, "from 0"),
        ({"seeds": 10**9}, "at most 10000 runs per problem and method, got 1000000000"),
        ({"seeds": 10**30}, "seeds must be a whole number from 1"),
        ({"seeds": "three"}, "seeds must be a whole number from 1"),
        ({"methods": ["x" * 301]}, "each of methods must be a printable text of 1 to 300 letters"),
        ({"timeout": -1}, "positive number of seconds"),
        ({"suite": "paper-bbob", "instances": [1, 2]}, "one instance per function"),
        ({"ablation": {"ful": "de"}}, "did you mean full"),
        ({"ablation": {"variants": {}}}, r"missing in \[ablation\]: full"),
        ({"ablation": {"full": "dee"}}, "did you mean de"),
        ({"ablation": {"full": "de", "variants": {"without": "cmaes"}}}, "unknown method of the ablation 'cmaes'"),
        ({"ablation": {"full": "de", "variants": ["de"]}}, r"\[ablation\] variants must be a table"),
        ({"ablation": "de"}, "must be a table"),
        ({"disturb": {"nois": 0.01}}, r"unknown key in \[disturb\] 'nois'; did you mean noise"),
        ({"disturb": {"noise": 0}}, "positive number"),
        ({"disturb": {"digits": 0}}, "from 1"),
        ({"disturb": {"decimals": 1.5}}, "from 0"),
        ({"disturb": {"start": "randum"}}, "did you mean random"),
        ({"disturb": {}}, "at least one of noise"),
        ({"disturb": {"noise": 0.01}, "published": "bbob-10d"}, "undisturbed"),
        ({"budgets_per_dimension": [20, 50]}, "exactly one of budget"),
        ({"budget_per_dimension": None, "budgets_per_dimension": [20, 20]}, "names something twice"),
        ({"limits": {"dee": 20}}, r"unknown method in \[limits\] 'dee'; did you mean de"),
        ({"limits": {"de": 49}}, "limits leave no method at any budget"),
        ({"limits": {"de": 0}}, r"\[limits\] de must be a whole number from 1"),
        ({"limits": {"de": 5}, "budget": 9, "budget_per_dimension": None}, "limits are budgets per dimension"),
        (
            {"variants": {"a": {"dimension": [2]}}},
            r"unknown key in \[variants.a\] 'dimension'; did you mean dimensions",
        ),
        ({"variants": {"a": {"dimensions": []}}}, r"\[variants.a\]: dimensions is empty"),
        ({"variants": {"../a": {}}}, r"a name in \[variants\] must be a name of letters"),
        ({"variants": {"a": {"budget": 5, "budget_per_dimension": 5}}}, r"\[variants.a\]: give exactly one of budget"),
        ({"variants": {"a": {"disturb": {"nois": 1}}}}, r"unknown key in \[variants.a.disturb\] 'nois'"),
        ({"variants": {"a": {}}, "limits": {"dee": 20}}, r"unknown method in \[limits\] 'dee'"),
        ({"variants": {"a-2x": {}, "a": {"budgets_per_dimension": [2]}}}, "two contests have one name"),
    ],
)
def test_mistakes_are_named(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        make_plan(parse_experiment({**BASIC, **change}))


def test_missing_keys_and_bad_files_are_named(tmp_path) -> None:
    with pytest.raises(ValueError, match="missing: suite, methods"):
        parse_experiment({"name": "x", "dimensions": [2], "budget": 5})
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(ValueError, match="not a TOML file"):
        load_experiment(tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_text("nam = 3")
    with pytest.raises(ValueError, match=r"bad\.toml: .*did you mean name"):
        load_experiment(tmp_path / "bad.toml")


def test_a_plan_has_every_combination_once_with_its_budget() -> None:
    facts = {**BASIC, "functions": [1, 8], "instances": [1, 4], "methods": ["de", "pycma"], "seeds": 3}
    plan = make_plan(parse_experiment(facts))
    assert len(plan.specs) == len({spec.key for spec in plan.specs}) == 2 * 2 * 2 * 2 * 3
    assert {spec.budget for spec in plan.specs if spec.problem.endswith("d3")} == {150}
    tasks = plan.tasks(plan.specs)
    assert sorted(key for task in tasks for key in task.keys) == sorted(spec.key for spec in plan.specs)
    assert {task.engine for task in tasks if task.runs[0].method == "de"} == {"compiled"}
    assert {len(task.runs) for task in tasks if task.runs[0].method == "pycma"} == {1}


def test_methods_and_seeds_can_be_replaced() -> None:
    experiment = parse_experiment(BASIC).with_overrides(("cmaes", "pso"), 2)
    assert experiment.methods == ("cmaes", "pso")
    assert experiment.seeds == (0, 1)
    assert parse_experiment({**BASIC, "seeds": [4, 9]}).seeds == (4, 9)


MANY = {
    **{name: value for name, value in BASIC.items() if name != "budget_per_dimension"},
    "title": "Many",
    "methods": ["de", "cmaes", "pycma"],
    "functions": [1, 8],
    "seeds": 2,
    "budgets_per_dimension": [20, 50],
    "limits": {"pycma": 20},
    "ablation": {"full": "de", "variants": {"other": "pycma"}},
    "variants": {
        "plain": {},
        "noise": {"title": "one per cent of noise", "disturb": {"noise": 0.01}, "methods": ["de", "pycma"]},
        "low": {"dimensions": [2], "budget_per_dimension": 70, "instances": [2, 3], "seeds": [5], "methods": ["cmaes"]},
    },
}


def test_budgets_and_variants_are_contests_of_their_own() -> None:
    experiment = parse_experiment(MANY)
    contests = {contest.name: contest for contest in experiment.contests()}
    assert list(contests) == ["plain-20x", "plain-50x", "noise-20x", "noise-50x", "low"]
    assert contests["noise-50x"].title == "Many: one per cent of noise, 50·d evaluations"
    assert contests["low"].title == "Many: low"
    assert contests["plain-20x"].methods == ("de", "cmaes", "pycma")
    assert contests["plain-50x"].methods == ("de", "cmaes")  # pycma is limited to 20·d
    assert contests["plain-20x"].ablation is not None
    assert contests["plain-20x"].ablation.variants == {"other": "pycma"}
    assert contests["plain-50x"].ablation == AblationTable("de", {})
    assert contests["low"].ablation is None
    assert contests["low"].seeds == (5,)
    assert [contests[name].budget_of(3) for name in ("plain-20x", "noise-50x", "low")] == [60, 150, 210]
    assert contests["noise-20x"].disturb == Disturbance(noise=0.01)
    assert contests["plain-20x"].disturb is None

    plan = make_plan(experiment)
    sizes = {name: sum(contest.covers(spec) for spec in plan.specs) for name, contest in contests.items()}
    # methods x dimensions x functions x instances x seeds
    assert sizes == {"plain-20x": 24, "plain-50x": 16, "noise-20x": 16, "noise-50x": 8, "low": 4}
    assert len(plan.specs) == sum(sizes.values())  # no run belongs to two of them
    assert len(make_plan(experiment, only=["low", "plain-50x"]).specs) == 20
    assert {task.engine for task in plan.tasks(plan.specs) if task.runs[0].disturb is not None} == {"host"}
    for task in plan.tasks(plan.specs):
        assert len({(spec.budget, spec.disturb, spec.method) for spec in task.runs}) == 1
        if task.engine == "compiled":
            assert {spec.problem for spec in task.runs} <= set(task.problems)
    with pytest.raises(ValueError, match="unknown contest 'noise'; did you mean noise-50x or noise-20x"):
        make_plan(experiment, only=["noise"])
    with pytest.raises(ValueError, match="choose one contest with --only: plain-20x, plain-50x"):
        make_plan(experiment, log=("coco",))
    assert parse_experiment(json.loads(json.dumps(plain(experiment)))) == experiment


def test_one_contest_has_the_name_of_the_experiment_and_a_budget_alone_its_own() -> None:
    assert [contest.name for contest in parse_experiment(BASIC).contests()] == ["x"]
    listed = {**MANY, "variants": {}, "limits": {}}
    assert [contest.name for contest in parse_experiment(listed).contests()] == ["20x", "50x"]


def test_a_run_that_two_contests_share_is_done_once() -> None:
    both = {**MANY, "variants": {"a": {}, "b": {"methods": ["de"], "budgets_per_dimension": [50, 70]}}}
    plan = make_plan(parse_experiment(both))
    assert len({spec.key for spec in plan.specs}) == len(plan.specs)
    shared = [spec for spec in plan.specs if spec.method == "de" and spec.budget == 100]
    assert len(shared) == 4


def test_overrides_hold_in_all_variants() -> None:
    experiment = parse_experiment(MANY).with_overrides(("pycma", "pso"), 1)
    contests = {contest.name: contest for contest in experiment.contests()}
    assert contests["plain-20x"].methods == contests["noise-20x"].methods == ("pycma", "pso")
    assert contests["plain-50x"].methods == contests["low"].methods == ("pso",)
    assert {contest.seeds for contest in contests.values()} == {(0,)}
    assert {contest.ablation for contest in contests.values()} == {None}
    limited = parse_experiment(MANY).with_overrides(("pycma",))
    assert [contest.name for contest in limited.contests()] == ["plain-20x", "noise-20x"]


def test_a_key_is_the_hash_of_the_full_spec() -> None:
    spec = RunSpec("bbob:f1:i1:d2", "de", "abc", 0, 100)
    others = [
        dataclasses.replace(spec, **change)
        for change in (
            {"problem": "bbob:f1:i2:d2"},
            {"method": "de-pbest"},
            {"searcher": "abd"},
            {"seed": 1},
            {"budget": 101},
            {"log": ("coco",)},
        )
    ]
    assert len({spec.key, *(other.key for other in others)}) == 7
    assert spec.key == "b738d090b035280d01b2"  # stores of earlier versions stay valid


def test_settings_of_a_method_are_part_of_its_key() -> None:
    small, large = (make_plan(parse_experiment({**BASIC, "budget_per_dimension": n})) for n in (50, 50))
    assert small.specs[0].searcher == large.specs[0].searcher
    other = make_plan(parse_experiment({**BASIC, "methods": ["de-pbest"]}))
    assert other.specs[0].searcher != small.specs[0].searcher


CONTESTS = {
    "smoke": {"smoke": 10},
    "paper-bbob-10d": {"protocol": 16, "restarts": 16},
    "paper-bbob-30d": {"protocol": 16, "first-weights": 16},
    "flagship": {f"main-{budget}x": 160 for budget in (20, 50, 100, 200, 1000, 2000)}
    | {f"dimensions-{budget}x": 320 for budget in (50, 200, 1000)}
    | {"dimensions-2000x": 240}
    | dict.fromkeys(("dimensions-few-10x", "dimensions-few-20x", "dimensions-cobyqa"), 240),
    "flagship-disturbed": {
        f"{kind}-{budget}x": 96
        for kind in ("noise", "rounded", "plateau", "random-start")
        for budget in (50, 200, 1000)
    },
    "flagship-ablation": {f"{budget}x": 64 for budget in (20, 50, 200, 2000)},
    "paper-lsgo-1000d": {
        "protocol": 6,
        "short": 6,
        **dict.fromkeys(("all-short", "all-middle", "all-middle-random", "all-long", "all-long-random"), 15),
    },
    "paper-surrogate-10d": {"paper": 16, "mlp": 16, "kan": 16},
    "paper-uav": {"small": 56, "large": 56},
    "transfer-uav": {"transfer-uav": 7},
    "transfer-surrogate": {"mlp": 16, "kan": 16},
    "transfer-neuroevolution": {"transfer-neuroevolution": 1},
    "paper-neuroevolution": {"ant-3": 1, "ant": 2, "humanoid": 3, "ant-deep": 2, "humanoid-3": 1},
}


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_experiments_of_this_repository_are_readable(path, monkeypatch) -> None:
    monkeypatch.setattr("l2e.problems.official_lsgo", lsgo)  # whose data files are not part of this project
    if path.stem.startswith("ablation-"):  # files of `l2e ablate`
        return
    experiment = load_experiment(path)
    assert experiment.name == path.stem
    contests = experiment.contests()
    assert {contest.name: len(contest.problems()) for contest in contests} == CONTESTS[path.stem]
    assert all(contest.reference in contest.methods for contest in contests)
