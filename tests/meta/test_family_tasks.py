"""Members of families as tasks: the same values in JAX and through a callback as the families' own code has."""

from typing import Any

import jax
import numpy as np
import pytest

from l2e.meta import family_tasks
from l2e.problems.families import FAMILIES
from l2e.problems.families.member import drawn
from l2e.problems.families.pendulum import FAMILY, Pendulum


def test_a_pendulum_in_jax_is_the_pendulum() -> None:
    space = FAMILIES["pendulum"](0).space
    points = np.asarray(space.from_unit(np.random.default_rng(0).random((6, 12))))
    for seed in (0, 1003):
        context: Any = np.array(Pendulum(drawn(FAMILY, seed)).context)
        traced = family_tasks.TracedPendulum(space, context)
        np.testing.assert_allclose(traced(points), FAMILIES["pendulum"](seed)(points), rtol=1e-9)


def test_tasks_are_the_members_that_are_learned_from() -> None:
    tasks = family_tasks.pendulum(12)
    assert tasks.dimension == 12
    drawn_contexts = {
        tuple(np.asarray(jax.tree.leaves(tasks.draw(jax.random.key(i)))[-2]).round(4).tolist()) for i in range(30)
    }
    own = {
        tuple(np.asarray(Pendulum(drawn(FAMILY, s)).context, np.float32).round(4).tolist())
        for s in range(family_tasks.MEMBERS)
    }
    assert len(drawn_contexts) > 10
    assert drawn_contexts <= own


@pytest.mark.parametrize("name", ["truss", "seir"])
def test_members_as_python_functions_have_their_own_values(name: str) -> None:
    tasks = getattr(family_tasks, name)(FAMILIES[name](0).dimension)
    problem = tasks.draw(jax.random.key(3))[0][0]
    member = int(np.asarray(problem.parameters))
    points = np.asarray(problem.space.from_unit(np.random.default_rng(0).random((3, tasks.dimension))))
    np.testing.assert_allclose(problem(points), FAMILIES[name](member)(points), rtol=1e-5)
