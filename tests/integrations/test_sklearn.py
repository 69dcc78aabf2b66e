"""The search over the parameters of scikit-learn estimators."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import make_classification
from sklearn.svm import SVC

import l2e
from l2e.integrations.sklearn import L2ESearchCV

SPACE: dict[str, Any] = {
    "C": l2e.Log(1e-3, 1e3),
    "gamma": l2e.Log(1e-4, 10),
    "kernel": ["rbf", "linear"],
    "shrinking": [True],
}


def data() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(80, 6, random_state=0)


def test_finds_parameters_and_refits_the_estimator() -> None:
    x, y = data()
    search = L2ESearchCV(SVC(), SPACE, n_iter=12, cv=3, random_state=0).fit(x, y)
    assert len(search.cv_results_["params"]) == 12
    assert search.best_params_["kernel"] in ("rbf", "linear")
    assert search.best_params_["shrinking"] is True
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.score(x, y) > 0.8


def test_the_same_seed_tries_the_same_candidates() -> None:
    x, y = data()
    first, second = (L2ESearchCV(SVC(), SPACE, n_iter=6, cv=2, random_state=1).fit(x, y) for _ in range(2))
    assert first.cv_results_["params"] == second.cv_results_["params"]


def test_several_scores_need_the_name_of_one() -> None:
    x, y = data()
    scores = ["accuracy", "f1"]
    named = L2ESearchCV(SVC(), SPACE, n_iter=4, cv=2, scoring=scores, refit="f1", random_state=0).fit(x, y)
    assert named.best_score_ == max(named.cv_results_["mean_test_f1"])
    with pytest.raises(ValueError, match="refit"):
        L2ESearchCV(SVC(), SPACE, n_iter=4, cv=2, scoring=scores, refit=False).fit(x, y)
