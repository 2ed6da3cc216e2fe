"""Which assumptions make a learning rule optimal: all of them, or none and why."""

from lossnav.analysis.optimality.entry import optimal_for
from lossnav.analysis.optimality.result import OptimalFor

__all__ = ["OptimalFor", "optimal_for"]
