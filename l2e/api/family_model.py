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
from l2e.api.family_plans import closed, unmeasured
from l2e.api.views import view_of
from l2e.core.box import Box, box
from l2e.core.checkpoint import CheckpointError, load_arrays, load_kind, load_metadata, save_arrays
from l2e.core.evaluator import Evaluator
from l2e.core.lattice import MixedBox, kinds, of_kinds
from l2e.portfolio.newton import star
from l2e.portfolio.run import WIDTH
from l2e.portfolio.transfer.knowledge import FOLLOWS, LEAST_MEMBERS, SAID, Knowledge, Plan, Plans
from l2e.portfolio.transfer.method import Transfer
from l2e.portfolio.transfer.past import on_box

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

KIND = "FamilyModel"
VERSION = 2
"""Of the file; the first had no features and no mixed spaces."""

SUFFIX = ".safetensors"


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

    @property
    def features(self) -> int:
        """How many numbers are known of each member."""
        return 0 if self.knowledge.traits is None else self.knowledge.traits.shape[1]

    def method(self, *, without: tuple[str, ...] = (), features: Any = None) -> Transfer:
        """The search with this model, as a method for `minimize` or `Optimizer`.

        **Arguments:** `without`: parts to leave out, of "gate", "jump", "covariance", "metric"; `features`: of the
        function, as many numbers as are known of each member.
        """
        return Transfer(self.knowledge, self.plans, left_out=without, traits=self._traits(features))

    def _traits(self, features: Any) -> np.ndarray | None:
        """Features of a function, checked."""
        if features is None:
            return None
        try:
            own, count = np.atleast_1d(np.asarray(features, dtype=np.float64)), self.features
        except (TypeError, ValueError):
            raise ValueError(f"features must be numbers, got {features!r:.80}") from None
        if not count and self.members:
            raise ValueError("the model knows no features of its members; leave features out")
        if own.ndim != 1 or not own.size or (count and own.shape != (count,)) or not np.isfinite(own).all():
            raise ValueError(f"features must be {count or 'some'} finite numbers, got {np.shape(features)}")
        return own

    def add(
        self,
        fun: Callable[..., Any] | None,
        result: "OptimizeResult",
        *,
        name: str | None = None,
        vectorized: bool = False,
        bounds: Any = None,
        features: Any = None,
    ) -> int:
        """Make a solved problem a member.

        **Arguments:** `fun`: the function, which is evaluated at the ends of the members, and at the centre if the
        search did not look there: at most `members + dimension + 1` times; None for no evaluation; `result`: of
        `minimize`; `name`: of the new member; `bounds`: the `Space`, if that is what was searched; `features`: of the
        new member, needed if those of the others are known.

        **Returns:** how many evaluations were made.
        """
        if result.x is None:
            raise ValueError("a search without a value is no member")
        view = None if bounds is None else view_of(bounds)
        if not same_box(self.space, self.space if view is None else view.box):
            raise ValueError("the bounds are not those of the model's family")
        if view is None and isinstance(self.space, MixedBox):
            raise ValueError("the family has whole numbers or categories: name its space, bounds=space")
        traits = self._joined_traits(features)
        if view is not None:
            fun = None if fun is None else view.function(fun, (), vectorized)
        point = np.asarray(result.x) if view is None else view.point(result.get("params", result.x))
        end = np.clip(self.space.to_unit(point), 0, 1)
        said = result.get("model")
        centre, gradient = (np.nan, np.full(self.dimension, np.nan)) if said is None else (said.centre, said.gradient)
        row, used = np.full(self.members, np.nan), 0
        if fun is not None:
            centre, gradient, row, used = self._ask(fun, vectorized, centre, gradient)
        joined = _joined(self.knowledge, end, float(result.fun), centre, gradient, row)
        self.knowledge = dataclasses.replace(joined, traits=traits)
        self.names = (*self.names, name or f"added-{len(self.names)}")
        self.longest = self.longest or result.nfev / self.dimension
        self.spent += used
        if not self.judged:
            self.plans = unmeasured(self.knowledge, self.evolves, self.longest)
        return used

    def _joined_traits(self, features: Any) -> np.ndarray | None:
        """Features of all members and one more."""
        if self.features and features is None:
            raise ValueError(f"the model knows {self.features} features of each member: give features of this one, too")
        own, old = self._traits(features), self.knowledge.traits
        return own if own is None else own[None] if old is None else np.vstack([old, own])

    def _ask(
        self, fun: Any, vectorized: bool, centre: float, gradient: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray, int]:
        """Values that the search did not ask for."""
        points, steps, _ = star(np.zeros(self.dimension))
        missing = np.flatnonzero(np.isnan(gradient) & (not isinstance(self.space, MixedBox)))
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
        arrays["features"] = np.empty((self.members, 0)) if self.knowledge.traits is None else self.knowledge.traits
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
            "kinds": kinds(self.space),
            "features": self.features,
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
            shapes = _shapes(m, d) | ({"features": (m, int(card["features"]))} if card["version"] > 1 else {})
            expected = {name: np.empty(shape) for name, shape in shapes.items()}
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
        if self.members >= LEAST_MEMBERS and not self.knowledge.tells_foreign(BUDGETS[0]):
            told = "are not known" if kin is None else "hardly tell its members from others"
            lines.append(f"in doubt, since gradients at the centre {told}: ends must beat the default's start")
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
            use = f"seeds, then {SAID[plan.follow]}" if plan.opened else "not used"
            lines.append(f"{budget:g} evaluations per dimension: {use}{said or f' ({plan.why})'}")
        return "\n".join(lines)


_ARRAYS = ("ends", "best", "centre", "gradient", "cross", "metric")


def _shapes(m: int, d: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"lower": (d,), "upper": (d,), "ends": (m, d), "best": (m,), "centre": (m,)}
    return shapes | {"gradient": (m, d), "cross": (m, m), "metric": (d, d)}


def _of_card(card: dict[str, Any], arrays: dict[str, np.ndarray]) -> FamilyModel:
    space = of_kinds(box(np.stack([arrays["lower"], arrays["upper"]], axis=1)), card.get("kinds"))
    ends = arrays["ends"]
    if not (np.isfinite(ends).all() and (ends >= 0).all() and (ends <= 1).all() and np.isfinite(arrays["best"]).all()):
        raise ValueError("ends of members are not points of the unit cube with values")
    knowledge = Knowledge(*(arrays[name] for name in _ARRAYS), scale_free=bool(card["scale_free"]))
    if card.get("features"):
        knowledge = dataclasses.replace(knowledge, traits=arrays["features"])
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


def family_file(name: str | os.PathLike[str]) -> Path | None:
    """The file of a family's model that this names, with or without its suffix; None if it names something else."""
    for path in (Path(name), Path(f"{os.fspath(name)}{SUFFIX}")):
        try:
            if path.is_file() and load_kind(path) == KIND:
                return path
        except (OSError, ValueError):
            continue
    return None


def with_model(
    model: Any, bounds: Any, method: Any, integrality: Any = None, features: Any = None
) -> tuple[Any, Transfer]:
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
        if isinstance(model.space, MixedBox):
            raise ValueError("the model is of a space with whole numbers or categories: name it, bounds=space")
        return model.space, model.method(features=features)
    view = view_of(bounds, integrality)
    if not same_box(box(bounds) if view is None else view.box, model.space):
        raise ValueError(
            f"the bounds are not those of the model's family: it has {model.dimension} coordinates from "
            f"{np.asarray(model.space.lower)} to {np.asarray(model.space.upper)}"
        )
    return bounds, model.method(features=features)
