"""The competition's own code, timed point by point: run by `lsgo_throughput.py` with an interpreter that has it.

It has cec2013lsgo (PyPI, GPL) and numpy, and nothing of l2e; that is why this is a program of its own. Asked with the
word `data` it prints the folder of the data files. Else it reads doubles, the number of a function, of points and of
repeats and then the points, and prints the CPU seconds of each repeat and the value of each point.
"""

import importlib
import sys
import time
from pathlib import Path

import numpy as np


def main() -> None:
    """Answer on stdout."""
    official = importlib.import_module("cec2013lsgo.cec2013")
    if sys.argv[1:] == ["data"]:
        print(Path(str(official.__file__)).parent / "cdatafiles")
        return
    sent = np.frombuffer(sys.stdin.buffer.read())
    number, count, repeats = (int(value) for value in sent[:3])
    suite = official.Benchmark()
    function, dimension = suite.get_function(number), suite.get_info(number)["dimension"]
    points = sent[3:].reshape(count, -1)
    points = np.pad(points, ((0, 0), (0, dimension - points.shape[1])))  # f13 and f14 read the first 905
    values = []
    for _ in range(repeats):
        begin = time.process_time()
        values = [function(point) for point in points]
        print(time.process_time() - begin)
    for value in values:
        print(repr(float(value)))


if __name__ == "__main__":
    main()
