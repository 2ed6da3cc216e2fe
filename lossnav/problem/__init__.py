"""Assumptions → objective: landscapes, drifts, and the price of a path along which a learner moves."""
