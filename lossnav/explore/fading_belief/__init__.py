"""Adam's ε as a gradient that is believed to fade."""

from __future__ import annotations

from lossnav.explore.fading_belief.widget import FadingBelief

__all__ = ["FadingBelief"]
