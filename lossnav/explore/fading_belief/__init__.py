"""Adam's ε as a gradient that is believed to fade."""
