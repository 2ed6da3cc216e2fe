"""A normalised layer after its learning rate has been lowered."""
