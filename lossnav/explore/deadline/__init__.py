"""Schedules from a deadline, and the loss weight that a schedule asks for."""

from __future__ import annotations

from lossnav.explore.deadline.widget import Deadline

__all__ = ["Deadline"]
