"""The lowest versions that pyproject.toml allows for the dependencies of a plain install, and a search with them.

python tests/lowest_versions.py             # prints them as pins
python tests/lowest_versions.py --search    # searches with what is installed; `make lowest` does both
"""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def lowest() -> dict[str, str]:
    """The lowest version of each dependency; all of them are written `name>=version`."""
    found = {}
    for requirement in tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"]:
        match = re.fullmatch(r"([A-Za-z0-9_-]+)>=([0-9.]+)", requirement)
        assert match, f"write {requirement!r} as name>=version"
        found[match[1]] = match[2]
    return found


def bowl(x: Any) -> float:
    """Minimum 0 at (1, ..., 1)."""
    return float(((x - 1) ** 2).sum())


def search() -> None:
    """Search by the default method: by `minimize`, by ask and tell, and from the command line."""
    import l2e

    for name, version in lowest().items():
        installed = importlib.metadata.version(name)
        assert installed.startswith(version), f"{name} {installed} is installed, not {version}"
        print(f"{name} {installed}")
    result = l2e.minimize(bowl, bounds=[(-5, 5)] * 4, budget=200, rng=0)
    assert result.fun < 1e-10, result
    opt = l2e.Optimizer(bounds=[(-5, 5)] * 4, budget=200, rng=0)
    while not opt.stop():
        points = opt.ask()
        opt.tell(points, [bowl(x) for x in points])
    assert opt.result().fun == result.fun
    command = "minimize lowest_versions:bowl --bounds=-5,5 --dimension 2 --budget 60"
    subprocess.run([sys.executable, "-m", "l2e", *command.split()], check=True, cwd=Path(__file__).parent)
    print(f"l2e {l2e.__version__} from {Path(l2e.__file__).parent}: f = {result.fun:.1e}")


if __name__ == "__main__":
    if "--search" in sys.argv:
        search()
    else:
        print("\n".join(f"{name}=={version}" for name, version in lowest().items()))
