"""A deadline that moves while the learner plans for it."""
