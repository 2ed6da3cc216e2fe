"""What ``OneMap`` is to show, by the library and by integrals of the linear system."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm, solve_continuous_lyapunov

import lossnav as ln
from lossnav import explore, rules
from lossnav._checks import Array
from oracles.common import fixed, inside

_SHARED = explore.OneMap._shared
_H = np.array(_SHARED["curvatures"])


class OneMap(explore.OneMap):
    def gains(self) -> dict[str, Array]:
        """Return K1 and K2 of both modes, shape (2, 2), for each law."""
        price = ln.prices.Acceleration(m=1.0, speed=self.speed)
        over_h, second = rules.acceleration_gains(ln.Objective(gamma=self.gamma, price=price), _H)
        gains = {
            "optimal": np.array([over_h * _H, second]),
            "ball": np.array([_H, np.full(2, self.speed)]),
        }
        if self.speed:
            walks = rules.rates(ln.Objective(eta=1 / self.speed, gamma=self.gamma), np.diag(_H))
            b = float(rules.rates(ln.Objective(gamma=self.gamma), [[self.speed]])[0])
            gains["average"] = np.array([b * walks, b + walks])
        return gains

    def rates(self, law: str, mode: int) -> Array:
        """Return the two rates of a mode, those with an imaginary part >= 0 first."""
        first, second = self.gains()[law][:, mode]
        roots = np.roots([1.0, -second, first]).astype(complex)
        return roots[np.argsort(-roots.imag)]

    def path(self, law: str, count: int = 1200) -> Array:
        """Return places on the way from rest, shape (count + 1, 2)."""
        t = self._times(law, count)
        matrices = [np.array([[0.0, 1.0], [-first, -second]]) for first, second in self.gains()[law].T]
        left = [expm(matrix * t[:, None, None])[:, 0, 0] for matrix in matrices]
        return np.stack(left, axis=1) * np.array(self.start)

    def _times(self, law: str, count: int) -> Array:
        slow = self.rates(law, 0)
        swung = 5 * np.pi / slow[0].imag if slow[0].imag > 0 else np.inf
        return float(min(7 / max(slow.real.min(), 1e-12), swung)) * np.linspace(0.0, 1.0, count + 1) ** 2

    def overshoot(self, law: str, mode: int) -> float:
        """Return how far a mode swings beyond its minimum, as a part of the start."""
        rate = self.rates(law, mode)[0]
        return float(np.exp(-np.pi * rate.real / rate.imag)) if rate.imag > 1e-6 else 0.0

    def cost(self, law: str) -> float:
        """Return J of a law from rest, by a Lyapunov equation for each mode."""
        total = 0.0
        for (first, second), h, x in zip(self.gains()[law].T, _H, self.start, strict=True):
            closed = np.array([[0.0, 1.0], [-first, -second]]) - self.gamma / 2 * np.eye(2)
            row = np.array([first, second])
            charge = np.outer(row, row) + np.diag([h, self.speed])
            total += solve_continuous_lyapunov(closed.T, -charge)[0, 0] * x * x / 2
        return total

    def said(self) -> list[str]:
        moves = 1 if self.start[1] else 0
        told = (("optimal", moves), ("ball", moves), ("optimal", 0)) if any(self.start) else (("optimal", 0),)
        share = [fixed(100 * self.overshoot(law, mode), 1) for law, mode in told]
        words = [f"by {part} %" for part in share if float(part) > 0]
        if self.speed and any(self.start):
            words.append(f"costs {fixed(100 * (self.cost('average') / self.cost('optimal') - 1), 1)} % too much")
        return words

    def shows(self) -> dict[str, list[Array]]:
        edge, (right, top) = _SHARED["edge"], _SHARED["widest"]
        laws = list(self.gains())
        lines = {law: inside(self.path(law), (-edge, edge), (-edge, edge)) for law in laws}
        if self.speed:
            walks = rules.rates(ln.Objective(eta=1 / self.speed, gamma=self.gamma), np.diag(_H))
            walk = np.exp(-np.outer(self._times("average", 1200), walks)) * np.array(self.start)
            lines["walker"] = inside(walk, (-edge, edge), (-edge, edge))
        swings = [mode for mode in (0, 1) if 4 * _H[mode] > self.speed**2]
        balls = [self.rates("ball", mode)[0] for mode in swings]
        panel = (0.0, right), (0.0, top)
        for q in balls:
            ray = np.linspace(0.0, 1.0, 2001)[:, None] * np.array([q.real, q.imag]) * top / q.imag
            gammas = 2 * np.tan(np.linspace(0.0, 0.99, 2001) * np.pi / 2)
            slowed = np.sqrt(gammas**2 / 4 + q) - gammas / 2
            lines.setdefault("ray", []).extend(inside(ray, *panel))
            lines.setdefault("rates", []).extend(inside(np.stack([slowed.real, slowed.imag], axis=1), *panel))
        return lines
