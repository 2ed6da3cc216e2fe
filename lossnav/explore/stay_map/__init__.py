"""The map of staying and crossing, and the paths behind its points."""
