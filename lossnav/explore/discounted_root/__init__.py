"""Where a discount takes the square root away."""
