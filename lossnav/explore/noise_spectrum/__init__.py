"""Where noise pushes, and the exponent that comes of it."""

from __future__ import annotations

from lossnav.explore.noise_spectrum.widget import NoiseSpectrum

__all__ = ["NoiseSpectrum"]
