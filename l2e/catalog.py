"""The only place where names become things: plain dicts of lazy factories."""

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from l2e import models
from l2e._names import unknown
from l2e.contestant import AbstractContestant
from l2e.optimizer import AbstractOptimizer
from l2e.problem import AbstractTraceableProblem

Searcher: TypeAlias = "AbstractOptimizer | AbstractContestant"
DEFAULT_METHOD = "l2e"


@dataclass(frozen=True)
class Method:
    """A search method by name; `build(dimension, budget, population_size or None)` makes it."""

    summary: str
    build: Callable[[int, int, int | None], Searcher]
    extra: str | None = None  # the optional dependencies it needs
    native: bool = True  # ours in JAX: ask/tell, checkpoints, vmap
    program: bool = False  # ours on the host: ask/tell and checkpoints


@dataclass(frozen=True)
class Family:
    """A family of problems by name; a problem of it is written `name:f10:i3:d20`."""

    summary: str
    example: str
    build: Callable[..., AbstractTraceableProblem]
    fields: tuple[str, ...]


def _no_size(size: int | None, name: str) -> None:
    if size is not None:
        raise ValueError(f"method {name!r} has its own population size; leave population_size out")


def _random_search(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.optimizers.random_search import RandomSearch

    return RandomSearch(size or 100)


def _de(strategy: str) -> Callable[[int, int, int | None], Searcher]:
    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        from l2e.optimizers.de import DE

        return DE(population_size=size or DE.default_population(dimension), strategy=strategy)  # pyright: ignore[reportArgumentType]

    return build


def _de_paper(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.optimizers.de import DE

    _no_size(size, "de-paper")
    return DE.paper()


def _pso(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.optimizers.pso import PSO

    return PSO() if size is None else PSO(size)


def _pso_paper(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.optimizers.pso import PSO

    _no_size(size, "pso-paper")
    return PSO.paper()


def _sahlpso(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.optimizers.sahlpso import SAHLPSO

    return SAHLPSO(budget=budget, population_size=size or 40)


def _lshade(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.optimizers.lshade import LSHADE

    return LSHADE(budget=budget, population_size=size or LSHADE.default_population(dimension))


def _cmaes(restarts: str) -> Callable[[int, int, int | None], Searcher]:
    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        from l2e.optimizers.cmaes import CMAES

        population = size or CMAES.default_population(dimension)
        largest = population
        while restarts != "none" and largest < 512 * population and largest * 100 < budget:
            largest *= 2
        return CMAES(population, largest, restarts=restarts)  # pyright: ignore[reportArgumentType]

    return build


def _adapter(path: str, extra: str | None, summary: str, sized: bool = True, **fields: Any) -> Method:
    """A third-party searcher; `path` is module:Class inside `l2e.adapters`, `sized` if it takes a population size."""
    module_name, class_name = path.split(":")

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        searcher = getattr(importlib.import_module(f"l2e.adapters.{module_name}"), class_name)
        if size is None:
            return searcher(**fields)
        if not sized:
            raise ValueError(f"{summary}: it has no population size to set")
        return searcher(population_size=size, **fields)

    return Method(summary, build, extra, native=False)


def _pycma(restarts: str, summary: str) -> Method:
    return _adapter("pycma:PyCMA", "bench", summary, restarts=restarts)


def _minion(algorithm: str, summary: str) -> Method:
    return _adapter("minion:Minion", "bench", f"{summary}, by minionpy", algorithm=algorithm)


def _evosax(algorithm: str, summary: str) -> Method:
    return _adapter("evosax_searchers:EvosaxES", "bench", f"{summary}, evosax's weights", algorithm=algorithm)


def _without(part: str, summary: str) -> Method:
    """The default method with one of its parts switched off, for comparisons; `part` is a field of `Portfolio`."""
    name = f"l2e-without-{part.removesuffix('_search')}"
    return Method(f"l2e without {summary}", _portfolio(name, **{part: False}), native=False, program=True)


def _portfolio(name: str, **fields: Any) -> Callable[[int, int, int | None], Searcher]:
    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        from l2e.experts.portfolio import Portfolio

        _no_size(size, name)
        return Portfolio(**fields)

    return build


METHODS: dict[str, Method] = {
    "l2e": Method(
        "quasi-Newton, surrogate-guided evolution and global experts under a router, told the budget",
        _portfolio("l2e"),
        native=False,
        program=True,
    ),
    "l2e-untrained": Method(
        "l2e without its trained gate, which is asked with 60 to 100 D evaluations",
        _portfolio("l2e-untrained", gate=False, residual=False),
        native=False,
        program=True,
    ),
    "l2e-residual": Method(
        "l2e with the trained residual in its local evolutionary searches; not better than l2e so far",
        _portfolio("l2e-residual", residual=True),
        native=False,
        program=True,
    ),
    "l2e-without-numerical": _without("numerical", "quasi-Newton"),
    "l2e-without-surrogate": _without("surrogate", "the fitted quadratic in its evolutionary searches"),
    "l2e-without-separable": _without("separable", "coordinate-wise search"),
    "l2e-without-global": _without("global_search", "other starts and global experts"),
    "l2e-without-scout": _without("scout", "an evolutionary search before quasi-Newton with 40 to 60 D evaluations"),
    "random-search": Method("uniform random points", _random_search),
    "de": Method("differential evolution, rand/1/bin", _de("rand/1/bin")),
    "de-pbest": Method("differential evolution, current-to-pbest/1/bin", _de("current-to-pbest/1/bin")),
    "de-paper": Method("the tournament DE of the paper's platform", _de_paper),
    "pso": Method("particle swarm with constriction", _pso),
    "pso-paper": Method("the inertia-free swarm of the paper's platform", _pso_paper),
    "sahlpso": Method("self-adaptive two-role hybrid-learning particle swarm", _sahlpso),
    "lshade": Method("L-SHADE, success-history DE with shrinking population", _lshade),
    "cmaes": Method("CMA-ES, full covariance, active; one run, stops when converged", _cmaes("none")),
    "cmaes-ipop": Method("CMA-ES restarted with doubled population", _cmaes("ipop")),
    "cmaes-bipop": Method("CMA-ES restarted with large and small populations", _cmaes("bipop")),
    "pycma": _pycma("none", "pycma's CMA-ES, one run"),
    "pycma-ipop": _pycma("ipop", "pycma's CMA-ES, IPOP restarts"),
    "pycma-bipop": _pycma("bipop", "pycma's CMA-ES, BIPOP restarts"),
    "lq-cmaes": _adapter("pycma:LQCMA", "bench", "pycma's surrogate-assisted lq-CMA-ES, restarted"),
    "scipy-de": _adapter("scipy_searchers:ScipyDE", None, "scipy's differential evolution", sized=False),
    "scipy-dual-annealing": _adapter(
        "scipy_searchers:ScipyDualAnnealing", None, "scipy's dual annealing with local search", sized=False
    ),
    "scipy-slsqp": _adapter("scipy_searchers:ScipySLSQP", None, "scipy's SLSQP, restarted", sized=False),
    "minion-lshade": _minion("LSHADE", "L-SHADE"),
    "minion-jade": _minion("JADE", "JADE"),
    "minion-jso": _minion("jSO", "jSO"),
    "minion-nlshade-rsp": _minion("NLSHADE_RSP", "NL-SHADE-RSP"),
    "minion-arrde": _minion("ARRDE", "ARRDE"),
    "evosax-les": _evosax("LES", "learned evolution strategy"),
    "evosax-evotf": _evosax("EvoTF", "evolution transformer"),
    "evosax-cma-les": _evosax("CMAAnchoredLES", "learned evolution strategy anchored to CMA-ES"),
    "evosax-lga": _adapter("evosax_searchers:EvosaxLGA", "bench", "learned genetic algorithm, evosax's weights"),
}


def method(name: str) -> Method:
    """The method of this name, or an error with the nearest names. Models are methods, by name or by path."""
    if name in METHODS:
        return METHODS[name]
    if name in models.shipped() or Path(name).exists():
        return _model(name)
    if name in models.families():
        return _family(name)
    raise unknown("method", name, [*METHODS, *models.families(), *models.shipped()])


def all_methods() -> dict[str, Method]:
    """Every method that has a name, shipped models included."""
    by_dimension = {name: _family(name) for name in models.families()}
    return METHODS | by_dimension | {name: _model(name) for name in models.shipped()}


def _model(name: str) -> Method:
    if models.is_program(name):
        path = str(models.find(name))
        part = "gate" if models.is_gate(name) else "residual"
        fields = {part: True, f"{part}_weights": path}
        return Method("l2e with these weights", _portfolio(name, **fields), native=False, program=True)
    card = models.card(name)

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        if card.dimension not in (None, dimension):
            raise ValueError(f"model {name!r} works in {card.dimension} dimensions, not in {dimension}")
        from l2e.peers.controlled import AbstractControlled

        _no_size(size, name)
        model = models.load(name)
        return model.with_budget(budget) if isinstance(model, AbstractControlled) else model

    return Method(card.summary, build)


def _family(name: str) -> Method:
    """The shipped models of one name, chosen by the dimension."""
    members = models.families()[name]
    dimensions = " and ".join(str(dimension) for dimension in members)

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        if dimension not in members:
            raise ValueError(f"method {name!r} has weights for {dimensions} dimensions, not for {dimension}")
        return _model(members[dimension]).build(dimension, budget, size)

    return Method(
        f"{models.card(members[min(members)]).table.summary}, the model for the dimension: {dimensions}", build
    )


def _bbob(function: int, instance: int, dimension: int) -> AbstractTraceableProblem:
    from l2e.problems import bbob

    return bbob(function=function, instance=instance, dimension=dimension)


def _paper_bbob(function: int, dimension: int) -> AbstractTraceableProblem:
    from l2e.problems import paper_bbob

    return paper_bbob(function=function, dimension=dimension)


FAMILIES: dict[str, Family] = {
    "bbob": Family(
        "COCO's 24 BBOB functions, official instances, any dimension from 2",
        "bbob:f10:i3:d20",
        _bbob,
        ("function", "instance", "dimension"),
    ),
    "paper-bbob": Family(
        "the instances of the L2E paper's BBOB-10D and BBOB-30D",
        "paper-bbob:f10:d10",
        _paper_bbob,
        ("function", "dimension"),
    ),
}
FIELD_LETTERS = {"f": "function", "i": "instance", "d": "dimension"}
FIELD_DEFAULTS = {"instance": 1, "dimension": 10}


def problem(name: str) -> AbstractTraceableProblem:
    """The problem written as `family:f10:i3:d20`; instance 1 and dimension 10 unless given."""
    head, *parts = name.split(":")
    if head not in FAMILIES:
        raise unknown("problem family", head, FAMILIES)
    family = FAMILIES[head]
    given = {}
    for part in parts:
        match = re.fullmatch(r"([a-z])(\d+)", part)
        field = FIELD_LETTERS.get(match[1]) if match else None
        if match is None or field not in family.fields or field in given:
            raise ValueError(f"{part!r} in problem {name!r} is not understood; write it like {family.example}")
        given[field] = int(match[2])
    fields = {field: given.get(field, FIELD_DEFAULTS.get(field)) for field in family.fields}
    if fields["function"] is None:
        raise ValueError(f"problem {name!r} names no function; write it like {family.example}")
    return family.build(**fields)
