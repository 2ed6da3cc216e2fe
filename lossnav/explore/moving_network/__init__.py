"""How far a trained network gets, predicted and recorded."""

from __future__ import annotations

from lossnav.explore.moving_network.widget import MovingNetwork

__all__ = ["MovingNetwork"]
