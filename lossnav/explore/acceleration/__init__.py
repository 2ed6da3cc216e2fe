"""Accelerated methods on a quadratic loss."""

from __future__ import annotations

from lossnav.explore.acceleration.widget import Acceleration

__all__ = ["Acceleration"]
