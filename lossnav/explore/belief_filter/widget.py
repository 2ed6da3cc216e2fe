"""``BeliefFilter`` in Python: its state."""

from __future__ import annotations

from collections.abc import Sequence

import traitlets

from lossnav import _checks
from lossnav.explore._scripts import constants
from lossnav.explore.base import Explorable, number_trait, whole_trait

_SHARED = constants(__file__)
_MARKS = _SHARED["marks"]
_LAST: int = _SHARED["steps"]
_MOST_JUMPS: int = _SHARED["jumps"]


def _jumps(name: str, jumps: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    found = []
    for pair in _checks.sequence(name, jumps, "pairs (step, size)"):
        if len(_checks.sequence(f"an entry of {name}", pair, "two numbers")) != 2:
            raise ValueError(f"{name} has an entry {_checks.shown(pair)}, but each must be (step, size)")
        step, size = pair
        step = _checks.whole(f"{name}[i][0]", step, low=1, high=_LAST)
        found.append((step, _checks.finite(f"{name}[i][1]", size, low=-5.0, high=5.0)))
    if len(found) > _MOST_JUMPS:
        raise ValueError(f"{name} has {len(found)} entries, but at most {_MOST_JUMPS} are allowed")
    return found


class BeliefFilter(Explorable):
    """A belief about the mean of a stream of gradients, as moving average and as smoother (Eqs. 13, 14, 142), Δt = 1.

    The hidden mean wanders and sometimes jumps. The average sees the gradients up to now; the smoother, which is what
    the control problem asks for, sees the later ones too. Move γ, α, σ and s, let the stream run, or drag the time.

    Args:
        gamma: γ, in [0, 2] per step.
        decay: α, the believed decay of the mean, in [0, 0.5] per step.
        diffusion: σ, the believed wandering of the mean, in [0.02, 1] per √step.
        noise: s, the believed noise of a gradient, in [0.1, 5] times √step.
        now: newest step that the average has seen, in 1 … 20,000.
        seed: of the stream, in 0 … 1,000,000.
        jumps: extra jumps of the hidden mean, (step, size) with a size in [−5, 5]; at most 60.

    Raises:
        ValueError: naming the argument that does not fit.
    """

    gamma = number_trait(_MARKS["gamma"], 0.1)
    decay = number_trait(_MARKS["decay"], 0.0)
    diffusion = number_trait(_MARKS["diffusion"], 0.1)
    noise = number_trait(_MARKS["noise"], 0.8)
    now = whole_trait((1, _LAST), 120)
    seed = whole_trait((0, 1_000_000), 3)
    jumps = traitlets.List(traitlets.Tuple(traitlets.Int(min=1), traitlets.Float())).tag(sync=True, check=_jumps)
