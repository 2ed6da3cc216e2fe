"""What ``DoubleWell`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from lossnav.problem.losses import Section
from oracles.common import signed
from oracles.plans import Plans, course, landscape, laws


class DoubleWell(Plans, explore.DoubleWell):
    def said(self) -> list[str]:
        return [signed(action, 4) for action in self.actions().values() if math.isfinite(action)]

    def shows(self) -> dict[str, list[Array]]:
        terrain = np.linspace(-1.522, 1.6, 161)
        lines = {"loss": [np.stack([terrain, Section(landscape(), 0).value(terrain[:, None])], axis=1)]}
        for name, law in laws(self.gamma).items():
            if not np.isnan(self.actions()[name]):
                t, x = course(law, self.start)
                lines[name] = [np.stack([x, t], axis=1)]
        return lines
