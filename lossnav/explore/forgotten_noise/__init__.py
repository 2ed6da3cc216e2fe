"""Schedules that noise asks for beside those of a deadline."""
