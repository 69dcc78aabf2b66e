"""Whole runs inside one compiled program: native methods on JAX problems.

The program of a method holds all problems of the experiment in one dimension behind a `switch`, so that the method is
compiled once and not once per function, and does runs one after the other. One after the other, because side by
side (`vmap`) costs as much on a core (ten runs of CMA-ES on f10 in 10-D, 20,000 evaluations each: 0.25 against 0.22
CPU seconds), makes finished runs wait for the longest, and rounds differently for each number of runs. This way a
run's trace does not depend on what else is in the call, and is that of the host loop: barriers keep the compiler from
mixing the three steps of a generation, which are programs of their own there.
"""

import functools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from l2e.api.catalog import Searcher
from l2e.bench.methods import build
from l2e.bench.record import RunRecord, RunSpec, improvements, now, versions
from l2e.bench.suite import build_problem
from l2e.core.box import Box
from l2e.core.traced import pack, runtime
from l2e.core.traced.algorithm import AbstractAlgorithm
from l2e.core.traced.keys import as_key
from l2e.core.traced.loop import next_batch, told_values
from l2e.core.traced.problem import AbstractTraceableProblem, stack
from l2e.core.traced.types import Key

LANES = 20
"""Runs in one call: enough to make the call cheap, few enough to lose little when it is killed."""
BUFFERED = 4_000_000
"""Values that one call may keep, 8 bytes each."""

barrier = jax.lax.optimization_barrier


class Lane(NamedTuple):
    """One run: which problem (group and place in it), its box, its key."""

    group: Any
    member: Any
    space: Box
    key: Key


class ProblemSet(NamedTuple):
    """Problems of one dimension; those of one structure are stacked."""

    groups: tuple[AbstractTraceableProblem, ...]
    places: dict[str, tuple[int, int]]
    spaces: dict[str, Box]


@functools.lru_cache(maxsize=8)
def problem_set(names: tuple[str, ...]) -> ProblemSet:
    """Build the problems, those of one structure together: they share compiled code."""
    problems: dict[str, Any] = {name: build_problem(name) for name in names}
    families: dict[Any, list[str]] = {}
    for name, problem in problems.items():
        arrays, static = pack.split(problem)
        families.setdefault((static, str([(leaf.shape, leaf.dtype) for leaf in arrays])), []).append(name)
    groups = tuple(stack([problems[name] for name in members]) for members in families.values())
    places = {name: (i, j) for i, members in enumerate(families.values()) for j, name in enumerate(members)}
    return ProblemSet(groups, places, {name: problem.space for name, problem in problems.items()})


class Batch(NamedTuple):
    """Results of a batch of runs: evaluations used, all values of each in order (padded), CPU and wall time of all."""

    used: np.ndarray
    values: np.ndarray
    cpu_seconds: float
    wall_seconds: float


def run_compiled(
    specs: Sequence[RunSpec], names: Sequence[str], optimizer: "Searcher | None" = None
) -> list[RunRecord]:
    """Run one method with one budget on some problems of a set, seeds as given.

    **Arguments:** `optimizer`: what the specs are about; built by the method's name if not given.
    """
    first, count = specs[0], len(specs)
    if optimizer is None:
        optimizer = build(first.method, problem_set(tuple(names)).spaces[first.problem].dimension, first.budget)
    assert isinstance(optimizer, AbstractAlgorithm)
    batch = run_batch(optimizer, [(spec.problem, spec.seed) for spec in specs], names, first.budget)
    cpu, wall = batch.cpu_seconds / count, batch.wall_seconds / count
    records = []
    for spec, used, row in zip(specs, batch.used, batch.values, strict=True):
        seen = row[:used]
        reason = "budget" if used == spec.budget else "converged"
        facts = (int(used), int(np.isinf(seen).sum()), reason, cpu, wall, "compiled", versions(), None, now())
        records.append(RunRecord(spec, *improvements(seen), *facts))
    return records


def run_batch(
    optimizer: AbstractAlgorithm[Any], runs: Sequence[tuple[str, int]], names: Sequence[str], budget: int
) -> Batch:
    """Run an optimizer on problems of a set, given as pairs of name and seed, at most `capacity(budget)`."""
    chosen = problem_set(tuple(names))
    with runtime.float64():
        lanes = _lanes(runs, chosen, capacity(budget))
        program, arrays = _program(optimizer, chosen, budget, lanes)
        wall, cpu = time.perf_counter(), time.process_time()
        used, values = (np.asarray(part)[: len(runs)] for part in program(*arrays, lanes, jnp.asarray(len(runs))))
    return Batch(used, values, time.process_time() - cpu, time.perf_counter() - wall)


def capacity(budget: int) -> int:
    """How many runs one call can hold."""
    return max(1, min(LANES, BUFFERED // budget))


def _lanes(runs: Sequence[tuple[str, int]], chosen: ProblemSet, count: int) -> Lane:
    """The runs, and empty places up to the number for which the program is made."""
    runs = [*runs, *[runs[0]] * (count - len(runs))]
    places = np.asarray([chosen.places[problem] for problem, _ in runs])
    spaces = [chosen.spaces[problem] for problem, _ in runs]
    space = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf, jnp.float64) for leaf in leaves]), *spaces)
    keys = jnp.stack([as_key(seed) for _, seed in runs])
    return Lane(jnp.asarray(places[:, 0]), jnp.asarray(places[:, 1]), space, keys)


_PROGRAMS: dict[Any, Any] = {}


def _program(optimizer: AbstractAlgorithm[Any], chosen: ProblemSet, budget: int, lanes: Lane) -> tuple[Any, Any]:
    """The compiled program and its first arguments; compiled here, so that runs can be timed without it."""
    arrays, static = pack.split(optimizer)
    problems = [pack.split(group) for group in chosen.groups]
    statics = tuple(part[1] for part in problems)
    given = (list(arrays), [list(part[0]) for part in problems])
    shapes = jax.tree.map(np.shape, (given, lanes))
    name = (static, statics, budget, str(shapes))
    if name not in _PROGRAMS:
        if len(_PROGRAMS) > 50:
            _PROGRAMS.clear()
        _PROGRAMS[name] = _run.jitted.lower(static, statics, budget, *given, lanes, jnp.asarray(1)).compile()
    return _PROGRAMS[name], given


@functools.partial(runtime.small_jit, static_argnums=(0, 1, 2))
def _run(static: Any, statics: Any, budget: int, arrays: Any, problems: Any, lanes: Lane, count: Any) -> Any:
    optimizer = pack.join(arrays, static)
    groups = [pack.join(leaves, facts) for leaves, facts in zip(problems, statics, strict=True)]
    one = functools.partial(_one, optimizer, groups, budget)

    def fill(place: Any, results: Any) -> Any:
        result = one(jax.tree.map(lambda leaf: leaf[place], lanes))
        return jax.tree.map(lambda all_of, new: all_of.at[place].set(new), results, result)

    shapes = jax.eval_shape(one, jax.tree.map(lambda leaf: leaf[0], lanes))
    empty = jax.tree.map(lambda shape: jnp.zeros((len(lanes.key), *shape.shape), shape.dtype), shapes)
    return jax.lax.fori_loop(0, count, fill, empty)


def _one(optimizer: AbstractAlgorithm[Any], groups: list[Any], budget: int, lane: Lane) -> tuple[Any, Any]:
    """One run: how many evaluations it used, and the values of all of them."""
    state = optimizer.init(lane.space, lane.key, None)
    layout = pack.layout(state)
    packed = barrier(pack.pack(state))
    batch = barrier(next_batch(optimizer, pack.unpack(packed, layout)))
    rows = batch.shape[0] - 1
    branches = [functools.partial(_evaluate_member, group) for group in groups]

    def going_on(carry: Any) -> Any:
        _, batch, used, _ = carry
        return (used < budget) & (batch[-1, 0] > 0)

    def generation(carry: Any) -> Any:
        packed, batch, used, values = carry
        allowed = jnp.minimum(batch[-1, 0].astype(used.dtype), budget - used)
        raw = barrier(jax.lax.switch(lane.group, branches, lane.member, barrier(batch[:-1])))
        told = barrier(told_values(raw, allowed)[0])
        state = optimizer.tell(pack.unpack(packed, layout), told)
        packed, batch = barrier((pack.pack(state), next_batch(optimizer, state)))
        return packed, batch, used + allowed, jax.lax.dynamic_update_slice(values, told, (used,))

    empty = jnp.full((budget + rows,), jnp.inf)
    start = (packed, batch, jnp.zeros((), jnp.int32), empty)
    _, _, used, values = jax.lax.while_loop(going_on, generation, start)
    return used, values


def _evaluate_member(group: Any, member: Any, points: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[member], group).evaluate(points)
