"""Accelerated methods on a quadratic loss."""
