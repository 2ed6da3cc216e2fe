"""Schedules that noise asks for beside those of a deadline."""

from __future__ import annotations

from lossnav.explore.forgotten_noise.widget import ForgottenNoise

__all__ = ["ForgottenNoise"]
