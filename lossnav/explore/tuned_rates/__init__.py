"""Three rules over their learning rates, in recorded runs."""
