"""The static twin, which Python computes and draws, against a frame of the script: settings, lines, and words."""

from __future__ import annotations

import functools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict

import numpy as np
from scipy.spatial import KDTree

from lossnav import explore
from lossnav.explore._curves import Curves
from lossnav.explore._picture import signed

WIDGETS = {
    "acceleration": lambda: explore.Acceleration(),
    "acceleration that overestimates": lambda: explore.Acceleration(30.0, 1.7, 0.4),
    "acceleration that underestimates": lambda: explore.Acceleration(8.0, 0.6, 0.02),
    "belief": lambda: explore.BeliefFilter(),
    "belief after a jump": lambda: explore.BeliefFilter(0.4, 0.05, 0.3, 1.0, now=420, jumps=[(400, 2.0)]),
    "believed": lambda: explore.BelievedEllipse(),
    "believed by a row that is turned away": lambda: explore.BelievedEllipse((-0.6, 0.2), -60.0, 60.0, 3.0, 2.0),
    "board": lambda: explore.Board(),
    "board of AdamW": lambda: explore.Board("discounted", "rms", "decay", "average", "none", dt=0.5, noise=0.5),
    "board that is lost": lambda: explore.Board("discounted", "plain", "none", "exact", "none", dt=1.15),
    "charge": lambda: explore.BrokenCharge(),
    "charge that decays": lambda: explore.BrokenCharge((-0.5, 1.5), 0.01, 0.8, 0.05, 0.0),
    "deadline": lambda: explore.Deadline(),
    "deadline that is charged": lambda: explore.Deadline(8.0, 0.2, 1.5, (0.0, 0.5, 1.0, 1.0, 0.6, 0.2, 0.1)),
    "well": lambda: explore.DoubleWell(),
    "well from the right": lambda: explore.DoubleWell(start=0.4, gamma=0.8),
    "drift": lambda: explore.DriftField(),
    "drift that decays": lambda: explore.DriftField((0.2, -1.7), (1.0, 1.0), -3.0, 1.0, 0.0),
    "extremals": lambda: explore.Extremals(),
    "extremals with a far horizon": lambda: explore.Extremals(-0.03, 2.5, 2.0),
    "horizon": lambda: explore.Horizon(),
    "horizon without discount": lambda: explore.Horizon((1, 3), 0.0, 0.5),
    "metric": lambda: explore.MetricEllipse(),
    "metric askew": lambda: explore.MetricEllipse((-1.5, 1.1), 60.0, 5.0, 0.0),
    "moving network": lambda: explore.MovingNetwork(),
    "moving network where no run was recorded": lambda: explore.MovingNetwork(0.004, 30, 0.7, 1000),
    "noise on the spectrum": lambda: explore.NoiseSpectrum(),
    "noise like a power": lambda: explore.NoiseSpectrum(0.05, 0.5, 0.25, 0, 30),
    "noisy": lambda: explore.NoisyOscillator(),
    "noisy and flat": lambda: explore.NoisyOscillator((-1.0, 1.0), 0.3, 0.0, 0.4),
    "noisy beyond": lambda: explore.NoisyOscillator((0.3, 0.1), 0.9, 0.1, 3.0),
    "noisy valley": lambda: explore.NoisyValley(),
    "noisy valley askew": lambda: explore.NoisyValley((-0.5, 1.0), 70.0, 10.0),
    "steps": lambda: explore.PlannedSteps(),
    "short steps without discount": lambda: explore.PlannedSteps(0.0, 0.2),
    "regret": lambda: explore.RegretRace(),
    "regret of the impatient": lambda: explore.RegretRace((-0.8, 0.6), 4.0, 30.0),
    "preconditioner": lambda: explore.Preconditioner(),
    "preconditioner of long steps": lambda: explore.Preconditioner(30.0, 1.0, 0.5),
    "stay map": lambda: explore.StayMap(),
    "stay map right of the line": lambda: explore.StayMap(0.6, -0.2),
    "arcs": lambda: explore.NormalArcs(),
    "arcs between narrow ends": lambda: explore.NormalArcs(0.3, 0.2, 0.8),
    "cone": lambda: explore.ScaleCone(),
    "cone with a steady pull": lambda: explore.ScaleCone(0.3, 0.5, 0.02, 0.0, 1.5),
    "race": lambda: explore.Race(),
    "race on a hill that leans left": lambda: explore.Race((1.4, -0.6), 0.9, 0.5),
    "race with a well dug": lambda: explore.Race((-1.2, 0.5), 0.9, -0.3, dug=(0.1, 0.9)),
    "race round a hill": lambda: explore.Race((-1.5, 0.5), 0.4, 0.3, dug=(0.4, -0.6)),
    "switch": lambda: explore.TaskSwitch(),
    "life of switches": lambda: explore.TaskSwitch(0.0, 0.8, 2.0, -1.0, [(1.0, 0.5, 2.0), (2.2, 2.0, -1.0)], 5.0),
}
WIDGETS |= {made.__name__: made for name in explore.__all__ if issubclass(made := getattr(explore, name), Curves)}
ARROWS = {"newton", "descent", "ballistic", "natural", "drift", "down", "round"}
ARROWS |= {f"{belief} step" for belief in ("scalar", "diagonal", "kronecker", "eigenbasis", "full")}
PLANES = (
    explore.Board,
    explore.Acceleration,  # a line of its may be level, and has no height of its own
    explore.BelievedEllipse,
    explore.DriftField,
    explore.Horizon,
    explore.MetricEllipse,
    explore.NoisyOscillator,
    explore.NoisyValley,
    explore.RegretRace,
    explore.Preconditioner,
)

# Points of each named line, in data: the script says at which pixels the origin and (1, 1) lie.
CURVES = """[...document.querySelectorAll("#one [data-curve]")].map((path) => {
  const [x0, y0, x1, y1] = path.dataset.units.split(" ").map(Number);
  const points = [...path.getAttribute("d").matchAll(/[ML]([-\\d.]+) ([-\\d.]+)/g)];
  return [path.dataset.curve, points.map(([, x, y]) => [(x - x0) / (x1 - x0), (y - y0) / (y1 - y0)])];
})"""


@functools.cache
def settings() -> list[explore.Explorable]:
    """One explorable of each setting."""
    return [make() for make in WIDGETS.values()]


def twin_curves(picture: ElementTree.Element) -> list[tuple[str, np.ndarray]]:
    found = []
    for node in picture.iter():
        if (name := node.get("data-curve")) is None:
            continue
        x0, y0, x1, y1 = map(float, node.get("data-units", "").split())
        ends = [[float(node.get(f"{axis}{i}")) for axis in "xy"] for i in (1, 2)] if node.tag.endswith("line") else None
        pixels = np.array(ends or re.findall(r"[ML]([-\d.]+) ([-\d.]+)", node.get("d", "")), dtype=float)
        found.append((name, (pixels - [x0, y0]) / [x1 - x0, y1 - y0]))
    return found


def by_name(curves) -> dict[str, list[np.ndarray]]:
    found = defaultdict(list)
    for name, points in curves:
        found[name].append(np.asarray(points, dtype=float))
    return dict(found)


def distance(points: np.ndarray, lines: list[np.ndarray], size: np.ndarray) -> float:
    """The largest distance of a point from the nearest of the lines' pieces, in parts of ``size``; exact beyond 0.004.

    A point is compared with the pieces whose middles are nearest, and with all where that leaves it away from them.
    """
    starts = np.concatenate([line[:-1] for line in lines]) / size
    steps = np.concatenate([np.diff(line, axis=0) for line in lines]) / size
    points = points / size
    _, near = KDTree(starts + steps / 2).query(points, k=range(1, 1 + min(6, len(starts))))
    found = from_pieces(points, starts[near], steps[near])
    left = found > 0.004
    found[left] = from_pieces(points[left], starts, steps)
    return float(np.max(found))


def from_pieces(points: np.ndarray, starts: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The distance of each point, shape (N, 2), from the nearest of its pieces, shape (M, 2) or (N, M, 2)."""
    away = points[:, None, :] - starts
    long = np.maximum(np.sum(steps**2, axis=-1), 1e-30)
    share = np.clip(np.sum(away * steps, axis=-1) / long, 0, 1)
    return np.min(np.linalg.norm(away - share[..., None] * steps, axis=-1), axis=1)


def fixed(value: float, digits: int) -> str:
    return signed(round(float(value), digits) + 0.0, digits)  # + 0.0: no minus before a rounded zero


def compact(value: float) -> str:
    """Three digits, as readouts write them."""
    return fixed(value, 2 - math.floor(math.log10(abs(value))))


def said(widget: explore.Explorable) -> list[str]:
    """Numbers that the script must tell, from the Python side."""
    match widget:
        case explore.Acceleration():
            rules = ("descent", "nesterov", "heavy", "ballistic", "newton")
            kept = [fixed(float(widget.kept(rule, widget.curvature)), 3) for rule in rules]
            return [f"√κ = {compact(math.sqrt(widget.kappa))}", *kept]
        case explore.BeliefFilter():
            memory, errors = widget.memory(), widget.errors()
            return [f"β = {memory.beta:.4f}", f"κ = B/A = {memory.gain:.3f}", *(f"{e:.3f}" for e in errors.values())]
        case explore.BelievedEllipse():
            long = [fixed(float(np.linalg.norm(step)), 2) for step in widget.steps().values()]
            return [*long, *(f"{fixed(angle, 1)}°" for angle in widget.off().values())]
        case explore.Board():
            path = widget.path()
            where = [f"({fixed(x, 2)}, {fixed(y, 2)})" for x, y in (path[1], path[-1])]
            lost = np.max(np.abs(path[-1])) > 40
            return [where[0], f"lost after {len(path) - 1} steps" if lost else where[1], str(widget.name())]
        case explore.BrokenCharge():
            last, alone = widget.imbalance()[-1], widget.decay_alone()[-1]
            return [f"to {fixed(last, 2)}", f"leave {fixed(alone, 2)}", f"ab = {fixed(np.prod(widget.walk()[-1]), 2)}"]
        case explore.Deadline():
            weight, _ = widget.weight()
            left = [fixed(float(widget.multiplier(h, widget.span / 10)), 2) for h in (0.0, 1.0, 25.0)]
            return [*left, f"negative for {fixed(100 * np.mean(weight < -1e-9), 0)} %"]
        case Curves():
            return re.findall(r"[−]?\d+\.\d+", widget.description())
        case explore.DoubleWell():
            return [signed(action, 4) for action in widget.actions().values() if math.isfinite(action)]
        case explore.DriftField():
            places = (widget.end(), widget.effective_minimum())
            return [f"({fixed(x, 3)}, {fixed(y, 3)})" for x, y in places]
        case explore.Extremals():
            return [f"J = {compact(widget.cost(widget.growing))}", f"at c₊ = {fixed(widget.best(), 3)}"]
        case explore.Horizon():
            x, y = widget.steps()["optimal"]
            return [f"({fixed(x, 2)}, {fixed(y, 2)})"]
        case explore.MetricEllipse():
            return [f"{widget.spread():.1f}°", f"J = {compact(widget.path().action)}"]
        case explore.RegretRace():
            least = min(widget.regrets().values(), key=lambda one: one.relative)
            return [f"pays {compact(least.relative)} of"]
        case explore.MovingNetwork() | explore.NoiseSpectrum():
            far, c = float(widget.distances(widget.n)), widget.exponent(widget.n)
            return [f"|Δ|² = {compact(far)}", f"c = {fixed(c, 2)}"]
        case explore.NoisyOscillator():
            law = widget.law()
            return [f"ζ = {compact(widget.mode().zeta)}", "diverges" if law is None else compact(math.sqrt(law[0, 0]))]
        case explore.NoisyValley():
            return [f"2Q₁₂ = {fixed(2 * widget.process().skew[0, 1], 3)}", "A valley at 45.0°"]
        case explore.PlannedSteps():
            return [*(fixed(J, 3) for J in widget.costs().values()), f"m = {fixed(widget.factors()['planned'], 4)}"]
        case explore.NormalArcs():
            return [fixed(length, 3) for length in widget.lengths().values()]
        case explore.Preconditioner():
            gamma, dt = widget.gamma, widget.dt
            corner = f"γ²/4 = {compact(gamma**2 / 4)}" if gamma * dt < 2 else f"γ/Δt = {compact(gamma / dt)}"
            return [corner, *(compact(value) for value in widget.values().values() if value >= 0.01)]
        case explore.StayMap():
            return [f"J = {fixed(J, 4)}" for J in widget.actions().values() if math.isfinite(J)]
        case explore.ScaleCone():
            return [f"{compact(1000 * widget.angle())} mrad", f"r∗ = {compact(widget.rest())}"]
        case explore.Race():
            ends = [f"{count} of 26" for count in widget.deep_ends().values()]
            start = [fixed(widget.action(), 3), fixed(widget.losses()["adam"][0], 2)]
            known = [] if widget.dug[1] else [f"γₕₑₜ = {widget.threshold():.3f}"]
            return [*ends, *start, *known, f"deepest at θ₁ = {fixed(widget.deepest(), 2)}"]
        case explore.TaskSwitch():
            following = widget.next_task()
            return [
                f"r = {compact(widget.rate())}",
                f"v* = λₛ/(kH) = {compact(following.rest)}",
                f"v = {compact(widget.variance())}",
            ]
    raise TypeError(type(widget))


def assert_shows_the_same(widget: explore.Explorable, drawn: list, words: str) -> None:
    """Compare a picture by Python with the lines that CURVES found in a frame, and with the words about it."""
    picture = ElementTree.fromstring(widget.picture())
    frame, twin = by_name(drawn), by_name(twin_curves(picture))
    assert twin
    assert set(twin) == set(frame)
    for curve, lines in twin.items():
        low, high = (pick(np.concatenate(lines), axis=0) for pick in (np.min, np.max))
        size = np.full(2, np.max(high - low)) if isinstance(widget, PLANES) else high - low
        if isinstance(widget, Curves):  # lines may be level, or upright
            axis, row = widget._shared["axis"], widget._shared["rows"][widget._shared["lines"][curve]["row"]]
            across = np.log10(axis["range"]) if axis.get("log") else axis["range"]
            size = np.array([across[-1] - across[0], row["range"][-1] - row["range"][0]])
        # Both round to pixels, and the twin clips; an arrow's shaft stops short of its tip by some pixels.
        near = 0.04 if curve in ARROWS else 0.012
        assert distance(np.concatenate(lines), frame[curve], size) < near, curve
        inside = (near if curve in ARROWS else 1e-3) * size
        seen = [line[np.all((line >= low - inside) & (line <= high + inside), axis=1)] for line in frame[curve]]
        assert distance(np.concatenate(seen), lines, size) < near, curve
    for number in said(widget):
        assert number in words
    (title,) = (node.text for node in picture.iter() if node.get("font-size") == "17")
    assert title in words
