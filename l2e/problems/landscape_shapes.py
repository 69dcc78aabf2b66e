"""The shapes that random landscapes are made of: how their numbers are drawn, and their values around the minimum.

A shape is zero at y = 0 and positive elsewhere, whatever is drawn: so the minimum of anything built from shapes is
known without searching for it. Each is written once, for numpy and for `jax.numpy`: the array module is an argument.
No shape is a formula of BBOB, and none is fitted to one.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

HALF = 5.0
"""Landscapes live in [-HALF, HALF]^D."""

OCTAVES = 5
"""Scales of waves upon waves."""

Numbers = dict[str, np.ndarray]


class Shape(NamedTuple):
    """`draw(rng, dimension, x_opt)` gives the numbers of one; `value(xp, numbers, y)` its values, (n, d) -> (n,)."""

    draw: Callable[[np.random.Generator, int, np.ndarray], Numbers]
    value: Callable[[Any, Any, Any], Any]


def spectrum(rng: np.random.Generator, d: int, most: float) -> np.ndarray:
    """Positive numbers with a largest ratio below 10^most: scattered, in two groups, or falling by a power law."""
    decades = rng.uniform(0, most)
    match int(rng.integers(3)):
        case 0:
            logs = rng.uniform(0, decades, d)
        case 1:
            logs = decades * (rng.random(d) < rng.uniform(0.2, 0.8)) + rng.uniform(0, 0.5, d)
        case _:
            logs = decades * np.log10(np.arange(1, d + 1)) / max(math.log10(d), 0.1)
    return 10.0 ** (rng.permutation(logs) - logs.min())


def draw_axes(rng: np.random.Generator, d: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Axes of its own for a shape: a turn and a warp, each of them often None."""
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0] if rng.random() < 0.75 else None
    warp = rng.uniform(-0.5, 0.5, d) if rng.random() < 0.4 else None
    return turn, warp


def on_axes(xp: Any, y: Any, turn: Any, warp: Any) -> Any:
    """Points on a shape's own axes, computed by this array module."""
    if warp is not None:
        y = y * xp.exp(warp * xp.tanh(y))  # monotone, and 0 stays 0
    return y if turn is None else y @ turn


def _bowl(xp: Any, p: Any, y: Any) -> Any:
    """sum a_i y_i^2"""
    return y**2 @ p["a"]


def _powers(xp: Any, p: Any, y: Any) -> Any:
    """sum a_i |y_i|^p_i, from kinks to flat bottoms"""
    return (xp.abs(y) + 1e-300) ** p["p"] @ p["a"]


def _kinks(xp: Any, p: Any, y: Any) -> Any:
    """max_k |a_k . y|"""
    return xp.abs(y @ p["a"]).max(axis=1)


def _soft(xp: Any, p: Any, y: Any) -> Any:
    """log mean_k cosh(a_k . y): smooth near the minimum, linear far away"""
    t = xp.abs(y @ p["a"])
    top = t.max(axis=1)
    rest = t - top[:, None]
    return top + xp.log(((xp.exp(rest) + xp.exp(rest - 2 * t)) / 2).mean(axis=1))


def _bent(xp: Any, p: Any, y: Any, by: Any) -> Any:
    """y_1^2 + sum a_i (y_(i+1) - c_i (sin(w_i b_i + s_i) - sin s_i))^2: a valley that b bends, with a gentle slope"""
    bend = p["c"] * (xp.sin(p["w"] * by + p["s"]) - xp.sin(p["s"]))
    return y[:, 0] ** 2 + (y[:, 1:] - bend) ** 2 @ p["a"]


def _valley(xp: Any, p: Any, y: Any) -> Any:
    """Bent by the first coordinate alone"""
    return _bent(xp, p, y, y[:, :1])


def _chain(xp: Any, p: Any, y: Any) -> Any:
    """Each coordinate bends the valley of the next"""
    return _bent(xp, p, y, y[:, :-1])


def _lopsided(xp: Any, p: Any, y: Any) -> Any:
    """sum a_i y_i^2 exp(r_i tanh(w_i y_i)): bowls steeper on one side than on the other"""
    return (y**2 * xp.exp(p["r"] * xp.tanh(p["w"] * y))) @ p["a"]


def _products(xp: Any, p: Any, y: Any) -> Any:
    """mean_k (u_k . y + (v_k . y) (w_k . y))^2: least squares of more second-order polynomials than coordinates"""
    return ((y @ p["u"] + (y @ p["v"]) * (y @ p["w"])) ** 2).mean(axis=1)


def _ridge(xp: Any, p: Any, y: Any) -> Any:
    """(y . along)^2 + a (|y|^2 - (y . along)^2)^q, q < 1: steep to the sides, gentle along"""
    along = (y @ p["along"]) ** 2
    beside = xp.maximum((y**2).sum(axis=1) - along, 0.0)
    return along + p["a"] * (beside + 1e-300) ** p["q"]


def _network(xp: Any, p: Any, y: Any) -> Any:
    """mean_k (tanh(w_k . y + c_k) - tanh c_k)^2: least squares of a layer of neurons"""
    return ((xp.tanh(y @ p["w"] + p["c"]) - xp.tanh(p["c"])) ** 2).mean(axis=1)


def _ripples(xp: Any, p: Any, y: Any) -> Any:
    """sum a_i (y_i^2 + b (1 - cos w_i y_i) + c (1 - cos 3.7 w_i y_i)): each coordinate has minima of its own"""
    turned = y * p["w"]
    return (y**2 + p["b"] * (1 - xp.cos(turned)) + p["c"] * (1 - xp.cos(3.7 * turned))) @ p["a"]


def _waves(xp: Any, p: Any, y: Any) -> Any:
    """b |y|^2 + sum_k a_k (1 - cos(w_k . y)): a sample of a random field, with its minimum planted"""
    return p["b"] * (y**2).sum(axis=1) + (1 - xp.cos(y @ p["w"])) @ p["a"]


def _octaves(xp: Any, p: Any, y: Any) -> Any:
    """b |y|^2 + sum_j h^j mean_k (1 - cos(2^j w_k . y)): waves upon waves, rough at several scales"""
    turned = y @ p["w"]
    waves = sum(p["h"] ** j * (1 - xp.cos(2.0**j * turned)).mean(axis=1) for j in range(OCTAVES))
    return p["b"] * (y**2).mean(axis=1) + waves


def _wells(xp: Any, p: Any, y: Any) -> Any:
    """b |y|^2 + min_k (o_k + q_k / (1 + q_k)), q_k = sum a_k (y - m_k)^2: wells of different depth and width"""
    away = y[:, None, :] - p["m"]
    q = (away**2 * p["a"]).sum(axis=2)
    return p["b"] * (y**2).sum(axis=1) + (p["o"] + q / (1 + q)).min(axis=1)


def _funnels(xp: Any, p: Any, y: Any) -> Any:
    """min(|y|^2q, o + a |y - m|^2q) + b (1 - cos): a narrow funnel with the minimum beside a wide one without it"""
    near = ((y**2).sum(axis=1) + 1e-300) ** p["q"]
    far = p["o"] + p["a"] * ((y - p["m"]) ** 2).sum(axis=1) ** p["q"]
    return xp.minimum(near, far) + p["b"] * (1 - xp.cos(y @ p["w"])).sum(axis=1)


def _rows(rng: np.random.Generator, d: int, count: int, most: float) -> np.ndarray:
    """Random directions as columns, of lengths that differ by up to 10^most."""
    return rng.standard_normal((d, count)) / math.sqrt(d) * np.sqrt(spectrum(rng, d, most))[:, None]


def _draw_ridge(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    along = rng.standard_normal(d)
    return {
        "along": along / np.linalg.norm(along),
        "a": np.asarray(10.0 ** rng.uniform(0.5, 2)),
        "q": np.asarray(rng.uniform(0.3, 0.8)),
    }


def _draw_ripples(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    return {
        "a": spectrum(rng, d, 2.0),
        "b": np.asarray(10.0 ** rng.uniform(-0.5, 1.3)),
        "c": np.asarray(rng.choice([0.0, 10.0 ** rng.uniform(-1, 0)])),
        "w": rng.uniform(0.7, 1.4) * rng.uniform(1.5, 6, d),
    }


def _draw_waves(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    count = 3 * d
    return {
        "b": np.asarray(10.0 ** rng.uniform(-1.5, 0.5)),
        "a": rng.exponential(1.0, count),
        "w": rng.standard_normal((d, count)) * rng.uniform(0.5, 2.5) / math.sqrt(d),
    }


def _draw_octaves(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    count = 2 * d
    return {
        "b": np.asarray(10.0 ** rng.uniform(-2, 0.5)),
        "h": np.asarray(rng.uniform(0.2, 0.7)),
        "w": rng.standard_normal((d, count)) * rng.uniform(0.3, 1.5) / math.sqrt(d),
    }


def _draw_wells(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    count = int(rng.integers(3, 16))
    places = rng.uniform(-HALF, HALF, (count, d)) - x_opt
    places[0] = 0
    lifts = rng.uniform(0.02, 0.8, count)
    lifts[0] = 0
    scale = 10.0 ** rng.uniform(-1.5, 0.5, (count, 1))
    return {
        "b": np.asarray(10.0 ** rng.uniform(-4, -2)),
        "m": places,
        "o": lifts,
        "a": scale * np.stack([spectrum(rng, d, 2.0) for _ in range(count)]) / d,
    }


def _draw_funnels(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    return {
        "q": np.asarray(rng.uniform(0.5, 1.0)),
        "o": np.asarray(rng.uniform(0.1, 2.0)),
        "a": np.asarray(rng.uniform(0.3, 0.9)),
        "m": rng.uniform(-HALF, HALF, d) - x_opt,
        "b": np.asarray(rng.choice([0.0, 10.0 ** rng.uniform(-1, 0.5)])),
        "w": np.linalg.qr(rng.standard_normal((d, d)))[0] * rng.uniform(1.5, 5),
    }


def _draw_valley(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    n = max(d - 1, 0)
    return {
        "a": 10.0 ** rng.uniform(1, 4) * spectrum(rng, n, 1.0) if n else np.empty(0),
        "c": rng.uniform(0.3, 2, n),
        "w": rng.uniform(0.3, 1.2, n),
        "s": rng.uniform(0, 2 * math.pi, n),
    }


def _draw_chain(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    n = max(d - 1, 0)
    return {
        "a": 10.0 ** rng.uniform(0, 3) * spectrum(rng, n, 1.0) if n else np.empty(0),
        "c": rng.uniform(0.5, 3, n) * rng.choice([-1, 1], n),
        "w": rng.uniform(0.2, 0.8, n),
        "s": rng.uniform(0, 2 * math.pi, n),
    }


def _draw_products(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    count = int(rng.integers(2, 5)) * d
    bend = 10.0 ** rng.uniform(-1.5, 0)
    return {
        "u": _rows(rng, d, count, 2.0),
        "v": bend * rng.standard_normal((d, count)) / math.sqrt(d),
        "w": rng.standard_normal((d, count)) / math.sqrt(d),
    }


def _draw_lopsided(rng: np.random.Generator, d: int, x_opt: np.ndarray) -> Numbers:
    return {"a": spectrum(rng, d, 4.0), "r": rng.uniform(-2, 2, d), "w": 10.0 ** rng.uniform(-0.5, 1, d)}


SHAPES: dict[str, Shape] = {
    "bowl": Shape(lambda rng, d, x: {"a": spectrum(rng, d, 6.0)}, _bowl),
    "powers": Shape(lambda rng, d, x: {"a": spectrum(rng, d, 2.0), "p": rng.uniform(0.8, 4, d)}, _powers),
    "kinks": Shape(lambda rng, d, x: {"a": _rows(rng, d, 2 * d, 3.0)}, _kinks),
    "soft": Shape(lambda rng, d, x: {"a": _rows(rng, d, 3 * d, 2.0)}, _soft),
    "valley": Shape(_draw_valley, _valley),
    "ridge": Shape(_draw_ridge, _ridge),
    "network": Shape(lambda rng, d, x: {"w": _rows(rng, d, 4 * d, 1.0), "c": rng.uniform(-1, 1, 4 * d)}, _network),
    "ripples": Shape(_draw_ripples, _ripples),
    "waves": Shape(_draw_waves, _waves),
    "wells": Shape(_draw_wells, _wells),
    "funnels": Shape(_draw_funnels, _funnels),
    "chain": Shape(_draw_chain, _chain),
    "lopsided": Shape(_draw_lopsided, _lopsided),
    "products": Shape(_draw_products, _products),
    "octaves": Shape(_draw_octaves, _octaves),
}
SMOOTH = ("bowl", "powers", "soft", "valley", "network", "ridge")
"""Shapes on which plateaus and noise are put."""
