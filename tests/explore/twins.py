"""A frame of the script against the library: settings, the lines that are drawn, and the numbers that are told."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import oracles
from oracles.common import seen
from scipy.spatial import KDTree

from lossnav import explore

WIDGETS = {
    **{name: getattr(oracles, name) for name in explore.__all__ if name != "Explorable"},
    "acceleration that overestimates": lambda: oracles.Acceleration(30.0, 1.7, 0.4),
    "acceleration that underestimates": lambda: oracles.Acceleration(8.0, 0.6, 0.02),
    "assumed by the patient": lambda: oracles.AssumptionPlot(0.0, 0.1, 8.0, 0.7, 5.0),
    "ball along the axes": lambda: oracles.BallDecides(0.0, 2.0, 2, (-0.6, 1.1)),
    "ball from near by": lambda: oracles.BallDecides(22.5, 0.0, 2, (0.2, 0.2)),
    "ball that is round": lambda: oracles.BallDecides(-30.0, 1.0, 1, (0.9, 1.0)),
    "ball that is a diamond": lambda: oracles.BallDecides(22.5, 0.5, 0, (1.0, 0.4)),
    "belief after a jump": lambda: oracles.BeliefFilter(0.4, 0.05, 0.3, 1.0, now=420, jumps=[(400, 2.0)]),
    "belief after two jumps at once": lambda: oracles.BeliefFilter(now=60, jumps=[(50, 2.0), (50, -3.0)]),
    "believed by a row that is turned away": lambda: oracles.BelievedEllipse((-0.6, 0.2), -60.0, 60.0, 3.0, 2.0),
    "board of AdamW": lambda: oracles.Board("discounted", "rms", "decay", "average", "none", dt=0.5, noise=0.5),
    "board that is lost": lambda: oracles.Board("discounted", "plain", "none", "exact", "none", dt=1.15),
    "charge that decays": lambda: oracles.BrokenCharge((-0.5, 1.5), 0.01, 0.8, 0.05, 0.0),
    "deadline that is charged": lambda: oracles.Deadline(8.0, 0.2, 1.5, (0.0, 0.5, 1.0, 1.0, 0.6, 0.2, 0.1)),
    "well from the right": lambda: oracles.DoubleWell(start=0.4, gamma=0.8),
    "drift that decays": lambda: oracles.DriftField((0.2, -1.7), (1.0, 1.0), -3.0, 1.0, 0.0),
    "extremals with a far horizon": lambda: oracles.Extremals(-0.03, 2.5, 2.0),
    "horizon without discount": lambda: oracles.Horizon((1, 3), 0.0, 0.5),
    "looks without a discount": lambda: oracles.LookBill(0.0, 0.5, 0.2, 3.0),
    "metric askew": lambda: oracles.MetricEllipse((-1.5, 1.1), 60.0, 5.0, 0.0),
    "moving network where no run was recorded": lambda: oracles.MovingNetwork(0.004, 30, 0.7, 1000),
    "noise like a power": lambda: oracles.NoiseSpectrum(0.05, 0.5, 0.25, 0, 30),
    "noisy and flat": lambda: oracles.NoisyOscillator((-1.0, 1.0), 0.3, 0.0, 0.4),
    "noisy beyond": lambda: oracles.NoisyOscillator((0.3, 0.1), 0.9, 0.1, 3.0),
    "noisy valley askew": lambda: oracles.NoisyValley((-0.5, 1.0), 70.0, 10.0),
    "selves who have not begun": lambda: oracles.OtherSelves(n=0),
    "selves after a step": lambda: oracles.OtherSelves(n=1),
    "short steps without discount": lambda: oracles.PlannedSteps(0.0, 0.2),
    "regret of the impatient": lambda: oracles.RegretRace((-0.8, 0.6), 4.0, 30.0),
    "preconditioner of long steps": lambda: oracles.Preconditioner(30.0, 1.0, 0.5),
    "ring at rest": lambda: oracles.RingLock(0.8, 0.9),
    "ring at rest without a discount": lambda: oracles.RingLock(0.0, 1.1),
    "ring without a place to rest": lambda: oracles.RingLock(2.0, 1.5),
    "stay map right of the line": lambda: oracles.StayMap(0.6, -0.2),
    "arcs between narrow ends": lambda: oracles.NormalArcs(0.3, 0.2, 0.8),
    "cone with a steady pull": lambda: oracles.ScaleCone(0.3, 0.5, 0.02, 0.0, 1.5),
    "one map without a discount": lambda: oracles.OneMap(0.0, 0.0, (1.0, -1.5)),
    "one map along its flat mode": lambda: oracles.OneMap(1.0, 0.5, (1.5, 0.0)),
    "one map where nothing swings": lambda: oracles.OneMap(3.0, 2.5, (-1.7, 1.2)),
    "race on a hill that leans left": lambda: oracles.Race((1.4, -0.6), 0.9, 0.5),
    "race between equal wells": lambda: oracles.Race((0.1, 0.5), 5.0, 0.0, dug=(0.0, 0.9)),
    "race with a well dug": lambda: oracles.Race((-1.2, 0.5), 0.9, -0.3, dug=(0.1, 0.9)),
    "race round a hill": lambda: oracles.Race((-1.5, 0.5), 0.4, 0.3, dug=(0.4, -0.6)),
    "life of switches": lambda: oracles.TaskSwitch(0.0, 0.8, 2.0, -1.0, [(1.0, 0.5, 2.0), (2.2, 2.0, -1.0)], 5.0),
}
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
    explore.BallDecides,
    explore.OneMap,
    explore.RegretRace,
    explore.RingLock,
    explore.Preconditioner,
)


def by_name(curves) -> dict[str, list[np.ndarray]]:
    lines = defaultdict(list)
    for name, points in curves:
        lines[name].append(np.asarray(points, dtype=float))
    return dict(lines)


def distance(points: np.ndarray, lines: list[np.ndarray], size: np.ndarray) -> float:
    """The largest distance of a point from the nearest of the lines' pieces, in parts of ``size``; exact beyond 0.004.

    A point is compared with the pieces whose middles are nearest, and with all where that leaves it away from them.
    """
    starts = np.concatenate([line[:-1] for line in lines]) / size
    steps = np.concatenate([np.diff(line, axis=0) for line in lines]) / size
    points = points / size
    _, near = KDTree(starts + steps / 2).query(points, k=range(1, 1 + min(6, len(starts))))
    distances = from_pieces(points, starts[near], steps[near])
    left = distances > 0.004
    distances[left] = from_pieces(points[left], starts, steps)
    return float(np.max(distances))


def from_pieces(points: np.ndarray, starts: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The distance of each point, shape (N, 2), from the nearest of its pieces, shape (M, 2) or (N, M, 2)."""
    away = points[:, None, :] - starts
    long = np.maximum(np.sum(steps**2, axis=-1), 1e-30)
    share = np.clip(np.sum(away * steps, axis=-1) / long, 0, 1)
    return np.min(np.linalg.norm(away - share[..., None] * steps, axis=-1), axis=1)


def assert_shows_the_same(widget: explore.Explorable, drawn: list, words: str) -> None:
    """Compare an oracle with the lines that CURVES found in a frame of its script, and with the words about it."""
    curves = hasattr(widget, "lines")
    frame, known = by_name(drawn), {name: lines for name, lines in shown_lines(widget).items() if lines}
    assert known
    assert set(known) == set(frame)
    for curve, lines in known.items():
        low, high = (pick(np.concatenate(lines), axis=0) for pick in (np.min, np.max))
        size = np.full(2, np.max(high - low)) if isinstance(widget, PLANES) else high - low
        if curves:  # lines may be level, or upright
            axis, row = widget._shared["axis"], widget._shared["rows"][widget._shared["lines"][curve]["row"]]
            across = np.log10(axis["range"]) if axis.get("log") else axis["range"]
            size = np.array([across[-1] - across[0], row["range"][-1] - row["range"][0]])
        # The frame rounds to pixels, the oracle clips; an arrow's shaft stops short of its tip by some pixels.
        arrow = curve in ARROWS and not curves
        near = 0.04 if arrow else 0.012
        assert distance(np.concatenate(lines), frame[curve], size) < near, curve
        inside = (near if arrow else 1e-3) * size
        seen_lines = [line[np.all((line >= low - inside) & (line <= high + inside), axis=1)] for line in frame[curve]]
        assert distance(np.concatenate(seen_lines), lines, size) < near, curve
    for number in re.findall(r"[−]?\d+\.\d+", " ".join(widget.said())) if curves else widget.said():
        assert number in words
    assert (widget.headline() if hasattr(widget, "headline") else widget._shared["title"]) in words


def shown_lines(widget: explore.Explorable) -> dict[str, list[np.ndarray]]:
    """The lines that an explorable is to show, by the library."""
    return seen(widget) if hasattr(widget, "lines") else widget.shows()
