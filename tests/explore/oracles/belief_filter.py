"""What ``BeliefFilter`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.trajectory.beliefs import Memory, memory
from oracles.common import inside
from oracles.stream import gradient_stream

_SHARED = explore.BeliefFilter._shared
_SPAN: int = _SHARED["window"]["span"]  # steps shown
_REACH: float = _SHARED["window"]["reach"]  # of the gradients' axis


class BeliefFilter(explore.BeliefFilter):
    def memory(self) -> Memory:
        """Return the weights of the belief."""
        return memory(self.decay, self.gamma, self.diffusion, self.noise)

    def stream(self, count: int) -> tuple[Array, Array]:
        """Return the hidden means and the gradients of steps 1 … count, each of shape (count,)."""
        return gradient_stream(self.seed, self.jumps, count)

    def beliefs(self, count: int) -> dict[str, Array]:
        """Return the moving average and the smoother after steps 1 … count; a gradient holds for one step."""
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
        beliefs = self.beliefs(self.now)
        return {name: float(np.sqrt(np.mean((line - means)[first:] ** 2))) for name, line in beliefs.items()}

    def _first(self) -> int:
        """Return the step before the first one shown."""
        return max(0, self.now - _SHARED["window"]["past"])

    def said(self) -> list[str]:
        memory, errors = self.memory(), self.errors()
        return [f"β = {memory.beta:.4f}", f"κ = B/A = {memory.gain:.3f}", *(f"{e:.3f}" for e in errors.values())]

    def shows(self) -> dict[str, list[Array]]:
        first, reach = self._first(), _SHARED["window"]["reach"]
        count = first + _SHARED["window"]["span"]
        lines = {"hidden": self.stream(count)[0], **self.beliefs(count)}
        steps, ends = np.arange(1, count + 1), {"average": self.now}
        return {
            name: inside(np.stack([steps, values], axis=1)[first : ends.get(name)], (first, count), (-reach, reach))
            for name, values in lines.items()
        }
