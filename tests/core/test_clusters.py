"""Evaluations by joblib, Dask and Ray, on real clusters of this machine; skipped where they are not installed."""

import math
import os
import sys

import numpy as np
import pytest
from helpers.objectives import crashing_valley, valley

import l2e
from l2e.core.workers.choose import crew_size

BOUNDS = [(-5.0, 5.0)] * 4
pytestmark = pytest.mark.filterwarnings("ignore")


def expected(workers: int):
    return l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=3, workers=(map, workers)).evaluations.x


def test_joblib_gives_the_same_search() -> None:
    joblib = pytest.importorskip("joblib")
    parallel = joblib.Parallel(n_jobs=2, backend="threading")
    assert crew_size(parallel) == 2
    result = l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=3, workers=parallel)
    np.testing.assert_array_equal(result.evaluations.x, expected(2))


def test_two_workers_of_dask_give_the_same_search() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert crew_size(client) == 2
        result = l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=3, workers=client)
    np.testing.assert_array_equal(result.evaluations.x, expected(2))


def test_two_nodes_of_ray_give_the_same_search_and_survive_dead_processes() -> None:
    ray = pytest.importorskip("ray")
    utilities = pytest.importorskip("ray.cluster_utils")
    cluster = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}  # tasks import the objectives of these tests
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": path})
    try:
        assert crew_size(ray) == 2
        result = l2e.minimize(valley, bounds=BOUNDS, budget=60, rng=3, workers=ray)
        assert result.failures == []
        np.testing.assert_array_equal(result.evaluations.x, expected(2))
        from l2e.core.box import box
        from l2e.core.evaluator import Evaluator
        from l2e.core.workers.ray_tasks import RayTasks

        evaluate = Evaluator(crashing_valley, box(BOUNDS), 9, crew=RayTasks(crashing_valley, 2))
        values = evaluate(np.asarray([[5.0, 1, 1, 1], [1.0, 1, 1, 1]]))
        assert values.tolist() == [math.inf, 0.0]
        assert evaluate.failures[0].reason.startswith("ended its process")
    finally:
        ray.shutdown()
        cluster.shutdown()
