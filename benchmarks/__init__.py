"""Speed and cost, side by side with what a user would pick instead, in one run: ``python -m benchmarks``."""
