"""Where the names of methods become methods: one plain table of lazy factories."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from l2e.core.adapter import AbstractAdapter
from l2e.core.errors import UnknownNameError, has_jax, need_jax, require, unknown

if TYPE_CHECKING:
    from pathlib import Path

    from l2e.core.traced.algorithm import AbstractAlgorithm

Searcher: TypeAlias = "AbstractAlgorithm[Any] | AbstractAdapter"
DEFAULT_METHOD = "auto"
RENAMED = {
    "l2e": "the default method is called 'auto'; the paper's method is 'l2e-base-10d' or 'l2e-mamba-10d'",
}
"""Names that no method has any more, and what to write instead."""


Kind: TypeAlias = Literal["default", "native", "model", "adapter"]
Factory: TypeAlias = "Callable[[int, int, int | None], Searcher]"


@dataclass(frozen=True)
class Method:
    """A search method by name.

    **Fields:** `summary`: one line; `factory`: makes it from dimension, budget and population size or None; `kind`:
    "native" is ours in JAX, "adapter" somebody else's, with a loop of its own; `extra`: what must be installed.
    """

    summary: str
    factory: Factory
    kind: Kind = "native"
    extra: str | None = "jax"

    def build(self, dimension: int, budget: int, size: int | None) -> Searcher:
        """The method for a problem of this dimension with this budget; `size`: of its population, None for its own.

        **Raises:** `MissingExtraError` that says what to install.
        """
        if self.extra == "jax":
            need_jax()
        return self.factory(dimension, budget, size)


def _no_size(size: int | None, name: str) -> None:
    if size is not None:
        raise ValueError(f"method {name!r} has its own population size; leave population_size out")


def _random_search(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.algorithms.random_search import RandomSearch

    return RandomSearch(size or 100)


def _de(strategy: str) -> Callable[[int, int, int | None], Searcher]:
    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        from l2e.algorithms.de import DE

        return DE(population_size=size or DE.default_population(dimension), strategy=strategy)  # pyright: ignore[reportArgumentType]

    return build


def _de_paper(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.algorithms.de import DE

    _no_size(size, "de-paper")
    return DE.paper()


def _pso(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.algorithms.pso import PSO

    return PSO() if size is None else PSO(size)


def _pso_paper(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.algorithms.pso import PSO

    _no_size(size, "pso-paper")
    return PSO.paper()


def _sahlpso(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.algorithms.sahlpso import SAHLPSO

    return SAHLPSO(budget=budget, population_size=size or 40)


def _lshade(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.algorithms.lshade import LSHADE

    return LSHADE(budget=budget, population_size=size or LSHADE.default_population(dimension))


def _cmaes(restarts: str) -> Callable[[int, int, int | None], Searcher]:
    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        from l2e.algorithms.cmaes.method import CMAES

        population = size or CMAES.default_population(dimension)
        largest = population
        while restarts != "none" and largest < 512 * population and largest * 100 < budget:
            largest *= 2
        return CMAES(population, largest, restarts=restarts)  # pyright: ignore[reportArgumentType]

    return build


def _linear_es(module: str, name: str) -> Callable[[int, int, int | None], Searcher]:
    """An evolution strategy of linear cost, in a module of `l2e.algorithms.cmaes`."""

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        strategy = getattr(importlib.import_module(f"l2e.algorithms.cmaes.{module}"), name)
        return strategy(size or strategy.default_population(dimension))

    return build


def _adapter(path: str, extra: str | None, summary: str, sized: bool = True, **fields: Any) -> Method:
    """A third-party searcher; `path` is module:Class inside `l2e.adapters`, `sized` if it takes a population size."""
    module_name, class_name = path.split(":")

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        if module_name == "evosax":
            require("jax", "bench")
        searcher = getattr(importlib.import_module(f"l2e.adapters.{module_name}"), class_name)
        if size is None:
            return searcher(**fields)
        if not sized:
            raise ValueError(f"{summary}: it has no population size to set")
        return searcher(population_size=size, **fields)

    return Method(summary, build, "adapter", extra)


def _pycma(restarts: str, summary: str) -> Method:
    return _adapter("pycma:PyCMA", "bench", summary, restarts=restarts)


def _minion(algorithm: str, summary: str) -> Method:
    return _adapter("minion:Minion", "bench", f"{summary}, by minionpy", algorithm=algorithm)


def _evosax(algorithm: str, summary: str) -> Method:
    return _adapter("evosax:EvosaxES", "bench", f"{summary}, evosax's weights", algorithm=algorithm)


def _auto(dimension: int, budget: int, size: int | None) -> Searcher:
    from l2e.portfolio.method import Portfolio

    _no_size(size, DEFAULT_METHOD)
    return Portfolio.trained()


def _gated(name: str) -> Method:
    """The default method with the gate of a training or a file."""

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        from l2e.api import models
        from l2e.portfolio.method import Portfolio
        from l2e.portfolio.weights import load_gate

        _no_size(size, name)
        return Portfolio(load_gate(models.find(name)).weights)

    return Method("the default method with these weights of its gate", build, "model", None)


METHODS: dict[str, Method] = {
    "auto": Method(
        "quasi-Newton, surrogate-guided evolution and global experts under a router, told the budget",
        _auto,
        "default",
        None,
    ),
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
    "sep-cmaes": Method(
        "CMA-ES with a diagonal covariance, of linear cost, restarted", _linear_es("separable", "SepCMAES")
    ),
    "lm-ma-es": Method(
        "limited-memory matrix adaptation, of linear cost, restarted", _linear_es("limited_memory", "LMMAES")
    ),
    "pycma": _pycma("none", "pycma's CMA-ES, one run"),
    "pycma-ipop": _pycma("ipop", "pycma's CMA-ES, IPOP restarts"),
    "pycma-bipop": _pycma("bipop", "pycma's CMA-ES, BIPOP restarts"),
    "lq-cmaes": _adapter("pycma:LQCMA", "bench", "pycma's surrogate-assisted lq-CMA-ES, restarted"),
    "scipy-de": _adapter("scipy:ScipyDE", None, "scipy's differential evolution", sized=False),
    "scipy-dual-annealing": _adapter(
        "scipy:ScipyDualAnnealing", None, "scipy's dual annealing with local search", sized=False
    ),
    "scipy-slsqp": _adapter("scipy:ScipySLSQP", None, "scipy's SLSQP, restarted", sized=False),
    "scipy-lbfgsb": _adapter("scipy:ScipyLBFGSB", None, "scipy's L-BFGS-B, restarted", sized=False),
    "scipy-cobyqa": _adapter("scipy:ScipyCOBYQA", None, "scipy's COBYQA, restarted", sized=False),
    "minion-lshade": _minion("LSHADE", "L-SHADE"),
    "minion-jade": _minion("JADE", "JADE"),
    "minion-jso": _minion("jSO", "jSO"),
    "minion-nlshade-rsp": _minion("NLSHADE_RSP", "NL-SHADE-RSP"),
    "minion-arrde": _minion("ARRDE", "ARRDE"),
    "evosax-les": _evosax("LES", "learned evolution strategy"),
    "evosax-evotf": _evosax("EvoTF", "evolution transformer"),
    "evosax-cma-les": _evosax("CMAAnchoredLES", "learned evolution strategy anchored to CMA-ES"),
    "evosax-lga": _adapter("evosax:EvosaxLGA", "bench", "learned genetic algorithm, evosax's weights"),
}


def method(name: str) -> Method:
    """The method of this name, or an error with the nearest names. Models are methods, by name or by path."""
    from l2e.api import models

    if name in METHODS:
        return METHODS[name]
    if name in RENAMED:
        raise UnknownNameError(f"unknown method {name!r}: {RENAMED[name]}")
    if name in models.families():
        return _family(name)
    if "@" in name or family_model(name) is not None:
        return _transfer(name)
    if name in models.shipped() or models.is_path(name):
        return _model(name)
    raise unknown("method", name, [*METHODS, *models.families(), *models.shipped()])


def is_name(name: str) -> bool:
    """Whether a method has this name."""
    try:
        method(name)
    except ValueError:
        return False
    return True


def all_methods() -> dict[str, Method]:
    """Every method that has a name, shipped models included."""
    from l2e.api import models

    by_dimension = {name: _family(name) for name in models.families()}
    return METHODS | by_dimension | {name: _model(name) for name in models.shipped()}


def family_model(name: str) -> "Path | None":
    """The file of a family's model that a method's name is the path of; None if it names something else."""
    from l2e.api import models
    from l2e.api.family_model import family_file

    return family_file(name) if models.is_path(name) else None


def _transfer(name: str) -> Method:
    """The default method with the model of a family, or what is made of its journals, `NAME@FOLDER`."""

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        from l2e.api import transfers
        from l2e.api.family_model import FamilyModel

        _no_size(size, name)
        path = family_model(name)
        if path is None:
            return transfers.build(name, dimension)
        return transfers.of_model(FamilyModel.load(path), name, dimension)

    return Method("the default method told of solved members of a family, or a rival that is", build, "model", None)


def _model(name: str) -> Method:
    from l2e.api import models

    if models.is_gate(name):
        return _gated(name)

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        card = models.card(name)
        if card.dimension not in (None, dimension):
            raise ValueError(f"model {name!r} works in {card.dimension} dimensions, not in {dimension}")
        _no_size(size, name)
        return models.load(name, budget)

    return Method(models.card(name).summary if has_jax() else "a trained model", build, "model")


def _family(name: str) -> Method:
    """The shipped models of one name, chosen by the dimension."""
    from l2e.api import models

    members = models.families()[name]
    dimensions = " and ".join(str(dimension) for dimension in members)

    def build(dimension: int, budget: int, size: int | None) -> Searcher:
        if dimension not in members:
            raise ValueError(f"method {name!r} has weights for {dimensions} dimensions, not for {dimension}")
        return _model(members[dimension]).build(dimension, budget, size)

    return Method(f"{_summary(members[min(members)])}; the model for the dimension: {dimensions}", build, "model")


def _summary(model: str) -> str:
    """What a model is; its card can be read only where JAX is installed."""
    from l2e.api import models

    return models.card(model).settings.summary if has_jax() else "a trained model"
