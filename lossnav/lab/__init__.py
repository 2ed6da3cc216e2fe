"""Optimizer → experiment → record: data, models, training, many runs at once, and what they leave behind."""
