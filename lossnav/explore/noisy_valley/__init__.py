"""A valley with noise that has a direction of its own."""
