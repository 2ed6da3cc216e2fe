"""A value between two bounds."""
