"""What a discount does to the exponent of curvature."""
