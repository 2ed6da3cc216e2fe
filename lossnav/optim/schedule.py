"""Learning rates that fall towards a deadline, as a scheduler of torch; each kind names its assumption."""

from __future__ import annotations

import abc
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch.optim.lr_scheduler import LambdaLR

from lossnav import _checks
from lossnav.problem.objective import Objective
from lossnav.rules.deadline import deadline_rate

Kind = Literal["deadline", "power", "kernel"]
_POINTS = 2000  # of the table of a kernel's cooldown
_FAR = 1e100  # whose square is a number


@dataclass
class _Law(abc.ABC):
    """The multiplier of a step by its number; a law holds plain numbers only, so that a checkpoint can hold it."""

    total: int

    def __call__(self, step: int) -> float:
        """Return the multiplier in the middle of step ``step``; after the last step that of the last."""
        return self.at(max(1 - (step + 0.5) / self.total, 0.5 / self.total))

    @abc.abstractmethod
    def at(self, left: float) -> float:
        """Return the multiplier with a share ``left`` of the time left."""


@dataclass
class _Deadline(_Law):
    """The rate of one curvature (of a flat direction for ``firm`` = 0), over the largest that a step has."""

    firm: float
    fade: float
    charge: float
    top: float = 1.0

    def __post_init__(self) -> None:
        # the rate rises or falls all the way (L3)
        self.top = max(self.at(1 - 0.5 / self.total), self.at(0.5 / self.total))

    def at(self, left: float) -> float:
        objective = Objective(eta=self.firm or 1.0, gamma=self.fade, terminal=self.charge)
        return float(deadline_rate(objective, self.firm, left)) / self.top


@dataclass
class _Power(_Law):
    """A plateau, then a power of the time left over the cooldown's."""

    power: float
    share: float

    def at(self, left: float) -> float:
        return float(min(left / self.share, 1.0) ** self.power)


@dataclass
class _Cooled(_Law):
    """A plateau, then a table over the time left, whose last entry is the cooldown's begin."""

    remaining: list[float]
    factor: list[float]

    def at(self, left: float) -> float:
        above = bisect_left(self.remaining, left)  # at each step: NumPy would read both lists anew
        if above == len(self.remaining):
            return self.factor[-1]
        low, high = self.remaining[above - 1 : above + 1]
        part = (left - low) / (high - low)
        return (1 - part) * self.factor[above - 1] + part * self.factor[above]


def deadline_schedule(
    optimizer: torch.optim.Optimizer,
    total_steps: int,
    *,
    kind: Kind = "deadline",
    stiffness: float = 5.0,
    discount: float = 0.0,
    terminal: float = 0.0,
    power: float = 1.0,
    kernel: Callable[[Any], Any] | None = None,
    cooldown: float = 0.2,
) -> LambdaLR:
    r"""Return a scheduler whose learning rates are optimal for a deadline after ``total_steps`` steps.

    It multiplies each group's learning rate by a factor from 0 to 1, with the time s that is left in the middle of a
    step, and after the last one keeps it; call ``step()`` after each step of the optimizer.

    * "deadline": the rate of one curvature (``rules.deadline_rate``) over its largest; without discount and charge
      ∝ tanh ωs: a plateau, then a cooldown of length 1/2ω. It follows from the deadline alone, without noise. With
      ``terminal`` > 1/ωT (at γ = 0; in general 1/s₊T, with s₊ of ``rules.deadline_rate``) it *rises* to the deadline.
    * "power": a plateau, then (s/s_c)^p over the last ``cooldown`` of the time. p = q/(2 − q) is the best against noise
      of which :math:`u^{-q}` is left (``rules.cooling``); linear decay is p = 1 with ``cooldown`` = 1.
    * "kernel": a plateau, then a cooldown :math:`\propto\kappa(u)^{-1/2}` by a measured kernel. Where the plateau
      should end is not measured: without one this lost on real data.

    Which cooldown it is matters less than that there is one: on MNIST all of these came out within the spread of seeds.

    Args:
        optimizer: of torch; its learning rates now are those of the plateau.
        total_steps: N, at least 1.
        kind: which law.
        stiffness: ωT in [0, 1e100], the deadline in units of the fastest time in which the optimum moves: √(ηkh)·T.
        discount: γT in [0, 1e100].
        terminal: c/(kT) in [0, 1e100], what the loss at the deadline counts, in units of all before it.
        power: p > 0.
        kernel: κ(u) > 0, never rising, what is left of a step's noise after the rates still to come have added up to u,
            as ``curvature.noise_kernel`` returns; of steps with the first group's learning rate.
        cooldown: share of the steps in which the rate falls, in (0, 1].

    Raises:
        ValueError: naming the argument.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> scheduler = deadline_schedule(optimizer, 4, kind="power", cooldown=1.0)
        >>> [round(scheduler.lr_lambdas[0](n), 3) for n in range(4)]  # linear decay, in the middle of each step
        [0.875, 0.625, 0.375, 0.125]

    References:
        book: L1–L3 ("deadline"), L7, L8 ("power"), L7, L9 ("kernel").
    """
    _checks.instance("optimizer", optimizer, torch.optim.Optimizer, "a torch.optim.Optimizer")
    total = _checks.whole("total_steps", total_steps, low=1)
    _checks.one_of("kind", kind, get_args(Kind))
    firm, fade, charge = (
        _checks.finite(name, value, low=0.0, high=_FAR)
        for name, value in (("stiffness", stiffness), ("discount", discount), ("terminal", terminal))
    )
    exponent = _checks.positive("power", power)
    share = _checks.finite("cooldown", cooldown, low=0.0, high=1.0, open_low=True)
    if (kernel is None) == (kind == "kernel"):
        raise ValueError(f"kind = {kind!r}, but a kernel must be given with 'kernel', and with it alone")
    law: _Law
    if kind == "deadline":
        law = _Deadline(total, firm, fade, charge)
    elif kind == "power":
        law = _Power(total, exponent, share)
    else:
        rate = float(optimizer.param_groups[0]["lr"])
        remaining, factor = _measured(_checks.function("kernel", kernel), rate * total * share)
        law = _Cooled(total, (share * remaining).tolist(), factor.tolist())
    return LambdaLR(optimizer, [law] * len(optimizer.param_groups))


def _measured(kernel: Callable[[Any], Any], reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the cooldown's multiplier √(κ(U)/κ(u)) over the time left, which is 1 at the plateau's end.

    With the plateau's rate as unit the cooldown from U lasts ∫√(κ(u)/κ(U))du, and that must be ``reach``, the sum that
    the plateau's rate would have come to in the same time.
    """
    u = np.r_[0.0, np.geomspace(1e-6, 1.0, _POINTS)] * reach
    left = np.asarray(kernel(u), dtype=np.float64)
    if left.shape != u.shape or not np.all(np.isfinite(left)) or not np.all(left > 0):
        raise ValueError("kernel gives values that are not finite numbers > 0 for u >= 0, as many as u has")
    if np.any(np.diff(left) > 1e-9 * left[0]):
        raise ValueError("kernel rises, but noise that is left must not grow")
    root = np.sqrt(left)
    time = np.concatenate([[0.0], np.cumsum(np.diff(u) * (root[1:] + root[:-1]) / 2)])
    end = int(np.argmin(np.abs(time / root - reach)))  # the time rises with U, and is at least U: U ≤ reach
    return time[: end + 1] / time[end], root[end] / root[: end + 1]
