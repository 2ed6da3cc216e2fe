"""The explorable of the chapter *Beliefs*: what a belief remembers of a stream of noisy gradients."""

from __future__ import annotations

from lossnav.explore.belief_filter.widget import BeliefFilter

__all__ = ["BeliefFilter"]
