"""The model of a family: what is kept of its solved members, as one file with a card."""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from l2e._version import __version__
from l2e.api.catalog import DEFAULT_METHOD
from l2e.api.family import BUDGETS, same_box
from l2e.api.views import view_of
from l2e.core.box import Box, box
from l2e.core.checkpoint import CheckpointError, load_arrays, load_kind, load_metadata, save_arrays
from l2e.core.evaluator import Evaluator
from l2e.portfolio.newton import star
from l2e.portfolio.run import WIDTH
from l2e.portfolio.transfer.knowledge import FOLLOWS, LEAST_MEMBERS, Knowledge, Plan, Plans
from l2e.portfolio.transfer.method import Transfer
from l2e.portfolio.transfer.past import on_box

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

KIND = "FamilyModel"
VERSION = 1
"""Of the file."""

SUFFIX = ".safetensors"
UNSURE_UP_TO = 10
"""Evaluations per dimension up to which a model is used of which nothing was measured and whose gradients tell little:
with few evaluations a good start is worth the most."""

BEYOND = 2.0
"""A model is used up to this many times the largest budget it was judged at."""


@dataclasses.dataclass(frozen=True)
class Judged:
    """What leaving members out said of one budget: the log of the regret over the default's, with its error."""

    per_dimension: float
    members: int
    gain: float
    error: float
    default: float
    """The default's mean log regret there, over that of the centre."""


@dataclasses.dataclass(eq=False)
class FamilyModel:
    """What is known of a family; `minimize(f, model=model)` uses it, `add` makes it know more.

    **Fields:** `space`: the box; `names`: of the members; `knowledge`: what is kept of them; `plans`: what to do with
    which budget; `judged`: on left-out members; `spent`: evaluations of learning; `seconds`: it took, all in all;
    `source`: "functions" or "journals"; `evolves`: an evolutionary search did most of the members' work.
    """

    space: Box
    names: tuple[str, ...]
    knowledge: Knowledge
    plans: Plans
    judged: tuple[Judged, ...] = ()
    spent: int = 0
    seconds: float = 0.0
    source: str = "functions"
    evolves: bool = False
    longest: float = 0.0
    """Evaluations per dimension of the members' searches, in the median."""
    coordinates: tuple[str, ...] | None = None

    @classmethod
    def empty(cls, bounds: Any, coordinates: tuple[str, ...] | None = None) -> "FamilyModel":
        """A model of no members: searches with it take the differences at the centre first, so that they teach."""
        space = box(bounds)
        return cls(space, (), Knowledge.empty(space.dimension), closed("it has no members"), coordinates=coordinates)

    @property
    def members(self) -> int:
        """How many there are."""
        return self.knowledge.members

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.space.dimension

    def method(self, *, without: tuple[str, ...] = ()) -> Transfer:
        """The search with this model, as a method for `minimize` or `Optimizer`.

        **Arguments:** `without`: parts to leave out, of "gate", "jump", "covariance", "metric".
        """
        return Transfer(self.knowledge, self.plans, left_out=without)

    def add(
        self,
        fun: Callable[..., Any] | None,
        result: "OptimizeResult",
        *,
        name: str | None = None,
        vectorized: bool = False,
    ) -> int:
        """Make a solved problem a member.

        **Arguments:** `fun`: the function, which is evaluated at the ends of the members, and at the centre if the
        search did not look there: at most `members + dimension + 1` times; None for no evaluation; `result`: of
        `minimize`; `name`: of the new member.

        **Returns:** how many evaluations were made.
        """
        if result.x is None:
            raise ValueError("a search without a value is no member")
        end = np.clip(self.space.to_unit(np.asarray(result.x)), 0, 1)
        said = result.get("model")
        centre, gradient = (np.nan, np.full(self.dimension, np.nan)) if said is None else (said.centre, said.gradient)
        row, used = np.full(self.members, np.nan), 0
        if fun is not None:
            centre, gradient, row, used = self._ask(fun, vectorized, centre, gradient)
        self.knowledge = _joined(self.knowledge, end, float(result.fun), centre, gradient, row)
        self.names = (*self.names, name or f"added-{len(self.names)}")
        self.longest = self.longest or result.nfev / self.dimension
        self.spent += used
        if not self.judged:
            self.plans = by_rule(self.knowledge, self.evolves, self.longest)
        return used

    def _ask(
        self, fun: Any, vectorized: bool, centre: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, int]:
        """Values that the search did not ask for."""
        points, steps, _ = star(np.zeros(self.dimension))
        missing = np.flatnonzero(np.isnan(gradient))
        wanted = [] if np.isfinite(centre) else [np.zeros((1, self.dimension))]
        parts = [on_box(np.concatenate([*wanted, points[missing]]), self.space)]
        parts.append(self.space.from_unit(self.knowledge.ends))
        evaluate = Evaluator(fun, self.space, None, vectorized=vectorized)
        values = np.asarray(evaluate(np.concatenate(parts)))
        centre = float(values[0]) if wanted else centre
        differences = values[len(wanted) : len(wanted) + len(missing)]
        gradient = gradient.copy()
        gradient[missing] = (differences - centre) / (steps[missing] / WIDTH)
        return centre, gradient, values[len(wanted) + len(missing) :], evaluate.used

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one safetensors file, with the card in its header; `.safetensors` is added if it is missing."""
        target = Path(path)
        target = target if target.suffix == SUFFIX else target.with_name(target.name + SUFFIX)
        arrays = {"lower": np.asarray(self.space.lower), "upper": np.asarray(self.space.upper)}
        arrays |= {name: getattr(self.knowledge, name) for name in _ARRAYS}
        plain = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
        save_arrays(target, plain, KIND, self.card)
        return target

    @property
    def card(self) -> dict[str, Any]:
        """All that is not an array, as plain JSON."""
        return {
            "version": VERSION,
            "members": list(self.names),
            "dimension": self.dimension,
            "coordinates": None if self.coordinates is None else list(self.coordinates),
            "plans": [[budget, *plan] for budget, plan in self.plans.entries],
            "largest": self.plans.largest if np.isfinite(self.plans.largest) else None,
            "judged": [dataclasses.asdict(one) for one in self.judged],
            "spent": self.spent,
            "seconds": self.seconds,
            "source": self.source,
            "evolves": self.evolves,
            "longest": self.longest,
            "scale_free": self.knowledge.scale_free,
            "l2e": __version__,
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "FamilyModel":
        """Read a model.

        **Raises:** `CheckpointError` for a file that is foreign, damaged or newer than this version;
        `FileNotFoundError`.
        """
        path = Path(path)
        path = path if path.suffix == SUFFIX or path.is_file() else path.with_name(path.name + SUFFIX)
        card = load_metadata(path)
        version = card.get("version")
        if isinstance(version, int) and version > VERSION and "plans" in card:
            raise CheckpointError(
                f"{path} was written by a newer version of l2e ({card.get('l2e')}): upgrade to read it"
            )
        try:
            m, d = len(card["members"]), int(card["dimension"])
            expected = {name: np.empty(shape) for name, shape in _shapes(m, d).items()}
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{path} does not hold the model of a family") from error
        arrays = load_arrays(path, expected, KIND)
        try:
            return _of_card(card, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{path} is damaged: {type(error).__name__}: {error}") from error

    def __str__(self) -> str:
        lines = [
            f"model of a family: {self.members} members in {self.dimension}-D, from {self.source}",
            f"learning cost {self.spent} evaluations and {self.seconds:.0f} s",
        ]
        kin = self.knowledge.kin if self.members else None
        if kin is not None:
            lines.append(f"trusted if the gradient at the centre is {kin.limit:.2f} alike or more to those of members")
        judged = {one.per_dimension: one for one in self.judged}
        if not self.plans.entries[0][1].opened and len(self.plans.entries) == 1:
            return "\n".join([*lines, f"not used: {self.plans.entries[0][1].why}"])
        for budget, plan in self.plans.entries:
            one = judged.get(budget)
            said = (
                ""
                if one is None or not one.members
                else (
                    f": regret {np.exp(one.gain):.2f} of the default's on {one.members} left-out members "
                    f"({np.exp(one.gain - one.error):.2f} to {np.exp(one.gain + one.error):.2f})"
                )
            )
            use = f"seeds, then {plan.follow}" if plan.opened else "not used"
            lines.append(f"{budget:g} evaluations per dimension: {use}{said or f' ({plan.why})'}")
        return "\n".join(lines)


_ARRAYS = ("ends", "best", "centre", "gradient", "cross", "metric")


def _shapes(m: int, d: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"lower": (d,), "upper": (d,), "ends": (m, d), "best": (m,), "centre": (m,)}
    return shapes | {"gradient": (m, d), "cross": (m, m), "metric": (d, d)}


def _of_card(card: dict[str, Any], arrays: dict[str, np.ndarray]) -> FamilyModel:
    space = box(np.stack([arrays["lower"], arrays["upper"]], axis=1))
    ends = arrays["ends"]
    if not (np.isfinite(ends).all() and (ends >= 0).all() and (ends <= 1).all() and np.isfinite(arrays["best"]).all()):
        raise ValueError("ends of members are not points of the unit cube with values")
    knowledge = Knowledge(*(arrays[name] for name in _ARRAYS), scale_free=bool(card["scale_free"]))
    entries = []
    for budget, opened, follow, why in card["plans"]:
        if follow not in FOLLOWS:
            raise ValueError(f"it plans {follow!r}, allowed: {', '.join(FOLLOWS)}")
        entries.append((float(budget), Plan(bool(opened), follow, str(why))))
    largest = np.inf if card["largest"] is None else float(card["largest"])
    names = card["coordinates"]
    return FamilyModel(
        space,
        tuple(map(str, card["members"])),
        knowledge,
        Plans(tuple(entries), largest),
        tuple(Judged(**one) for one in card["judged"]),
        int(card["spent"]),
        float(card["seconds"]),
        str(card["source"]),
        bool(card["evolves"]),
        float(card["longest"]),
        None if names is None else tuple(map(str, names)),
    )


def _joined(
    known: Knowledge, end: np.ndarray, best: float, centre: float, gradient: np.ndarray, row: np.ndarray
) -> Knowledge:
    """With one more member; what older members have at its end is not known."""
    m = known.members
    cross = np.full((m + 1, m + 1), np.nan)
    cross[:m, :m], cross[m, :m], cross[m, m] = known.cross, row, best
    return dataclasses.replace(
        known,
        ends=np.vstack([known.ends, end]),
        best=np.append(known.best, best),
        centre=np.append(known.centre, centre),
        gradient=np.vstack([known.gradient, gradient]),
        cross=cross,
    )


def closed(why: str) -> Plans:
    """The default for every budget."""
    return Plans.always(Plan(False, "default", why))


def by_rule(known: Knowledge, evolves: bool, longest: float) -> Plans:
    """Plans where nothing was judged on left-out members: by what the members' searches were like."""
    if known.members < LEAST_MEMBERS:
        return closed(f"it has {known.members} members, and needs {LEAST_MEMBERS}")
    kin = known.kin
    if kin is not None and not kin.is_family:
        return closed("its members are no more alike than random functions")
    if not known.tells_foreign:
        plan = Plan(True, "default", "unmeasured: by rule")
        late = Plan(
            False, "default", "nothing was measured, and gradients at the centre hardly tell its members from others"
        )
        entries = tuple((float(budget), plan if budget <= UNSURE_UP_TO else late) for budget in BUDGETS)
        return Plans(entries, BEYOND * max(BUDGETS[-1], longest))
    follow = "evolution" if evolves else "newton" if known.has_metric else "default"
    plan = Plan(True, follow, "unmeasured: by rule")
    entries = tuple((float(budget), plan) for budget in BUDGETS)
    return Plans(entries, BEYOND * max(BUDGETS[-1], longest))


def family_file(name: str | os.PathLike[str]) -> Path | None:
    """The file of a family's model that this names, with or without its suffix; None if it names something else."""
    for path in (Path(name), Path(f"{os.fspath(name)}{SUFFIX}")):
        try:
            if path.is_file() and load_kind(path) == KIND:
                return path
        except (OSError, ValueError):
            continue
    return None


def with_model(model: Any, bounds: Any, method: Any) -> tuple[Any, Transfer]:
    """The bounds, those of the model if there are none, and the method of a search with a model.

    **Raises:** `ValueError` for bounds that are not the model's, or another method.
    """
    if isinstance(model, str | os.PathLike):
        model = FamilyModel.load(model)
    if not isinstance(model, FamilyModel):
        raise TypeError(f"model must be the model of a family or its file, got {type(model).__name__}")
    if not (isinstance(method, str) and method == DEFAULT_METHOD):
        raise ValueError("a model goes with the default method; leave method out")
    if bounds is None:
        return model.space, model.method()
    view = view_of(bounds)
    if not same_box(box(bounds) if view is None else view.box, model.space):
        raise ValueError(
            f"the bounds are not those of the model's family: it has {model.dimension} coordinates from "
            f"{np.asarray(model.space.lower)} to {np.asarray(model.space.upper)}"
        )
    return bounds, model.method()
