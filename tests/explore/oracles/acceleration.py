"""What ``Acceleration`` is to show, by the library."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lossnav import explore
from lossnav._checks import Array
from lossnav.analysis.acceleration import Method, tuned
from oracles.common import compact, fixed, inside

_SHARED = explore.Acceleration._shared
_LINES = _SHARED["lines"]


class Acceleration(explore.Acceleration):
    def kept(self, rule: str, curvature: ArrayLike) -> Array:
        """Return what a step of a rule leaves of modes in the long run.

        Args:
            rule: "descent", "nesterov", "heavy", "ballistic" or "newton".
            curvature: h > 0, any shape.
        """
        method, h = self._as_method(rule, curvature)
        return method.kept(h)

    def losses(self, rule: str) -> Array:
        """Return the loss over the steps, from 1 with equal parts in all modes, shape (steps + 1,)."""
        method, h = self._as_method(rule, self.kappa ** (np.linspace(0, 1, _SHARED["modes"]) - 1))
        losses: Array = np.mean(method.walk(h, np.ones_like(h), _SHARED["steps"]) ** 2, axis=1)
        return losses

    def _as_method(self, rule: str, curvature: ArrayLike) -> tuple[Method, Array]:
        """Return a method and the curvatures on which it does what the rule does: a power of them for the last two."""
        h = np.asarray(curvature, dtype=float)
        low, high = self.guess / self.kappa, self.guess
        if rule == "newton":
            return Method(1 / self.guess), np.ones_like(h)
        if rule == "ballistic":
            return tuned("gradient descent", self.guess / math.sqrt(self.kappa), self.guess), np.sqrt(h)
        name = {"descent": "gradient descent", "heavy": "heavy ball", "nesterov": "nesterov"}[rule]
        return tuned(name, low, high), h

    def said(self) -> list[str]:
        rules = ("descent", "nesterov", "heavy", "ballistic", "newton")
        kept = [fixed(float(self.kept(rule, self.curvature)), 3) for rule in rules]
        return [f"√κ = {compact(math.sqrt(self.kappa))}", *kept]

    def shows(self) -> dict[str, list[Array]]:
        h = np.linspace(-math.log10(self.kappa), 0, 151)
        run, kept = (
            ((0, _SHARED["steps"]), (_SHARED["least"], 1)),
            ((math.log10(_SHARED["edge"]), 0), (0, _SHARED["top"])),
        )
        lines = {}
        for rule in _LINES:
            loss = np.log10(np.maximum(self.losses(rule), 10.0 ** _SHARED["least"]))
            lines[f"loss {rule}"] = inside(np.stack([np.arange(len(loss)), loss], axis=1), *run)
            lines[f"kept {rule}"] = inside(np.stack([h, self.kept(rule, 10**h)], axis=1), *kept)
        return lines
