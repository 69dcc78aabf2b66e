"""Every decision of the default method as a number: its value, its unit, and the page of the log with its evidence."""

import dataclasses
from typing import NamedTuple, TypeVar

from l2e.core.errors import unknown

T = TypeVar("T")

PARTS = ("newton", "look", "gate", "scout", "coordinates", "surrogate", "global")
"""What can be left out: quasi-Newton and what builds on it (a search along coordinates still ends with it), the look
with which a short search begins, the learned gate behind it, the scout with which a longer one begins, the search
along coordinates, the model in evolutionary searches, and other starts with populations over the cube."""

CROSS_TERMS_UP_TO = 24
"""The largest dimension in which the fitted quadratic has cross terms (default-method#surrogate); beyond it models are
diagonal, evolutionary searches are slow, and quasi-Newton gets more time."""

LARGE_ABOVE = 100
"""The largest dimension of the search with dense metrics; beyond it the parts of `l2e.portfolio.large` search, whose
cost and memory are linear in the dimension."""

PER_DIMENSION = "evaluations per dimension"
SHARE = "share of the remaining evaluations"
RATIO = "ratio"
CUBE = "share of the cube's width"
GENERATIONS = "generations"
COUNT = "count"
TAU = "Kendall's tau"


class Reach(NamedTuple):
    """How far a fit looks: how many of the nearest points per coefficient, and where their weights fall off."""

    points: float
    width: float


class Lines(NamedTuple):
    """A search along coordinates: points of the grid on each axis, and points on each axis in all."""

    grid: int
    points: int


def decided(value: T, unit: str, evidence: str) -> T:
    """A field of `Policy` with its unit and its evidence, `page#section` of the log."""
    return dataclasses.field(default=value, metadata={"unit": unit, "evidence": f"default-method#{evidence}"})  # pyright: ignore[reportReturnType]


@dataclasses.dataclass(frozen=True)
class Policy:
    """The decisions of the router and its experts. `Policy().without("newton")` leaves a part out.

    A budget counts as *rich* from `rich_from` on. Units and evidence are in the metadata of the fields.
    """

    left_out: tuple[str, ...] = ()
    """Parts that are left out, of `PARTS`, in alphabetical order."""

    # The router
    rich_from: float = decided(500, PER_DIMENSION, "own-record")
    """From this budget on populations and many other starts search the whole cube, and trust is earned cautiously."""

    line_from: float = decided(40, PER_DIMENSION, "first-line")
    """From this budget on a line through the start is looked at before quasi-Newton."""

    rugged_turns: int = decided(3, COUNT, "first-line")
    """A function that changes direction more often than this on that line is rugged: no quasi-Newton."""

    wavy_below: float = decided(100, PER_DIMENSION, "wavy-axes")
    wavy_turns: int = decided(2, COUNT, "wavy-axes")
    wavy_room: float = decided(36, PER_DIMENSION, "wavy-axes")
    """A separable function is searched along its coordinates first if this much is left and either a scout is due, or
    the budget is below the first number and the function turns this often on the first line: quasi-Newton would leave
    too little for it."""

    look_for: float = decided(4, PER_DIMENSION, "look")
    look_below: float = decided(35, PER_DIMENSION, "look")
    look_up_to: int = decided(CROSS_TERMS_UP_TO, "dimensions", "look")
    look_least: float = decided(1e-8, CUBE, "look")
    """Up to this budget and in up to so many dimensions, a search begins with a trust-region search of this length,
    which ends at this distance between points; its first points are `first_step` apart."""

    look_alone: float = decided(15, PER_DIMENSION, "look")
    look_again: float = decided(25, PER_DIMENSION, "look")
    """Without a gate the look goes on below the first budget; up to the second where quasi-Newton met ripples."""

    look_near_up_to: float = decided(40, PER_DIMENSION, "look")
    look_narrow: float = decided(0.02, CUBE, "look")
    """Up to this budget an evolutionary search after a quasi-Newton that was left is as wide as the look's radius, and
    no narrower than this."""

    scout_budgets: tuple[float, float] = decided((35, 100), PER_DIMENSION, "scout")
    scout_for: float = decided(7, PER_DIMENSION, "scout")
    scout_at_least: float = decided(1, PER_DIMENSION, "scout-short")
    """Above the first and up to the second budget the evolutionary search begins, for this long; it goes on, or
    quasi-Newton begins at its best point. If its first generations find nothing better than the start, quasi-Newton
    begins there."""

    coordinates_room: float = decided(40, PER_DIMENSION, "prototypes")
    """With this much left the function is tested for separability."""

    coordinates_rich_from: float = decided(250, PER_DIMENSION, "prototypes")
    coordinates: Lines = decided(Lines(21, 50), COUNT, "prototypes")  # noqa: RUF009
    coordinates_rich: Lines = decided(Lines(80, 140), COUNT, "prototypes")  # noqa: RUF009
    coordinates_reserve: int = decided(10, PER_DIMENSION, "prototypes")
    """Points on each coordinate of a separable function, more of them if this much is left; the reserve is kept for
    quasi-Newton afterwards."""

    patience: float = decided(4.0, RATIO, "beyond-24-d")
    """Above `CROSS_TERMS_UP_TO` dimensions quasi-Newton may run this many times longer before it counts as slow."""

    other_starts: float = decided(0.25, SHARE, "share-of-other-starts")
    other_starts_rich: float = decided(0.4, SHARE, "share-of-other-starts")
    other_starts_least: float = decided(6, PER_DIMENSION, "starts")
    """What other starts of quasi-Newton may spend after it converged, and the least with which they are tried: drawing
    a start and its first step cost about as much."""

    starts_judged: int = decided(4, COUNT, "judged-starts")
    starts_sound: float = decided(0.9, "share of starts", "judged-starts")
    starts_unsound: float = decided(0.6, "share of starts", "judged-starts")
    structured_from: float = decided(0.6, "adjusted R^2", "judged-starts")
    other_starts_most: float = decided(0.9, SHARE, "judged-starts")
    other_starts_rugged: float = decided(0.1, SHARE, "judged-starts")
    """With a rich budget so many starts are judged: sound if they had slopes to follow, structured if a quadratic
    explains the ranks of the points drawn for them. Where they are sound, pairs of coordinates interact, and there is
    less structure than this, they get the most; where fewer than the second share of them are sound, nothing more;
    else `other_starts_rich` at a smooth minimum, and this much at one among many."""

    starts_drawn: int = decided(4, "points per dimension", "starts")
    starts_kept: int = decided(100, COUNT, "starts")
    """Points drawn for each other start, and how many of the best unused ones are kept."""

    bound_gains: float = decided(4, RATIO, "vanished-gradient")
    bound_from: int = decided(3, "gains", "vanished-gradient")
    """An other start ends when its value less this many times its latest or next gain, known from the third gain on, is
    above the best value."""

    handover_doubt: float = decided(8, PER_DIMENSION, "handover")
    handover_gain: float = decided(10, RATIO, "handover")
    """A search that takes over from a converged quasi-Newton must by then have gained this many times what quasi-Newton
    still expected, or it ends."""

    handover_window: float = decided(12, PER_DIMENSION, "search-without-metric")
    handover_window_least: int = decided(8, GENERATIONS, "search-without-metric")
    """It also ends when it stagnates over this window."""

    handover_gains: int = decided(3, "gains", "handover")
    handover_longest: float = decided(1.0, "tenths of the cube's width", "handover")
    handover_widening: float = decided(10.0, RATIO, "handover")
    """Its first samples rise by the mean of quasi-Newton's latest gains and are at most this long; where the metric is
    in doubt they are wider."""

    first_step: float = decided(0.2, CUBE, "prototypes")
    """The first step of evolutionary searches, and of quasi-Newton along the gradient."""

    ruggedness_room: float = decided(300, PER_DIMENSION, "rugged-phase")
    ruggedness_above: float = decided(1.7, "turns per line", "rugged-phase")
    rugged_share: float = decided(0.3, SHARE, "rugged-phase")
    rugged_most: float = decided(150, PER_DIMENSION, "rugged-phase")
    """With a rich budget and this much left, lines through the cube are looked at; where they turn more often than this
    on average, the evolutionary search gets the smaller of these two before populations take over."""

    stagnation_from: float = decided(0.3, "share of the budget", "search-without-metric")
    stagnation_room: float = decided(100, PER_DIMENSION, "search-without-metric")
    stagnation_window: int = decided(20, PER_DIMENSION, "search-without-metric")
    stagnation_window_least: int = decided(8, GENERATIONS, "search-without-metric")
    stagnation_gain: float = decided(0.5, RATIO, "search-without-metric")
    """With a rich budget an evolutionary search ends when it stagnates: over the window it gained less than this ratio
    of the values' spread, and the spread did not fall below this ratio; not before this share of the budget is used,
    and only with this much left."""

    population_room: float = decided(60, PER_DIMENSION, "own-record")
    """With a rich budget and this much left the cube is searched by populations that are told what is left."""

    weak_interaction: float = decided(-1.4, "mean log10", "prototypes")
    lshade_up_to: int = decided(2, "dimensions", "judged-starts")
    lshade_in_bowls_up_to: int = decided(3, "dimensions", "bowls-in-3-d")
    bowl_from: float = decided(0.8, "adjusted R^2", "bowls-in-3-d")
    """Below this interaction of pairs of coordinates, up to so many dimensions, or where the starts were sound, the
    population is L-SHADE's, else that of a shrinking strategy; up to the second number of dimensions also where the
    starts showed at least this structure, waves on a bowl."""

    kept_back: float = decided(30, PER_DIMENSION, "prototypes")
    last_step: float = decided(0.02, CUBE, "prototypes")
    """With no more left than this the surroundings of the best point are searched, with this first step."""

    restart_population: int = decided(2, "default populations", "own-record")
    restart_step: float = decided(0.2, CUBE, "own-record")
    """Further evolutionary searches, from anywhere, have this population and first step."""

    # Quasi-Newton
    slow_from: float = decided(100, PER_DIMENSION, "handover")
    slow_from_in_doubt: float = decided(60, PER_DIMENSION, "handover")
    slow_gains: float = decided(0.2, RATIO, "handover")
    """It is slow if it has used this much and its last four gains sum to more than this ratio of the four before."""

    doubtful_above: float = decided(10.0, "relative error", "handover")
    """Its metric is in doubt when it predicts changes of the gradient with more than this error."""

    noise_below: float = decided(1e-4, RATIO, "prototypes")
    """If the first step changes the value by less than this ratio of what the slope promised, the slope was noise."""

    converged_below: float = decided(1e-10, RATIO, "converged")
    converged_share: float = decided(1e-14, RATIO, "converged")
    """It has converged if it expects to gain less than this ratio of the value, or of all it gained."""

    vanished_below: float = decided(1e-6, RATIO, "vanished-gradient")
    """It has also converged if most of the gradient is zero and the rest below this ratio of its steepest."""

    superlinear: float = decided(0.3, RATIO, "converged")
    probe_below: float = decided(1e-8, RATIO, "converged")
    rugged_rise: float = decided(0.2, RATIO, "converged")
    """When each gain is below this ratio of the one before, and the next below this ratio of all, two points nearby are
    evaluated: if they rise by less than this ratio of what the model says, the minimum is one among many."""

    ripples_up_to: float = decided(60, PER_DIMENSION, "ripples")
    ripples_above: tuple[float, ...] = decided((0.3, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2), RATIO, "ripples")
    ripples_above_budget: float = decided(100, PER_DIMENSION, "ripples-again")
    """Up to the first budget, and with more than the last that is not rich, in up to `look_up_to` dimensions it yields
    where the mean defect of its first steps exceeds these ratios."""

    # The surrogate of evolutionary searches
    near_up_to: float = decided(100, PER_DIMENSION, "reach")
    near: Reach = decided(Reach(1.4, 5.0), "points per coefficient, whitened units", "reach")  # noqa: RUF009
    wide: Reach = decided(Reach(1.84, 13.0), "points per coefficient, whitened units", "reach")  # noqa: RUF009
    """Up to this budget a fit looks near, where it follows the shape of the function; with more it looks wide, over
    ripples and noise."""

    trust_none_below: float = decided(0.36, TAU, "trust-from-fitted-values")
    trust_full_above: float = decided(0.92, TAU, "trust-from-fitted-values")
    trust_smoothing: float = decided(0.7, RATIO, "trust-from-fitted-values")
    """Between these the share of a generation that is truly evaluated falls from all of it to `least_evaluated`."""

    least_evaluated: int = decided(2, "points per generation", "surrogate")
    """Points of a generation that are truly evaluated at least."""

    trust_margin: float = decided(0.15, TAU, "cautious-trust")
    trust_predictions: tuple[int, int] = decided((6, 60), COUNT, "cautious-trust")
    """With a rich budget trust exceeds what predictions made beforehand have earned by no more than this; with fewer
    predictions than the first number they do not count, and the latest ones up to the second are kept."""

    give_up_below: float = decided(0.25, TAU, "surrogate")
    rest: tuple[int, int] = decided((8, 64), GENERATIONS, "surrogate")
    """A model that deserves less trust than this is left alone, twice as long each time up to the second number."""

    shape_above: float = decided(0.5, TAU, "surrogate")
    """From this trust on the distribution is turned towards the model's Hessian."""

    def without(self, *parts: str) -> "Policy":
        """This policy with some of `PARTS` left out."""
        for part in parts:
            if part not in PARTS:
                raise unknown("part of the default method", part, PARTS)
        return dataclasses.replace(self, left_out=tuple(sorted({*self.left_out, *parts})))

    def looks(self, dimension: int, budget: float) -> bool:
        """Whether a search of one worker with so many evaluations begins with a look."""
        return dimension <= self.look_up_to and budget <= self.look_below * dimension

    def minds_ripples(self, dimension: int, budget: float) -> bool:
        """Whether quasi-Newton yields where its slopes do not explain its values: not after a scout."""
        per_dimension = budget / dimension
        after_little = per_dimension <= self.ripples_up_to
        after_a_line = self.ripples_above_budget < per_dimension < self.rich_from
        return dimension <= self.look_up_to and (after_little or after_a_line)

    def has(self, part: str) -> bool:
        """Whether a part is used."""
        return part not in self.left_out
