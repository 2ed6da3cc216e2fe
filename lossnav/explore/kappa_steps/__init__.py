"""How many steps each method needs."""
