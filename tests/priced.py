"""An example of each price: a new one gets its entry here, and all that prices must obey is tested of it."""

from __future__ import annotations

from typing import Any

import lossnav as ln

EXAMPLES: dict[str, dict[str, Any]] = {
    "Quadratic": {"eta": 0.7},
    "Acceleration": {"m": 0.3, "speed": 1.2},
    "Norm": {"norm": "linf", "eta": 0.7},
    "Box": {"limit": 0.8, "eta": 0.7},
    "Power": {"p": 3.0, "eta": 0.7},
    "Toll": {"lam": 0.4, "eta": 0.7},
    "Linear": {"lam": 0.4, "norm": "l2"},
}  # fmt: skip


def example(name: str) -> Any:
    """Return a price by its name."""
    return getattr(ln.prices, name)(**EXAMPLES[name])
