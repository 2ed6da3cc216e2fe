"""What ``MovingNetwork`` is to show, by the library."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis import sgd
from oracles.common import compact, fixed, inside

_SHARED = explore.MovingNetwork._shared

_LONGEST: int = _SHARED["n"][1]


class MovingNetwork(explore.MovingNetwork):
    def exponent(self, n: int) -> float:
        """Return c, the slope of ``distances`` in logarithms between n − 1 and n + 1."""
        ends = n + np.array([-1, 1])
        return sgd.exponent(ends, self.distances(ends))

    def nearest(self) -> tuple[dict[str, Any], bool]:
        """Return the recorded run with the nearest setting, and whether that is this setting (within 4 %)."""

        def away(run: dict[str, Any]) -> Array:
            ratios = (run["eta"] / self.eta, run["batch"] / self.batch, (1 - run["beta"]) / (1 - self.beta))
            return np.abs(np.log(ratios))

        run = min(_SHARED["runs"], key=lambda candidate: float(np.sum(away(candidate))))
        return run, bool(np.max(away(run)) < _SHARED["near"])

    def said(self) -> list[str]:
        far, c = float(self.distances(self.n)), self.exponent(self.n)
        return [f"|Δ|² = {compact(far)}", f"c = {fixed(c, 2)}"]

    def shows(self) -> dict[str, list[Array]]:
        across = (0.0, float(np.log10(_LONGEST)))
        steps = np.unique(np.rint(10 ** np.linspace(0, across[1], 241)).astype(int))
        later = steps[steps > 1]
        exponents = [self.exponent(int(k)) for k in later]
        return {
            "far": inside(np.log10(np.stack([steps, self.distances(steps)], axis=1)), across, _SHARED["far"]),
            "slope": inside(np.stack([np.log10(later), exponents], axis=1), across, (0.0, 2.1)),
        }
