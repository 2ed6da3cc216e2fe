"""How often to look at a target that wanders, where a look has a price."""
