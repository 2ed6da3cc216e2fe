"""What certainty about one task leaves for the next."""
