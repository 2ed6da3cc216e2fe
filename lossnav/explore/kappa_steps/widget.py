"""``KappaSteps`` in Python: its state, its numbers of steps, and its static twin."""

from __future__ import annotations

import numpy as np

from lossnav._checks import Array
from lossnav.analysis.acceleration import tuned
from lossnav.explore._curves import Curves, grid, points
from lossnav.explore._scripts import constants
from lossnav.explore.base import number_trait

_SHARED = constants(__file__)
_MARKS, _AXIS = _SHARED["marks"], _SHARED["axis"]


class KappaSteps(Curves):
    """Steps in which methods that know κ make the flattest mode's loss smaller by so many digits.

    Args:
        digits: of the loss, in [1, 12].
        kappa: condition number κ that is marked, in [1.5, 1e4].

    Raises:
        ValueError: naming the argument that does not fit.
    """

    digits = number_trait(_MARKS["digits"], 6.0)
    kappa = number_trait(_AXIS["range"], 100.0)

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

    def description(self) -> str:
        """Return what the static twin shows, in words."""
        steps = self._steps(self.kappa)
        return (
            "Steps against the condition number, both logarithmic: gradient descent rises with slope 1; Nesterov's "
            f"method, heavy ball and ballistic rule rise with slope ½. For {self.digits:.1f} digits at the mark, "
            f"gradient descent needs {steps['descent']:.1f} steps, Nesterov {steps['nesterov']:.1f}, the heavy ball "
            f"{steps['heavy']:.1f}."
        )
