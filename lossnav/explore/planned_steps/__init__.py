"""Steps that become a path."""
