"""Draw the pictures of the pages about the worlds of the paper.

python tools/draw_worlds.py flights      # docs/results/uav-flights.png and uav-groups.png, from results/paper-uav
python tools/draw_worlds.py networks     # docs/results/surrogate-mismatch.png; minimises 32 networks
python tools/draw_worlds.py learning     # docs/results/robots-learning.png, from results/paper-neuroevolution
python tools/draw_worlds.py lsgo         # docs/results/lsgo-*.png, from results/paper-lsgo-1000d; needs L2E_LSGO_DATA
python tools/draw_worlds.py papers       # docs/results/paper-bbob-*.png, from results/paper-bbob-10d and paper-bbob-30d
python tools/draw_worlds.py walk         # docs/results/robots-walk.png; repeats a recorded run, needs the extra brax
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import jax
import numpy as np
from PIL import Image

import l2e
from l2e.bench.store import read_store
from l2e.problems import PAPER_SURROGATE_TEST
from l2e.problems._surrogate.suite import cards
from l2e.report import uav_figures
from l2e.report.collection import Results, collect_contests
from l2e.report.figures import draw_all
from l2e.report.policy_figures import draw_policies, policy_strip
from l2e.report.styles import pyplot

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "results"
TERRAIN = "uav:f20:i1:d30"


def flights() -> None:
    """The best flights over one terrain, and the radar over the groups."""
    results = collect_contests(read_store(ROOT / "results" / "paper-uav"), only=["large"])[0]
    problem = l2e.problems.uav(20)
    best = [min(results.cells[TERRAIN, method], key=lambda run: run.final) for method in results.complete]
    flown = sorted(best, key=lambda run: run.final)[: uav_figures.MOST_METHODS]
    points = {run.method: uav_figures.repeated(run, problem) for run in flown}
    found = {method: point for method, point in points.items() if point is not None}
    uav_figures.uav_figure(problem, found, OUT / "uav-flights.png", "2,500 evaluations")
    _shrink(OUT / "uav-flights.png")
    shares = uav_figures.shares_by_group(results, list(results.ordered))
    uav_figures.draw_groups(shares, results.methods, OUT / "uav-groups.png")


def _shrink(path: Path) -> None:
    """Make a picture fit for a page: 1,400 pixels wide, 256 colours."""
    picture = Image.open(path).convert("RGB")
    picture = picture.resize((1400, round(1400 * picture.height / picture.width)), Image.Resampling.LANCZOS)
    picture.quantize(256).save(path, optimize=True)


def networks() -> None:
    """What minimising a network is worth for the function behind it, beside how well the network fits."""
    found: dict[str, list[tuple[float, float]]] = {}
    for kind in ("mlp", "kan"):
        for function in PAPER_SURROGATE_TEST:
            problem = l2e.problems.surrogate(function, kind)
            result = l2e.minimize(problem, budget=1000, rng=0, method="cmaes-bipop")
            gap = problem.truth(result.x) - problem.truth.optimum.f
            found.setdefault(kind, []).append((result.fun, gap))
            print(kind, function, f"network {result.fun:.3g} truth {gap:.3g}")
    plt = pyplot()
    figure, panel = plt.subplots(figsize=(11, 4.8), layout="constrained")
    places = np.arange(len(PAPER_SURROGATE_TEST))
    for shift, (kind, color) in zip((-0.18, 0.18), (("mlp", "#2a6fbb"), ("kan", "#d9822b")), strict=True):
        low, high = np.asarray(found[kind]).T
        panel.vlines(places + shift, low, high, color=color, alpha=0.5, linewidth=3)
        panel.plot(places + shift, low, "v", color=color, label=f"{kind}: what the network predicts there")
        panel.plot(places + shift, high, "o", color=color, label=f"{kind}: the true gap there")
    random = [l2e.problems.paper_surrogate(f) for f in PAPER_SURROGATE_TEST]
    drawn = np.random.default_rng(0).uniform(-5, 5, (1000, 10))
    lowest = [(problem(drawn) - problem.optimum.f).min() for problem in random]
    panel.plot(places, lowest, "_", color="#22303c", markersize=18, label="the best of 1,000 random points")
    fits = [f"f{f}\n{cards('mlp')[f'f{f}']['r2']:.2f}\n{cards('kan')[f'f{f}']['r2']:.2f}" for f in PAPER_SURROGATE_TEST]
    panel.set_xticks(places, fits, fontsize=8)
    panel.set_xlabel("function, R² of its MLP, R² of its KAN", fontsize=9)
    panel.set_yscale("log")
    panel.set_ylabel("f - f*")
    panel.grid(visible=True, axis="y", alpha=0.25)
    panel.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.14))
    figure.savefig(OUT / "surrogate-mismatch.png", dpi=120)


def learning() -> None:
    """Learning curves and final costs of the recorded contest on robots."""
    (results,) = collect_contests(read_store(ROOT / "results" / "paper-neuroevolution"), only=["ant-3"])
    with tempfile.TemporaryDirectory() as folder:
        (path,) = draw_policies(results, Path(folder))
        shutil.copy(path, OUT / "robots-learning.png")


def lsgo() -> None:
    """Convergence, shares of targets and final values on functions of a thousand variables."""
    (results,) = collect_contests(read_store(ROOT / "results" / "paper-lsgo-1000d"), only=["all-short"])
    _curves_and_boxes(results, "lsgo")
    plt = pyplot()
    figure, panel = plt.subplots(figsize=(8, 4.5), layout="constrained")
    shares = 10 ** np.linspace(0, -10, 101)
    places = np.geomspace(100, 100_000, 200)
    for method in results.methods:
        reached = []
        for run in (run for run in results.runs if run.method == method):
            number = int(run.problem.split(":f")[1].split(":")[0])
            centre = l2e.problems.lsgo(number)(np.zeros(run.dimension))
            best = run.curve(places)
            reached.append((best[:, None] <= centre * shares).mean(axis=1))
        panel.semilogx(places, np.mean(reached, axis=0), label=method)
    panel.set_xlabel("evaluations")
    panel.set_ylabel("share of targets: f(centre) to 1e-10 f(centre)")
    panel.grid(visible=True, alpha=0.25)
    panel.legend(frameon=False)
    figure.savefig(OUT / "lsgo-ecdf.png", dpi=120)


def papers() -> None:
    """Convergence and final gaps in the two BBOB protocols of the paper."""
    for store in ("paper-bbob-10d", "paper-bbob-30d"):
        (results,) = collect_contests(read_store(ROOT / "results" / store), only=["protocol"])
        _curves_and_boxes(results, store)


def _curves_and_boxes(results: Results, stem: str) -> None:
    """Two of a report's pictures, fit for a page."""
    with tempfile.TemporaryDirectory() as folder:
        draw_all(results, Path(folder))
        for name in ("convergence", "boxes"):
            shutil.copy(Path(folder) / f"{name}.png", OUT / f"{stem}-{name}.png")
            _shrink(OUT / f"{stem}-{name}.png")


def walk() -> None:
    """The best policy of the recorded contest, whose run is repeated, on an episode that the run has not seen."""
    (results,) = collect_contests(read_store(ROOT / "results" / "paper-neuroevolution"), only=["ant-3"])
    problem = l2e.problems.neuroevolution("ant", depth=3)
    best = min(results.runs, key=lambda run: run.final)
    point = uav_figures.repeated(best, problem)
    if point is None:
        raise SystemExit(f"{best.method}, seed {best.seed}, does not end at {best.improved_to[-1]} this time")
    keys = [jax.random.key(1000 + number) for number in range(10)]
    for name, policy in (("the best policy", point), ("doing nothing", np.zeros(problem.dimension))):
        fresh = np.concatenate([problem.rewards(policy, key)[0] for key in keys])
        error = fresh.std(ddof=1) / np.sqrt(len(fresh))
        print(f"{name}: {fresh.mean():.1f} +- {error:.1f} on {len(fresh)} fresh episodes, up to {fresh.max():.0f}")
    drawn = policy_strip(problem, point, OUT / "robots-walk.png", 77)
    print(f"{best.method}, seed {best.seed}: cost {best.improved_to[-1]:.1f}; reward of the drawn episode {drawn:.1f}")


DRAWINGS = {
    "flights": flights,
    "networks": networks,
    "learning": learning,
    "lsgo": lsgo,
    "papers": papers,
    "walk": walk,
}


def main() -> None:
    """Draw what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="+", choices=list(DRAWINGS))
    for name in parser.parse_args().pictures:
        DRAWINGS[name]()


if __name__ == "__main__":
    main()
