"""Gradient descent on a loss of the direction alone."""

from __future__ import annotations

from lossnav.explore.scale_cone.widget import ScaleCone

__all__ = ["ScaleCone"]
