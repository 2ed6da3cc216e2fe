"""All solutions of one equation, and the one that cost chooses."""
