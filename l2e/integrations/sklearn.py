"""The default method as a search over the parameters of a scikit-learn estimator.

space = {"C": l2e.Log(1e-3, 1e3), "gamma": l2e.Log(1e-4, 10)}
search = l2e.integrations.sklearn.L2ESearchCV(SVC(), space, n_iter=40)
search.fit(X, y).best_params_
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from l2e.api.ask_tell import Optimizer
from l2e.core.errors import require
from l2e.core.parameters import Choice, Fixed
from l2e.core.space import Space

selection: Any = require("sklearn.model_selection._search", "sklearn")


class L2ESearchCV(selection.BaseSearchCV):
    """A search by cross-validation, in the shape of `RandomizedSearchCV`.

    **Arguments:** as of `RandomizedSearchCV`, but for these.

    - `param_space`: parameters by name: `l2e.Log`, `l2e.Int`, `l2e.Choice` and so on, a pair `(low, high)` for a float,
      or a list of options.
    - `n_iter`: how many candidates are tried, with which the method plans.
    - `random_state`: an integer, or None for a fresh search each time.

    Candidates come one after the other or in small batches; `n_jobs` evaluates the folds of a batch at once.
    """

    def __init__(
        self,
        estimator: Any,
        param_space: Mapping[str, Any],
        *,
        n_iter: int = 50,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: int | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ):
        self.param_space = param_space
        self.n_iter = n_iter
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Callable[[list[dict[str, Any]]], Mapping[str, Any]]) -> None:
        names = list(self.param_space)
        each = [Choice(*one) if isinstance(one, list) and len(one) > 1 else one for one in self.param_space.values()]
        each = [Fixed(one[0]) if isinstance(one, list) and len(one) == 1 else one for one in each]
        space = Space({f"p{i}": one for i, one in enumerate(each)})
        search = Optimizer(bounds=space, budget=self.n_iter, rng=self.random_state)
        tried = 0
        while not search.stop():
            batch = search.ask()
            results = evaluate_candidates([{name: one[f"p{i}"] for i, name in enumerate(names)} for one in batch])
            scores = np.asarray(results[self._score()], dtype=np.float64)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # scikit-learn warns of failed fits itself
                search.tell(batch, -scores[tried : tried + len(batch)])
            tried += len(batch)

    def _score(self) -> str:
        """The name of the score that is searched for."""
        several = isinstance(self.scoring, list | tuple | set | Mapping)
        if not several:
            return "mean_test_score"
        if not isinstance(self.refit, str):
            raise ValueError("with several scores, refit must name the one that is searched for")
        return f"mean_test_{self.refit}"
