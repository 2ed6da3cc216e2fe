"""What ``WhichDiscount`` is to show, by the library."""

from __future__ import annotations

import numpy as np

from lossnav import explore


class WhichDiscount(explore.WhichDiscount):
    def said(self) -> list[str]:
        here = np.array([self.gamma])
        own, descent = (float(self._regret(power, here)[0]) for power in (self.power, 1.0))
        c, other = (float(self._alignment(power, here)[0]) for power in (self.power, 1.0))
        return [f"{own:.4f}", f"{descent:.4f}", f"{float(self._still(here)[0]):.4f}", f"{c:.3f}", f"{other:.3f}"]
