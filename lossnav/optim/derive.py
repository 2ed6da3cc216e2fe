"""A derived rule as a torch optimizer: it runs the text of its own step."""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.optimizer import ParamsT

from lossnav import _checks
from lossnav._checks import shown
from lossnav.optim import _shards, _switch
from lossnav.optim._base import Found, Group, State
from lossnav.optim._generated import Generated, Step
from lossnav.optim._options import check_rate
from lossnav.rules.derive import LearningRule, Regime
from lossnav.rules.derive.published import adams
from lossnav.rules.derive.source import Statement, Written, written


class Derived(Generated):
    """The optimizer generated from a rule; ``.source`` is the text that each step runs.

    ``torch.compile(optimizer.step)`` takes it: one graph serves all steps, and a change of the rate adds one.

    Args:
        params: parameters, or dictionaries of parameter groups, which may differ in ``lr``: all else is the rule's.
        rule: from ``lossnav.derive``, of one coordinate with numbers on gradients (``rule.source`` says what else is
            refused). It belongs to the whole optimizer, and is no part of its ``state_dict``. One that is Adam's or
            AdamW's, as ``lossnav.explain`` reads them, goes on from their states. Processes share its state by
            ``ZeroRedundancyOptimizer(params, rule.optimizer)``; given this class and ``rule=``, torch would save the
            rule itself in each group.
        lr: Δt of a step, what schedulers move; None is the rule's own. May differ between groups.
        maximize: go uphill.
        foreach: True, False, or None (True unless a parameter is a tensor subclass). The results are the same.
        fused: one pass over the memory by a kernel in C, made from the same operations as ``source``; as in
            ``Ballistic``.

    Raises:
        ValueError: an option is out of range or none of this optimizer's, or the rule has no generated step.

    Example:
        >>> import torch, lossnav as ln
        >>> rule = ln.derive(ln.Objective(eta=0.1, gamma=1.0), dt=1.0)
        >>> w = torch.nn.Parameter(torch.tensor([3.0]))
        >>> optimizer = Derived([w], rule)
        >>> loss = optimizer.step(lambda: (optimizer.zero_grad(), (w**2).sum().backward())[1])
        >>> round(w.item(), 4)
        2.4
    """

    rule: LearningRule

    def __init__(
        self, params: ParamsT, rule: LearningRule, lr: float | Tensor | None = None, *, maximize: bool = False,
        foreach: bool | None = None, fused: bool | None = None,
    ) -> None:  # fmt: skip
        self.rule = _checks.instance("rule", rule, LearningRule, "a LearningRule")
        options = {"lr": rule.dt if lr is None else lr, "maximize": maximize, "foreach": foreach, "fused": fused}
        super().__init__(params, options)

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of parameters, which may have a rate of its own.

        Raises:
            ValueError: it has an option that no step of the rule looks at.
        """
        known = {*inspect.signature(type(self)).parameters, *_switch._COMMON, "name"} - {"eps", "weight_decay"}
        strange = [f"{name} = {shown(value)}" for name, value in dict(param_group).items() if name not in known]
        if strange:
            raise ValueError(
                f"a group of parameters has {', '.join(strange)}, but it may have lr, maximize, foreach and fused: all "
                "else is the rule's, whose decay is its drift. Derive a rule for each group, and make an optimizer of "
                "each"
            )
        super().add_param_group(param_group)

    @property
    def source(self) -> str:
        """The text that a step runs, unless it is fused."""
        return self._written.python

    def average(self) -> list[Tensor]:
        """Return the averages of the weights, one for each parameter, whose own values are a walker's (``form="ema"``).

        Raises:
            ValueError: the rule averages no weights.
        """
        if not self.rule.averaging:
            raise ValueError("rule averages no weights, but it must be one of form='ema' where acceleration is charged")
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        return [self.state[p]["average"] if "average" in self.state[p] else p.detach() for p in parameters]

    @property
    def _written(self) -> Written:
        return self._step_of({}).written

    def regime(self) -> Regime:
        """Return the rates of beliefs, discount and curvature with what is believed now of all parameters (``Regime``).

        Raises:
            ValueError: no step has been made yet, or as ``LearningRule.regime``.

        Warns:
            RegimeWarning: as there.
        """
        seen = [state for state in self.state.values() if "step" in state and state["step"] > 0]
        if not seen:
            raise ValueError(
                "the optimizer has made no step, but it must have seen a gradient to believe in a curvature"
            )

        def believed(name: str, average: Any) -> np.ndarray:
            shares = [1 - average.beta ** s["step"].item() if average.corrected else 1.0 for s in seen]
            parts = [_shards.whole(s[name]).double().cpu().flatten() / c for s, c in zip(seen, shares, strict=True)]
            return np.asarray(torch.cat(parts))

        curvature = believed("v", self.rule.curvature) if "v" in self._written.memory else 0.0
        return self.rule.regime(curvature, believed("u", self.rule.metric) if "u" in self._written.memory else None)

    def _squares(self) -> bool:
        return not {"u", "v"}.isdisjoint(self._written.memory)

    def _known(self, entry: State) -> tuple[str, ...]:
        known = ("step", *self._written.memory)
        return known if not entry or entry.keys() >= set(known) else ()  # a part of it is another rule's

    def _assumed(self, group: Group) -> Found:
        return self._made_of(self.rule, float(group["lr"]))

    def _adopts(self, saved: Group, own: Group) -> str:
        _switch.check_adam(saved)
        if self.source not in [written(rule).python for rule in adams(saved)]:
            raise ValueError(
                "state_dict is of torch's Adam or AdamW, whose step with these options is another than this rule's: "
                f"betas = {shown(saved['betas'])}, eps = {shown(saved['eps'])}, weight_decay = "
                f"{shown(saved['weight_decay'])} must be those of the rule that lossnav.explain reads in it"
            )
        return next(name for name in self._written.memory if name != "m")

    def _check(self, group: Group) -> None:
        check_rate("lr", group["lr"])

    def __setstate__(self, state: State) -> None:
        """Restore, beginning with the rule; torch restores groups and states by this, too, and has none."""
        self.rule = state.get("rule") or self.rule
        super().__setstate__(state)

    def _prepare(self) -> None:
        self._steps = {None: Step.of(written(self.rule))}

    def _form(self, group: Group) -> Hashable:
        return None  # the text is that of the rule, whatever the options are

    @staticmethod
    def _stated(form: Any) -> Statement:
        raise NotImplementedError("a rule states its step")

    def _values(self, group: Group) -> tuple[Any, ...]:
        return (group["lr"],)
