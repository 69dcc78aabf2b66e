"""Draw the README's figure from the recorded contests of the default method: shares of targets at four told budgets.

    python experiments/headline_figure.py --out results/flagship.png

A panel per experiment: methods that are told the budget (`l2e`, L-SHADE) search differently in each.
"""

import argparse
from pathlib import Path

from l2e.bench.store import read_store
from l2e.report.collection import collect
from l2e.report.figures import _pyplot
from l2e.report.look import looks
from l2e.report.targets import BUDGETS, axis, reached

METHODS = {
    "l2e": "l2e",
    "lq-cmaes": "lq-CMA-ES",
    "scipy-slsqp": "SLSQP, restarted",
    "pycma-bipop": "BIPOP-CMA-ES",
    "minion-lshade": "L-SHADE",
}


def main() -> None:
    """Read the records, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--out", type=Path, default=Path("results/flagship.png"))
    arguments = parser.parse_args()
    plt = _pyplot()
    figure, panels = plt.subplots(1, len(BUDGETS), figsize=(12, 3.6), layout="constrained", sharey=True)
    look = looks(tuple(METHODS))
    for panel, budget in zip(panels, BUDGETS, strict=True):
        results = collect(read_store(arguments.results / f"flagship-{budget}d"))
        places = axis(results.runs, 120)
        for method, name in METHODS.items():
            runs = [run for run in results.runs if run.method == method]
            if runs:
                wide = 2.6 if method == "l2e" else 1.5
                panel.plot(places, reached(runs, places), color=look[method].color, linewidth=wide, label=name)
        panel.set_xscale("log")
        panel.set_xlim(1, budget)
        panel.set_title(f"told {budget} evaluations per dimension", fontsize=10)
        panel.set_xlabel("evaluations / dimension", fontsize=9)
        panel.grid(visible=True, alpha=0.25)
        panel.tick_params(labelsize=8)
    panels[0].set_ylabel("share of targets reached", fontsize=9)
    panels[0].set_ylim(0, 0.85)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(METHODS), frameon=False)
    figure.savefig(arguments.out, dpi=110)


if __name__ == "__main__":
    main()
