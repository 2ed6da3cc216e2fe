"""The explorable of the chapter on continual learning: what a switch of the task does to a weight's variance."""
