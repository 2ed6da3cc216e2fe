"""Schedules from a deadline, and the loss weight that a schedule asks for."""
