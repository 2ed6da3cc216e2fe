"""The ballistic rule: what optimal learning becomes when the future is not discounted (Eqs. 32–33)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav._checks import weight
from lossnav.optim._base import Found, Group, State, given
from lossnav.optim._generated import Generated
from lossnav.optim._options import check_rate
from lossnav.rules import assume
from lossnav.rules.derive.numbers import Number
from lossnav.rules.derive.source import Statement, of_names


class Ballistic(Generated):
    r"""The paper's ballistic optimizer, Eq. 33, with its beginning corrected.

    For who wants that rule, or has memory for one tensor a parameter: it follows the gradient as it is. What takes
    AdamW's place, averages and all, is ``Belief``.

    With γ² ≪ ηkh the optimal step is −√(ηk) Δt H^{−1/2} g (Eqs. 7 and 32). Three approximations turn it into an
    optimizer: H is replaced by its diagonal, the diagonal by the second moment of the gradient (uncentred, H ∝ Cov g),
    and the moment by a running average::

        v ← β v + (1 − β) g²
        θ ← θ − lr · g / √(v + ε)

    This is RMSprop with ε inside the root and no momentum. ``weight_decay`` is decoupled: θ ← (1 − lr · wd) θ first.

    v starts at zero, so **the paper's first step is up to lr / √(1 − β) long** in each coordinate, 31.6 lr at β = 0.999
    where g² is well above ε / (1 − β), and the steps stay long for the first 1/(1 − β) of them. The default is not that
    rule: it divides v by 1 − βⁿ, and the first step is up to lr long. ``bias_correction=False`` is the paper's rule to
    the letter.

    Args:
        params: parameters, or dictionaries of parameter groups; every option below may differ between groups.
        lr: √(ηk) Δt in the units of the theory, >= 0; a float or a 0-dim tensor.
        beta: β, weight of the past in v, in [0, 1); v remembers about 1/(1 − β) steps.
        eps: ε >= 0, in the units of g². It floors the root at √ε (1e-4 by default). A coordinate whose gradients
            have all been zero stays where it is, also with ε = 0.
        weight_decay: decoupled decay rate >= 0.
        bias_correction: divide v by 1 − βⁿ in the n-th step, and the momentum average (if any) by 1 − β₁ⁿ; False is
            the paper's rule.
        momentum: None, or β₁ in [0, 1): the numerator is then m ← β₁ m + (1 − β₁) g instead of g. A scheduler that
            cycles momentum (``OneCycleLR``, ``CyclicLR``) then moves it as that of SGD; where it is None, there is
            none to cycle, and the scheduler refuses unless it is told ``cycle_momentum=False``.
        maximize: go uphill.
        foreach: True, False, or None (True unless a parameter is a tensor subclass). The results are the same.
        fused: one pass over the memory in place of one for each operation; needs a C compiler on the CPU
            (``torch.compile`` on other devices). True: where there is none it is said once, and done as with
            ``foreach``. None: on the CPU, if there is one and ``foreach`` is None, too. False: no. Its results do not
            depend on the number of threads; they differ from those of ``foreach`` by rounding, a few units in the
            last place a step. The build, a quarter of a second, is kept in the user's cache, or in the folder that
            the environment variable LOSSNAV_KERNELS names.

    State: one tensor a parameter (``v``), a second with momentum (``m``), and a step counter.

    Raises:
        ValueError: an option is out of range, or a parameter is not real; in ``step``, if a gradient on the CPU is not
            finite (``check_gradients``).
        RuntimeError: in ``step``, for sparse gradients.

    Example:
        >>> import torch
        >>> w = torch.nn.Parameter(torch.tensor([3.0]))
        >>> optimizer = Ballistic([w], lr=0.01)
        >>> loss = optimizer.step(lambda: (optimizer.zero_grad(), (w**2).sum().backward())[1])
        >>> round(w.item(), 4)
        2.99

    References:
        Vastola, Gershman, Rajan (2025), Eqs. 7, 32, 33. Deviations from the authors' class: the same rule with
        ``bias_correction=False``; that option and ``momentum`` are ours, their unused argument ``bleed`` is left out,
        and gradient clipping belongs to the training loop.
    """

    _memory: tuple[str, ...] = ("step", "v", "m")
    _flags = ("bias_correction",)
    _absent: ClassVar[Group] = {"momentum": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        beta: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        bias_correction: bool = True,
        momentum: float | None = None,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, given(locals()))
        if momentum is None:  # a scheduler that found the name in the defaults would give the rule some
            del self.defaults["momentum"]

    def _check(self, group: Group) -> None:
        check_rate("lr", group["lr"])
        weight("beta", group["beta"])
        check_rate("eps", group["eps"])
        check_rate("weight_decay", group["weight_decay"])
        if group["momentum"] is not None:
            weight("momentum", group["momentum"])

    def _decides(self, group: Group, square: Tensor) -> dict[str, Tensor]:
        words = f"eps = {group['eps']:g} exceeds most gradients' squares (mean {{typical}}): the step is SGD's with "
        return {f"{words}lr/√eps. Set eps to 1e-8 of that mean, or scale the loss": square < group["eps"]}

    def _assumed(self, group: Group) -> Found:
        words = "ballistic (γ = 0), curvature h = c(V + ε) believed diagonal, V an average of g²; belief: m = g, or an "
        return self._read(group, words + "average", "γ ≪ √(ηkcV), and beliefs that change slowly")

    def _start(self, parameter: Tensor, group: Group, state: State) -> None:
        if "v" not in state or (group["momentum"] is not None and "m" not in state):
            super()._start(parameter, group, state)

    def _form(self, group: Group) -> Hashable:
        return (group["momentum"] is not None, group["bias_correction"], bool(group["weight_decay"] != 0))

    @staticmethod
    def _stated(form: Any) -> Statement:
        averages, corrected, shrinks = form
        beta, eps, momentum, decay = map(Number.named, names := ("beta", "eps", "momentum", "weight_decay"))
        return Statement(
            of_names(assume.Filter, beta=momentum if averages else 0.0, corrected=corrected),
            of_names(assume.SecondMoment, beta=beta, floor=eps, corrected=corrected),
            shrinks=decay if shrinks else 0.0,
            names=names,
        )

    def _values(self, group: Group) -> tuple[Any, ...]:
        return group["lr"], group["beta"], group["eps"], group["momentum"] or 0.0, group["weight_decay"]
