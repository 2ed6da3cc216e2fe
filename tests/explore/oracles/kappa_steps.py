"""What ``KappaSteps`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis.acceleration import tuned
from oracles.common import grid, points

_SHARED = explore.KappaSteps._shared
_AXIS = _SHARED["axis"]


class KappaSteps(explore.KappaSteps):
    def lines(self) -> dict[str, Array]:
        """Return log₁₀ of the numbers of steps, over log₁₀ κ."""
        kappa = grid(_AXIS)
        counts = [self._steps(float(value)) for value in kappa]
        return {rule: points(_AXIS, kappa, np.log10([count[rule] for count in counts])) for rule in _SHARED["lines"]}

    def _steps(self, kappa: float) -> dict[str, float]:
        """Return the steps by rule, from what a step keeps of the flattest mode."""
        flat, root = 1 / kappa, kappa**-0.5
        kept = {
            "descent": tuned("gradient descent", flat, 1.0).kept([flat]),
            "nesterov": tuned("nesterov", flat, 1.0).kept([flat]),
            "ballistic": tuned("gradient descent", root, 1.0).kept([root]),
            "heavy": tuned("heavy ball", flat, 1.0).kept([flat]),
        }
        return {rule: float(self.digits * np.log(10) / (-2 * np.log(share[0]))) for rule, share in kept.items()}

    def said(self) -> list[str]:
        steps = self._steps(self.kappa)
        return [f"{self.digits:.1f}", f"{steps['descent']:.1f}", f"{steps['nesterov']:.1f}", f"{steps['heavy']:.1f}"]
