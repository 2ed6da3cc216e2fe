"""What a given rule does: measured curvature, the Helmholtz parts of any velocity field, SGD's limiting dynamics."""
