"""Ways between normal distributions."""
