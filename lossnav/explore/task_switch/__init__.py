"""The explorable of the chapter on continual learning: what a switch of the task does to a weight's variance."""

from __future__ import annotations

from lossnav.explore.task_switch.widget import TaskSwitch

__all__ = ["TaskSwitch"]
