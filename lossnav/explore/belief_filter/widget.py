"""``BeliefFilter`` in Python: its state, both beliefs about the stream, and its static twin."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import traitlets
from numpy.typing import NDArray

from lossnav import _checks
from lossnav._checks import Array
from lossnav.belief import Memory, memory
from lossnav.explore._picture import Panel, Picture, colour
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait
from lossnav.explore.belief_filter.stream import gradient_stream

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_LAST: int = _SHARED["steps"]
_MOST_JUMPS: int = _SHARED["jumps"]
_SPAN: int = _SHARED["window"]["span"]  # steps shown
_REACH: float = _SHARED["window"]["reach"]  # of the gradients' axis


def _jumps(name: str, jumps: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    found = []
    for pair in _checks.sequence(name, jumps, "pairs (step, size)"):
        if len(_checks.sequence(f"an entry of {name}", pair, "two numbers")) != 2:
            raise ValueError(f"{name} has an entry {_checks.shown(pair)}, but each must be (step, size)")
        step, size = pair
        step = _checks.whole(f"{name}[i][0]", step, low=1, high=_LAST)
        found.append((step, _checks.finite(f"{name}[i][1]", size, low=-5.0, high=5.0)))
    if len(found) > _MOST_JUMPS:
        raise ValueError(f"{name} has {len(found)} entries, but at most {_MOST_JUMPS} are allowed")
    return found


class BeliefFilter(Explorable):
    """A belief about the mean of a stream of gradients, as moving average and as smoother (Eqs. 13, 14, 142), Δt = 1.

    The hidden mean wanders and sometimes jumps. The average sees the gradients up to now; the smoother, which is what
    the control problem asks for, sees the later ones too. Move γ, α, σ and s, let the stream run, or drag the time.

    Args:
        gamma: γ, in [0, 2] per step.
        decay: α, the believed decay of the mean, in [0, 0.5] per step.
        diffusion: σ, the believed wandering of the mean, in [0.02, 1] per √step.
        noise: s, the believed noise of a gradient, in [0.1, 5] times √step.
        now: newest step that the average has seen, in 1 … 20,000.
        seed: of the stream, in 0 … 1,000,000.
        jumps: extra jumps of the hidden mean, (step, size) with a size in [−5, 5]; at most 60.

    Raises:
        ValueError: naming the argument that does not fit.

    Example:
        >>> BeliefFilter(gamma=0, decay=0, diffusion=0.1, noise=1).memory().causal_fraction
        0.5
    """

    gamma = number_trait(_MARKS["gamma"], 0.1)
    decay = number_trait(_MARKS["decay"], 0.0)
    diffusion = number_trait(_MARKS["diffusion"], 0.1)
    noise = number_trait(_MARKS["noise"], 0.8)
    now = whole_trait((1, _LAST), 120)
    seed = whole_trait((0, 1_000_000), 3)
    jumps = traitlets.List(traitlets.Tuple(traitlets.Int(min=1), traitlets.Float())).tag(sync=True, check=_jumps)

    def memory(self) -> Memory:
        """Return the weights of the belief."""
        return memory(self.decay, self.gamma, self.diffusion, self.noise)

    def stream(self, count: int) -> tuple[Array, Array]:
        """Return the hidden means and the gradients of steps 1 … count, each of shape (count,)."""
        _checks.whole("count", count, low=1)
        return gradient_stream(self.seed, self.jumps, count)

    def beliefs(self, count: int) -> dict[str, Array]:
        """Return the moving average and the smoother after steps 1 … count; a gradient holds for one step."""
        _checks.whole("count", count, low=1)
        weights = self.memory()
        fast, ahead = weights.gamma + weights.rate, _SHARED["ahead"]
        beyond = min(ahead["steps"], math.ceil(ahead["memories"] / fast))
        data = self.stream(count + beyond)[1]
        past = weights.filter(data)
        future, kept, new = np.zeros(len(data)), math.exp(-fast), -math.expm1(-fast)
        for n in range(len(data) - 2, -1, -1):
            future[n] = kept * future[n + 1] + new * data[n + 1]
        share = weights.causal_fraction
        smoother = share * past + (1 - share) * weights.gain * future
        return {"average": past[:count], "smoother": smoother[:count]}

    def errors(self) -> dict[str, float]:
        """Return the root mean square distance of both lines from the hidden mean, over the steps shown and seen."""
        first = self._first()
        means = self.stream(self.now)[0]
        found = self.beliefs(self.now)
        return {name: float(np.sqrt(np.mean((line - means)[first:] ** 2))) for name, line in found.items()}

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        weights, errors = self.memory(), self.errors()
        return (
            f"Noisy gradients, their hidden mean and two beliefs about it up to step {self.now}, with the weights that "
            f"the beliefs give to each gradient. For γ = {self.gamma:.2f}, α = {self.decay:.2f}, "
            f"σ = {self.diffusion:.3f}, s = {self.noise:.3f}: {100 * (1 - weights.causal_fraction):.0f}% of the "
            f"smoother's weight lies on the future, the moving average has β = {weights.beta:.4f}, "
            f"κ = {weights.gain:.3f} and a memory of {1 / weights.rate:.3g} steps; its error is "
            f"{errors['average']:.3f}, the smoother's {errors['smoother']:.3f}."
        )

    def picture(self) -> str:
        """Return the stream with both beliefs, and their weights, as an SVG document."""
        image, first, weights = Picture(720, 480, _SHARED["title"]), self._first(), self.memory()
        x = (float(first), float(first + _SPAN))
        top = Panel((46, 76, 706, 300), x, (-_REACH, _REACH))
        most = max(weights.gain * weights.forgetting, float(_step_weights(weights, np.array([-1]))[0]))
        below = Panel((46, 336, 706, 430), x, (0.0, 1.1 * most))
        ticks = range(50 * math.ceil(first / 50), first + _SPAN + 1, 50)
        image.frame(top, "gradients and beliefs about their mean", (), (-4, -2, 0, 2, 4), "")
        image.frame(below, f"weight on each gradient, at most {most:.2g}", list(ticks), (0,), "step")
        self._stream_lines(image, top, first)
        steps = np.arange(first + 1, first + _SPAN + 1)
        for side in (steps[steps <= self.now], steps[steps > self.now]):
            pixels = [below.at(t, float(w)) for t, w in _stairs(side, _step_weights(weights, self.now - side))]
            outline = [(pixels[0][0], 430.0), *pixels, (pixels[-1][0], 430.0)]
            opacity = 0.45 if side[0] <= self.now else 0.75
            points = " ".join(f"{px:.1f},{py:.1f}" for px, py in outline)
            image.add("polygon", points=points, fill=colour("optimal"), fill_opacity=opacity)
        seen = steps[steps <= self.now]
        recent = weights.gain * weights.forgetting * weights.beta ** (self.now - seen)
        image.line(below, [*_stairs(seen, recent), (self.now, 0.0)], colour("belief"), 2.0)
        px = below.at(self.now, 0.0)[0]
        image.add("line", x1=px, x2=px, y1=76, y2=430, stroke=colour("ink"), stroke_opacity=0.4)
        ahead = 100 * (1 - weights.causal_fraction)
        image.text(px - 7, 350, f"past {100 - ahead:.0f}%", text_anchor="end")
        image.text(px + 7, 350, f"future {ahead:.0f}%")
        words = f"β = {weights.beta:.4f}, κ = {weights.gain:.3f}, memory {1 / weights.rate:.3g} steps"
        image.text(46, 44, f"γ = {self.gamma:.2f}: {words}")
        return image.svg()

    def _stream_lines(self, image: Picture, panel: Panel, first: int) -> None:
        count = first + _SPAN
        means, data = self.stream(count)
        found = self.beliefs(count)
        steps = np.arange(1, count + 1)
        for step in range(first + 1, count + 1):
            if abs(data[step - 1]) < _REACH:
                cx, cy = panel.at(step, float(data[step - 1]))
                opacity = 0.5 if step <= self.now else 0.22
                image.add("circle", cx=cx, cy=cy, r=1.7, fill=colour("ink"), fill_opacity=opacity)
        for name, values, until, place in (
            ("hidden", means, count, 320),
            ("smoother", found["smoother"], count, 612),
            ("average", found["average"], self.now, 458),
        ):
            line = _SHARED["lines"][name]
            points = np.stack([steps, values], axis=-1)[first:until]
            image.inside(panel, points, colour(line["tint"]), line["width"], line["dash"], name)
            image.legend(place, 68, line["name"], colour(line["tint"]), line["dash"])

    def _first(self) -> int:
        """Return the step before the first one shown."""
        return max(0, self.now - _SHARED["window"]["past"])


def _step_weights(weights: Memory, lag: NDArray[np.int64]) -> Array:
    """Return the smoother's weights on gradients ``lag`` steps ago, each of which holds for one step."""
    fast = weights.gamma + weights.rate
    past = weights.causal_fraction * weights.forgetting * np.exp(-weights.rate * np.maximum(lag, 0))
    future = -(1 - weights.causal_fraction) * np.expm1(-fast) * np.exp(fast * (np.minimum(lag, -1) + 1.0))
    return np.asarray(weights.gain * np.where(lag < 0, future, past))


def _stairs(steps: NDArray[np.int64], values: Array) -> list[tuple[float, float]]:
    """Return corners of a line that holds each value for the step that ends at its place."""
    return [(float(t - back), float(v)) for t, v in zip(steps, values, strict=True) for back in (1, 0)]
