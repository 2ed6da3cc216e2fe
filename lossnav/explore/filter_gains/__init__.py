"""How much a belief that knows nothing learns from its n-th datum."""
