"""How many steps each method needs."""

from __future__ import annotations

from lossnav.explore.kappa_steps.widget import KappaSteps

__all__ = ["KappaSteps"]
