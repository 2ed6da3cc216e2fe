"""One path at many paces, and what of its regret they change."""
