"""From TOML to runs: keys, budgets, and errors that name what was meant."""

import dataclasses
from pathlib import Path

import pytest

from l2e.bench.experiment import load_experiment, parse_experiment
from l2e.bench.plan import make_plan
from l2e.bench.record import RunSpec

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
        ({"budget": 100}, "either budget or budget_per_dimension"),
        ({"budget_per_dimension": 0}, "from 1"),
        ({"dimensions": [1]}, "at least 2"),
        ({"dimensions": "2"}, "list of whole numbers"),
        ({"functions": [25]}, "between 1 and 24"),
        ({"seeds": 0}, "from 1"),
        ({"seeds": [-1]}, "from 0"),
        ({"timeout": -1}, "positive number of seconds"),
        ({"suite": "paper-bbob", "instances": [1, 2]}, "one instance per function"),
        ({"ablation": {"ful": "de"}}, "did you mean full"),
        ({"ablation": {"variants": {}}}, "must name the complete method"),
        ({"ablation": {"full": "dee"}}, "did you mean de"),
        ({"ablation": {"full": "de", "variants": {"without": "cmaes"}}}, "unknown method of the ablation 'cmaes'"),
        ({"ablation": {"full": "de", "variants": ["de"]}}, "table of labels and methods"),
        ({"ablation": "de"}, "must be a table"),
        ({"disturb": {"nois": 0.01}}, "unknown key of disturb 'nois'; did you mean noise"),
        ({"disturb": {"noise": 0}}, "positive number"),
        ({"disturb": {"digits": 0}}, "from 1"),
        ({"disturb": {"decimals": 1.5}}, "from 0"),
        ({"disturb": {"start": "randum"}}, "did you mean random"),
        ({"disturb": {}}, "empty: give noise"),
        ({"disturb": {"noise": 0.01}, "published": "bbob-10d"}, "undisturbed"),
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
    experiment = parse_experiment(BASIC).but(("cmaes", "pso"), 2)
    assert experiment.methods == ("cmaes", "pso")
    assert experiment.seeds == (0, 1)
    assert parse_experiment({**BASIC, "seeds": [4, 9]}).seeds == (4, 9)


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


@pytest.mark.parametrize("name", ["smoke", "paper-bbob-10d", "paper-bbob-30d", "restarts", "flagship-noise-200d"])
def test_the_experiments_of_this_repository_are_readable(name) -> None:
    experiment = load_experiment(EXPERIMENTS / f"{name}.toml")
    assert experiment.name == name
    assert experiment.reference in experiment.methods
    assert len(experiment.problems()) == {"smoke": 10, "flagship-noise-200d": 96}.get(name, 16)
