"""How a weight grows certain, and slow."""
