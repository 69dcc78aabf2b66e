"""Model files from strangers: whatever is wrong with a name, a card or weights is one clear error."""

import json
import resource
import struct
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import l2e
from l2e.algorithms.l2e.solver import L2ESettings
from l2e.algorithms.stored import initial_algorithm, load_algorithm, save_algorithm
from l2e.api import catalog, models
from l2e.core.checkpoint import CheckpointError
from l2e.core.errors import UnknownNameError

SETTINGS = L2ESettings("base", population_size=6, schedule="shared", width=3)
CARD = {
    "optimizer": {"operator": "base", "population_size": 6, "schedule": "shared", "width": 3},
    "class": "L2E",
    "dimension": 2,
    "generations": 4,
    "seed": 0,
}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """A model of few weights."""
    path = tmp_path_factory.mktemp("model") / "small.safetensors"
    save_algorithm(path, initial_algorithm(SETTINGS, 2, 4, 0), CARD, "float32")
    return path


def rewritten(source: Path, target: Path, header=None, change=None) -> Path:
    """The file with other text in its header, or with arrays that `change` has been at and no digest."""
    with safe_open(source, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        stored = json.loads(file.metadata()["l2e"])
    del stored["digest"]
    if change is not None:
        change(arrays)
    save_file(arrays, target, metadata={"l2e": json.dumps(stored) if header is None else header})
    return target


def with_card(source: Path, target: Path, **changes) -> Path:
    card = {key: value for key, value in {**CARD, **changes}.items() if value is not ...}
    return rewritten(source, target, json.dumps({"format": "l2e-1", "class": "L2E", "facts": card}))


def test_a_small_model_is_loaded(model) -> None:
    loaded, first = l2e.load(model), models.untrained(model)
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(first), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_shipped_name_means_the_shipped_model(model, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "glhf").mkdir()
    (tmp_path / "glhf" / models.BEST).write_bytes(model.read_bytes())
    (tmp_path / "rnnopt-10d").write_bytes(model.read_bytes())
    (tmp_path / "b2opt").write_bytes(model.read_bytes())
    for name in ("glhf", "rnnopt-10d"):
        assert models.find(name).parent == models.SHIPPED
    assert "10 and 30" in catalog.method("b2opt").summary
    assert models.card("./glhf").name == "glhf"
    assert type(l2e.load(Path("glhf"))).__name__ == type(l2e.load("./rnnopt-10d")).__name__ == "L2E"


def test_a_bare_name_is_never_a_path(model, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / models.BEST).write_bytes(model.read_bytes())
    with pytest.raises(UnknownNameError, match=r"write \./mine"):
        l2e.load("mine")
    assert models.find("./mine") == Path("mine") / models.BEST
    assert models.find(Path("mine")) == Path("mine") / models.BEST
    (tmp_path / "copy.safetensors").write_bytes(model.read_bytes())
    assert models.find("copy.safetensors") == Path("copy.safetensors")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a" * 5000, "no model can have the name 'aaa"),
        ("./" + "a" * 5000, "no model can have the name './aaa"),
        ("a\0b", r"unknown model|no model can have the name"),
        ("./a\0b", r"no model"),
        ("/dev/zero", "at '/dev/zero': it is not a file"),
        ("", "unknown model ''"),
        ("..", "unknown model"),
        ("../../nothing/here", "there is no model at"),
        ("/", "no model in '/'"),
        ("l2e-bose-10d", "did you mean l2e-base-10d"),
    ],
)
def test_odd_names_are_refused(name, message) -> None:
    with pytest.raises(UnknownNameError, match=message) as caught:
        l2e.load(name)
    assert len(str(caught.value)) < 600
    with pytest.raises(ValueError, match=r"model|method"):
        l2e.minimize(lambda x: 0.0, bounds=[(0, 1)], budget=5, method=name)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(model, tmp_path, value) -> None:
    def spoil(arrays) -> None:
        arrays[".schedule.operator.hidden"][0, 1] = value

    path = rewritten(model, tmp_path / "nan.safetensors", change=spoil)
    with pytest.raises(CheckpointError, match=r"nan\.safetensors is damaged: \.schedule\.operator\.hidden has entries"):
        l2e.load(path)


def test_numbers_that_are_no_weights_are_those_of_the_settings(model, tmp_path) -> None:
    def change(arrays) -> None:
        arrays[".alpha"] = np.asarray(-3.0)

    path = rewritten(model, tmp_path / "alpha.safetensors", change=change)
    with pytest.raises(CheckpointError, match=r"does not fit its settings: \.alpha is -3.0, not 0.9"):
        l2e.load(path)


def test_a_flipped_bit_is_noticed(model, tmp_path) -> None:
    content = bytearray(model.read_bytes())
    content[-5] ^= 4
    (tmp_path / "flipped.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        l2e.load(tmp_path / "flipped.safetensors")


def test_a_huge_foreign_file_is_refused_before_it_is_read(tmp_path) -> None:
    size = 3_000_000_000
    header = {
        "__metadata__": {"l2e": json.dumps({"format": "l2e-1", "class": "L2E", "facts": CARD})},
        "weights": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "huge.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + size)  # a sparse file: the disk holds only its header
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match=r"huge\.safetensors does not fit: missing"):
        l2e.load(path)
    unit = 1 if sys.platform == "darwin" else 1024
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 300_000_000


HEADERS = {
    "no JSON": "{",
    "a list": "[1]",
    "a text": '"x"',
    "nothing": "null",
    "another format": '{"format": "l2e-9", "class": "L2E", "facts": {}}',
    "no class": '{"format": "l2e-1", "facts": {}}',
    "a class that is a list": '{"format": "l2e-1", "class": ["L2E"], "facts": {}}',
    "no facts": '{"format": "l2e-1", "class": "L2E"}',
    "facts that are a list": '{"format": "l2e-1", "class": "L2E", "facts": [1]}',
    "no settings": '{"format": "l2e-1", "class": "L2E", "facts": {}}',
    "settings that are a text": '{"format": "l2e-1", "class": "L2E", "facts": {"optimizer": "base"}}',
    "nested too deeply": '{"format": "l2e-1", "class": "L2E", "facts": {"optimizer": '
    + "[" * 99_999
    + "]" * 99_999
    + "}}",
    "a number of 5000 digits": '{"format": "l2e-1", "class": "L2E", "facts": {"optimizer": {"width": '
    + "9" * 5000
    + "}}}",
}


@pytest.mark.parametrize("what", HEADERS)
def test_damaged_headers_are_checkpoint_errors(model, tmp_path, what) -> None:
    path = rewritten(model, tmp_path / "header.safetensors", HEADERS[what])
    for function in (l2e.load, models.card, models.untrained):
        with pytest.raises(CheckpointError, match=r"header\.safetensors"):
            function(path)


def optimizer(**changes) -> dict:
    return {"optimizer": {**CARD["optimizer"], **changes}}


CARDS = {
    "an unknown kind": optimizer(kind="x"),
    "a kind that is a table": optimizer(kind={}),
    "an unknown key": optimizer(opus=1),
    "a gate that is a table": optimizer(gate={}),
    "a temperature that is a text": optimizer(tau="x"),
    "a negative temperature": optimizer(tau=-1.0),
    "a share above 1": optimizer(alpha=1.5),
    "no population": optimizer(population_size=0),
    "a population of one": optimizer(population_size=1),
    "a population that is true": optimizer(population_size=True),
    "a huge population": optimizer(population_size=10**12),
    "a huge width": optimizer(width=10**18),
    "another operator": optimizer(operator="mamba"),
    "no operator": {"optimizer": {}},
    "another class": {"class": "GLHF"},
    "a class that is a list": {"class": ["L2E"]},
    "no class": {"class": ...},
    "no dimension": {"dimension": ...},
    "a dimension that is a text": {"dimension": "2"},
    "a negative dimension": {"dimension": -2},
    "a huge dimension": {"dimension": 2**31 - 1},
    "another dimension": {"dimension": 3},
    "half a generation": {"generations": 0.5},
    "no generations": {"generations": 0},
    "too many generations": {"generations": 10**30},
    "weights of another type": {"stored": "float16"},
    "weights of an unknown type": {"stored": "bfloat17"},
    "weights whose type is a list": {"stored": []},
}


@pytest.mark.parametrize("what", CARDS)
def test_odd_cards_are_checkpoint_errors_that_name_the_file(model, tmp_path, what) -> None:
    path = with_card(model, tmp_path / "odd.safetensors", **CARDS[what])
    with pytest.raises(CheckpointError, match=r"odd\.safetensors"):
        l2e.load(path)


@pytest.mark.parametrize("seed", [..., "0", -1, 0.5, None])
def test_an_odd_seed_is_a_checkpoint_error(model, tmp_path, seed) -> None:
    path = with_card(model, tmp_path / "seed.safetensors", seed=seed)
    with pytest.raises(CheckpointError, match=r"seed\.safetensors"):
        models.untrained(path)


def test_settings_that_imply_huge_weights_allocate_nothing(model) -> None:
    huge = L2ESettings("base", population_size=200_000, schedule="shared")
    with pytest.raises(CheckpointError, match="does not fit"):
        load_algorithm(model, huge, 2, 4, "float32")
