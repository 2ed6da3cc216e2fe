"""Explorables of lines over one axis: each script's lines are Python's, whose numbers come from the library."""

from __future__ import annotations

import oracles

from lossnav import explore

CURVES = [made for name in explore.__all__ if hasattr(made := getattr(oracles, name, None), "lines")]  # with curves.js
