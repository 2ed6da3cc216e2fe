"""Where noise pushes, and the exponent that comes of it."""
