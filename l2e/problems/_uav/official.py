"""The official terrains, for users who have them.

They are distributed as a pickle, `Model56.pkl`, and unpickling runs whatever code the file holds, so it is not done
here. Whoever trusts the file converts it once, to an archive of plain arrays:

```python
import pickle
import numpy as np

with open("Model56.pkl", "rb") as file:
    models = pickle.load(file)
arrays = {}
for number in range(1, 57):
    for name in ("H", "threats", "start", "end", "xmin", "xmax", "ymin", "ymax", "zmin", "zmax"):
        arrays[f"{number}/{name}"] = np.asarray(models[number - 1][name], dtype=float)
np.savez_compressed("uav56.npz", **arrays)
```

`l2e.problems.uav(terrain=1, data="uav56.npz")` then reads the first of them. Each terrain has the heights `H` with one
row per y and one column per x, the `threats` as rows (x, y, height, radius), `start` and `end` as (x, y, altitude), and
the bounds of x, y and altitude.
"""

import functools
import os
import zipfile
from pathlib import Path

import numpy as np

from l2e.problems._uav.terrain import THREATS, Terrain

BOUNDS = ("xmin", "ymin", "zmin", "xmax", "ymax", "zmax")
NAMES = ("H", "threats", "start", "end", *BOUNDS)


class TerrainFileError(ValueError):
    """A file that does not hold terrains as they should be."""


def load_terrain(path: str | os.PathLike[str], number: int) -> Terrain:
    """Read one terrain.

    **Raises:** `FileNotFoundError`; `TerrainFileError` for a pickle, a damaged file or one that holds something else.
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"no file of terrains at {source}")
    return _load(source.resolve(), source.stat().st_mtime_ns, number)


@functools.lru_cache(maxsize=56)
def _load(path: Path, _changed: int, number: int) -> Terrain:
    if not zipfile.is_zipfile(path):
        hint = " It looks like the original pickle, which is never opened here." if path.suffix == ".pkl" else ""
        raise TerrainFileError(
            f"{path} is not an archive of arrays (.npz).{hint} "
            "The docstring of l2e.problems._uav.official shows how to convert the original file"
        )
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [name for name in NAMES if f"{number}/{name}" not in archive]
            if missing:
                raise TerrainFileError(f"{path} lacks {', '.join(missing)} of terrain {number}")
            arrays = {name: np.asarray(archive[f"{number}/{name}"], dtype=np.float64) for name in NAMES}
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        if isinstance(error, TerrainFileError):
            raise
        raise TerrainFileError(f"{path} cannot be read: {error}") from error
    return _checked(arrays, f"{path}, terrain {number}")


def _checked(arrays: dict[str, np.ndarray], where: str) -> Terrain:
    """The terrain of these arrays, or an error that says what is wrong with them."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise TerrainFileError(f"{where}: {name} holds values that are not finite")
    heights, threats = arrays["H"], arrays["threats"]
    start, end = arrays["start"].ravel(), arrays["end"].ravel()
    bounds = [arrays[name].ravel() for name in BOUNDS]
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise TerrainFileError(f"{where}: H must be a table of heights, got shape {heights.shape}")
    if threats.ndim != 2 or threats.shape[1] != 4:
        raise TerrainFileError(f"{where}: threats must be rows (x, y, height, radius), got shape {threats.shape}")
    if start.shape != (3,) or end.shape != (3,) or any(bound.shape != (1,) for bound in bounds):
        raise TerrainFileError(f"{where}: start and end must be (x, y, altitude), the bounds one number each")
    lower, upper = np.concatenate(bounds[:3]), np.concatenate(bounds[3:])
    rows, columns = heights.shape
    if not (lower < upper).all() or min(lower[:2]) < 1 or upper[0] > columns or upper[1] > rows:
        raise TerrainFileError(f"{where}: x and y must be bounded by 1 and the size of H, {columns} by {rows}")
    for name, point in (("start", start), ("end", end)):
        if not ((lower[:2] <= point[:2]) & (point[:2] <= upper[:2])).all():
            raise TerrainFileError(f"{where}: {name} is outside the map")
    if (start == end).all():
        raise TerrainFileError(f"{where}: start and end are the same")
    filled = np.full((max(THREATS[-1], len(threats)), 3), -np.inf)
    filled[:, :2] = 0
    filled[: len(threats)] = threats[:, [0, 1, 3]]
    return Terrain(heights, filled, start, end, lower, upper)
