"""A learner that pays for acceleration, beside the heavy ball."""
