"""What a given rule does: measured curvature, and the Helmholtz parts of any velocity field."""
