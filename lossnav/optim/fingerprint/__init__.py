"""What an optimizer does, measured from outside: gradients that were made up go in, steps come out."""

from __future__ import annotations

from lossnav import _torch  # noqa: F401  says how to get torch
from lossnav.optim.fingerprint.reading import Fingerprint, fingerprint

__all__ = ["Fingerprint", "fingerprint"]
