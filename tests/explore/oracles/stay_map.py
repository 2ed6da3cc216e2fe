"""What ``StayMap`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np

from lossnav import explore
from lossnav._checks import Array
from oracles.common import fixed, inside
from oracles.plans import Plans, course, laws

_SHARED = explore.StayMap._shared


class StayMap(Plans, explore.StayMap):
    def said(self) -> list[str]:
        return [f"J = {fixed(J, 4)}" for J in self.actions().values() if math.isfinite(J)]

    def shows(self) -> dict[str, list[Array]]:
        lines = {"edge": [np.array([(np.log10(gamma), theta) for gamma, theta in _SHARED["border"]])]}
        for name, law in laws(self.gamma).items():
            if np.isfinite(self.actions()[name]):
                t, x = course(law, self.start, _SHARED["until"])
                lines[name] = inside(np.stack([t, x], axis=1), (0.0, _SHARED["until"]), _SHARED["theta"])
        return lines
