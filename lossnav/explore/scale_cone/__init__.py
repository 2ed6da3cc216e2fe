"""Gradient descent on a loss of the direction alone."""
