"""Objectives that worker processes can import."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import l2e


def valley(x) -> float:
    return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())


def shaken_valley(x) -> float:
    """Later points of a batch often arrive first."""
    time.sleep(abs(hash(x.tobytes())) % 7 * 1e-3)
    return valley(x)


def shaken_bowl_in_ball(x) -> tuple[float, list[float]]:
    """A value with a constraint; later points of a batch often arrive first."""
    time.sleep(abs(hash(x.tobytes())) % 7 * 1e-3)
    return float(((x - 1) ** 2).sum()), [float(x @ x - 1)]


def by_order(x) -> float:
    """What the first coordinate orders: 0 to compute, 1 to crash, 2 to exit, 3 to hang, 4 to raise, 5 to say None."""
    order = int(x[0])
    if order == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    if order == 2:
        os._exit(7)
    if order == 3:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(os.environ["L2E_TEST_PIDS"], "a") as file:
            file.write(f"{os.getpid()} {child.pid}\n")
        time.sleep(600)
    if order == 4:
        raise ValueError("as ordered")
    if order == 5:
        return None  # pyright: ignore[reportReturnType]
    return float(np.sum(x))


def crashing_valley(x) -> float:
    if x[0] > 4.2:
        os.kill(os.getpid(), signal.SIGKILL)
    return valley(x)


def busy_valley(x) -> float:
    """Forks, starts a thread and a program, prints, goes elsewhere, and changes its argument."""
    value = valley(x)
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    thread = threading.Thread(target=print, args=("p" * 10_000,))
    thread.start()
    thread.join()
    subprocess.run([sys.executable, "-S", "-c", ""], check=True)
    os.write(1, b"past Python\n")
    os.chdir("/")
    x[:] = np.nan
    return value


def split_valley(x) -> float:
    """Forks, and the child comes back as well."""
    os.fork()
    return valley(x)


def nested_valley(x) -> float:
    """A search, and asyncio, inside of an evaluation."""

    async def later() -> float:
        await asyncio.sleep(0)
        return valley(x)

    inner = l2e.minimize(valley, bounds=[(-1.0, 1.0)] * 2, budget=9, rng=0)
    return asyncio.run(later()) + 0.0 * inner.fun
