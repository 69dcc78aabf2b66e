"""A suite of your own in a contest: hanging chains, whose shape is found by minimising their energy.

`08_own_suite.toml` names `chains` as its suite. Run from this folder:

    l2e bench 08_own_suite.toml --out runs/chains
    l2e report runs/chains --out report/chains --trust

Needs the contests: pip install '.[bench,report]'.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import l2e


def chains(function: int, instance: int, dimension: int) -> l2e.HostFunction:
    """A chain of springs between two poles; its joints carry loads.

    Called by the contest: `function` is the stiffness, 1 to 3, `instance` decides the loads, `dimension` is the number
    of joints, of which the heights are sought. Any process must be able to build the same problem from these numbers.
    """
    loads = np.random.default_rng(instance).uniform(1, 5, dimension)
    stiffness, width = 10.0**function, 1 / (dimension + 1)

    def energy(heights: np.ndarray) -> float:
        links = np.hypot(width, np.diff(heights, prepend=0, append=0))
        return float(stiffness * ((links - width) ** 2).sum() / 2 + loads @ heights)

    return l2e.HostFunction(energy, l2e.box([(-2, 1)] * dimension))


if __name__ == "__main__":
    here = Path(__file__).parent
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "l2e", "bench", "08_own_suite.toml", "--out", out, "--workers", "1"]
        subprocess.run(command, cwd=here, check=True)
