import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

import l2e
from l2e.portfolio.method import Portfolio
from l2e.portfolio.policy import Policy
from l2e.portfolio.threads import one_thread

BLAS = ThreadpoolController().select(user_api="blas")


def threads():
    return {library.num_threads for library in BLAS.lib_controllers}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_the_method_computes_with_one_thread_and_the_users_function_does_not():
    inside, outside = [], []

    class Watching(Policy):
        def has(self, part):
            if part != "gate":  # asked once, before anything is computed
                inside.append(threads())
            return Policy.has(self, part)

    def function(x):
        outside.append(threads())
        return float(x @ x)

    l2e.minimize(function, bounds=[(-5, 5)] * 4, budget=300, rng=0, method=Portfolio.trained(Watching()))
    assert len(inside) > 10
    assert all(count == {1} for count in inside)
    assert len(outside) == 300
    assert all(count == {2} for count in outside)
    assert threads() == {2}


def test_the_limit_is_lifted_after_an_error():
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == {2}
    with one_thread(), one_thread():
        assert threads() == {1}
    assert threads() == {2}


def test_searches_in_several_threads_leave_no_limit_behind():
    found = []

    def search():
        result = l2e.minimize(lambda x: float(((x - 1) ** 2).sum()), bounds=[(-5, 5)] * 4, budget=600, rng=0)
        found.append(result.fun)

    several = [threading.Thread(target=search) for _ in range(6)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1
    assert threads() == {2}


def test_the_number_of_threads_does_not_change_a_search():
    def value(limit):
        with threadpool_limits(limit, user_api="blas"):
            return l2e.minimize(lambda x: float(((x - 1) ** 2).sum()), bounds=[(-5, 5)] * 60, budget=900, rng=0)

    one, two = value(1), value(2)
    np.testing.assert_array_equal(one.x, two.x)
