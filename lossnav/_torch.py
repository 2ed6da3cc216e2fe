"""Imported first by each room that computes with torch, so that a machine without it is told how to get it."""

from lossnav import _extras

_extras.need("torch")
