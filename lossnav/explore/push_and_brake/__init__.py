"""A push and a brake, and the limit that both share."""
