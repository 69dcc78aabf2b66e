"""Kill a search with worker processes at random moments until it is done, and compare it with one that was left alone.

    python tools/attack_kills.py --kills 100 --seed 0

Each life of the search is ended by SIGKILL after a random time, which begins with the process, or in every second life
with its first evaluation; the same call then goes on from the journal. At the end every point must be the one of an
undisturbed search, no worker may be left, and evaluations that were paid for twice are at most those that were under
way.
"""

import argparse
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from l2e.core.journal_reader import read_journal

SCRIPT = """
import sys, time
sys.path.insert(0, {folder!r})
from objective import f
import l2e
if __name__ == "__main__":
    l2e.minimize(f, bounds=[(-5.0, 5.0)] * 6, budget={budget}, rng=3, workers={workers}, checkpoint=sys.argv[1])
"""
OBJECTIVE = """
import os, time
def f(x):
    with open(os.environ["CALLS"], "a") as file:
        file.write("call\\n")
    time.sleep(0.01)
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
"""


def children(pid: int) -> list[int]:
    """The processes that this one has started."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def size(file: Path) -> int:
    """Of a file, 0 if there is none."""
    return file.stat().st_size if file.exists() else 0


def wait_for_calls(process: "subprocess.Popen[bytes]", calls: Path, before: int) -> None:
    """Until the search has called its function, or is over."""
    while process.poll() is None and size(calls) == before:
        time.sleep(0.01)


def main() -> None:
    """Run the attack and print what was found; exit code 1 if something was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--longest", type=float, default=2.5, help="seconds of a life; more on a busy machine")
    given = parser.parse_args()
    rng, folder = random.Random(given.seed), Path(tempfile.mkdtemp())
    (folder / "objective.py").write_text(OBJECTIVE)
    script = folder / "search.py"
    script.write_text(SCRIPT.format(folder=str(folder), budget=given.budget, workers=given.workers))
    root = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}

    def start(name: str) -> "subprocess.Popen[bytes]":
        calls = {"CALLS": str(folder / f"{name}.calls")}
        return subprocess.Popen([sys.executable, str(script), str(folder / f"{name}.l2e")], env=environment | calls)

    assert start("whole").wait() == 0
    kills, left, lengths = 0, set(), [0]
    while (process := start("killed")) and kills < given.kills:
        try:
            if kills % 2:
                wait_for_calls(process, folder / "killed.calls", lengths[-1])
            process.wait(rng.uniform(0.1, given.longest))
            break
        except subprocess.TimeoutExpired:
            left |= set(children(process.pid))
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            lengths.append(size(folder / "killed.calls"))
    process.wait()
    time.sleep(3)
    whole, killed = (read_journal(folder / f"{name}.l2e").evaluations for name in ("whole", "killed"))
    same = np.array_equal([one.x for one in whole], [one.x for one in killed])
    calls = len((folder / "killed.calls").read_text().splitlines())
    alive = [pid for pid in left if Path(f"/proc/{pid}").exists()]
    hit = sum(after > before for before, after in itertools.pairwise(lengths))
    print(f"{kills} kills, {hit} of them after new evaluations; {len(killed)} of {given.budget} evaluations at the end")
    print(f"the same points as undisturbed: {same}")
    print(f"{calls - len(killed)} evaluations made twice (at most {kills * given.workers}), {len(alive)} workers left")
    sys.exit(not (same and not alive and calls - len(killed) <= kills * given.workers))


if __name__ == "__main__":
    main()
