"""The same paths under other names of the parameters."""
