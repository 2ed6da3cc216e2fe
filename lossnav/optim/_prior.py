"""The prior of uncertain weights: what a tensor was drawn from, read off its values."""

from __future__ import annotations

from torch import Tensor

from lossnav.optim import _shards
from lossnav.optim._base import _HALF, Group, Rule


def prior(rule: Rule, parameter: Tensor, group: Group) -> tuple[float, float]:
    """Return mean and variance of a tensor's prior, from the options and from its values now."""
    spread, centre = _spread(parameter)
    mean = centre if group["prior_mean"] is None else group["prior_mean"]
    if parameter.is_meta and group["prior_variance"] == "init":
        raise ValueError(
            f"prior_variance = 'init', but a parameter of shape {tuple(parameter.shape)} is on the meta device and has "
            "no values: it must be a number > 0 here"
        )
    if group["prior_variance"] != "init":
        return float(mean), float(group["prior_variance"])
    if spread == 0:  # borrow the spread of the group, as it was when training began
        peers = next(g["params"] for g in rule._all_groups() if any(q is parameter for q in g["params"]))
        peer_spreads = [(q.numel(), rule.state.get(q, {}).get("prior_variance") or _spread(q)[0]) for q in peers]
        peer_spreads = [(size, variance) for size, variance in peer_spreads if size and variance]
        spread = centre**2  # the only scale that equal weights have
        if peer_spreads:
            spread = sum(size * variance for size, variance in peer_spreads) / sum(size for size, _ in peer_spreads)
        elif spread == 0:
            raise ValueError(
                f"prior_variance = 'init', but the values of a parameter of shape {tuple(parameter.shape)} are all 0, "
                "and those of every other in its group are equal, too: it must be a number > 0 here"
            )
    return float(mean), spread


def _spread(parameter: Tensor) -> tuple[float, float]:
    """Return the variance of a tensor's values, exactly 0 where they are all equal, and their mean."""
    if parameter.is_meta:
        return 0.0, 0.0
    values = _shards.whole(parameter.detach()).contiguous()  # one order of sums, whatever the memory format
    if parameter.dtype in _HALF:
        values = values.float()
    if values.numel() == 0:
        return 1.0, 0.0
    first = values.reshape(-1)[0]
    if bool((values == first).all()):
        return 0.0, first.item()
    return values.var(correction=0).item(), values.mean().item()
