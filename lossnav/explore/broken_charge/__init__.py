"""What a loss cannot change, and what changes it."""
