"""One mode of SGD in phase space, with its noise."""

from __future__ import annotations

from lossnav.explore.noisy_oscillator.widget import NoisyOscillator

__all__ = ["NoisyOscillator"]
