"""How far one direction gets in n steps."""
