"""Commands that run small studies: `l2e score`, `ablate`, `diagnose`, `demo`."""

from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from l2e.api import catalog
from l2e.cli.console import at_least_one, plain_console
from l2e.core.errors import require


def score(
    method: Positional[str],
    /,
    dimension: Literal[10, 30] = 10,
    budget: int | None = None,
    seeds: int = 10,
    train: bool = False,
    out: Path | None = None,
) -> int:
    """Run a method on the paper's BBOB test functions, or show what a family's model was worth on left-out members.

    Args:
        method: The method's name (see l2e methods), or the file of a family's model (see l2e learn).
        dimension: 10 or 30, as in the paper.
        budget: Evaluations per run; the paper's 20000 in 10-D and 50000 in 30-D if not given.
        seeds: Runs per function.
        train: The paper's eight training functions instead of its sixteen test functions.
        out: Write all gaps as JSON here.
    """
    from l2e.api.family_model import family_file

    console = plain_console()
    found = family_file(method)
    if found is not None:
        from l2e.api.family_model import FamilyModel
        from l2e.cli.learn import score_table

        console.print(score_table(FamilyModel.load(found)))
        return 0
    from l2e.bench import score as scoring

    at_least_one(seeds=seeds, budget=1 if budget is None else budget)
    evaluations = {10: 20_000, 30: 50_000}[dimension] if budget is None else budget
    result = scoring.score(method, dimension, evaluations, seeds, train, console)
    console.print(scoring.table(result))
    if out is not None:
        result.save(out)
    return 0


def ablate(path: Positional[Path], /, out: Path, progress: bool = True) -> int:
    """Train and score the variants of an ablation file; write a table. The same command goes on where it was.

    Args:
        path: The ablation, e.g. experiments/ablation-components.toml.
        out: Folder for the trainings, their scores, ablation.json and ablation.md.
        progress: Show progress bars.
    """
    from l2e.core.traced.compilations import KEPT
    from l2e.report.ablation import ablate as run

    with KEPT:
        return run(path, out, plain_console(), progress)


def diagnose(
    model: Positional[str],
    /,
    out: Path = Path("diagnosis"),
    functions: tuple[int, ...] = (1, 2, 15, 21),
    samples: int = 20,
    seed: int = 0,
) -> int:
    """Measure the stability of a model: Lipschitz estimates, fixed-point residuals, gate statistics, one picture.

    Args:
        model: A shipped model, the folder of a training, or a weights file (see l2e models).
        out: Folder for diagnosis.png and diagnosis.json.
        functions: Training functions of the paper to run on.
        samples: Generations at which Jacobians are looked at.
        seed: Of the runs.
    """
    from l2e.api import models as store
    from l2e.report.diagnose import diagnose as look

    card = store.card(model)
    look(
        store.load(model),
        name=card.name,
        out=out,
        console=plain_console(),
        dimension=card.metadata["dimension"],
        functions=functions,
        generations=card.metadata["generations"] + 1,
        samples=samples,
        seed=seed,
    )
    return 0


def demo(
    out: Path = Path("demo"),
    dimension: int = 5,
    budget: int = 5000,
    seeds: int = 5,
    method: str = catalog.DEFAULT_METHOD,
) -> int:
    """Minimise six functions with the default and with CMA-ES; write a picture and a page.

    Args:
        out: Folder for demo.png and demo.html.
        dimension: Number of coordinates.
        budget: Evaluations per run.
        seeds: Runs per function and method.
        method: The method to show beside CMA-ES.
    """
    from l2e.report.demo import run_demo

    at_least_one(seeds=seeds, budget=budget)
    catalog.method(method)
    for module in ("matplotlib", "plotly"):
        require(module, "report")
    run_demo(out, dimension, budget, seeds, method, plain_console())
    return 0
