"""Steepest descent under a limit of speed, and the best path."""
