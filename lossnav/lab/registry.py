"""The learning rules of the book: name, look, optimizer and range of rates of each, written once.

Experiments, sweeps, comparisons, figures and explorables read them here. A new rule is one more row.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Dashes = str | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Rule:
    """One learning rule.

    Attributes:
        label: its name in figures and tables.
        colour: on every page, as #RRGGBB; after Okabe and Ito, so that they stay apart for colour-blind readers.
        line: style of its line, of matplotlib, so that nothing rests on colour alone.
        marker: of matplotlib.
        optimizer: "module:class" of the torch optimizer, or "" for a rule that has none.
        rates: (lowest, highest) learning rate that a search tries, or None where nothing is searched.
        given: options that the laboratory gives beside an experiment's own, which come first: what its records were
            made with, whatever the optimizer's defaults have become.
        like: the rule whose colour this one shares, as its relative; "" for a colour of its own.
    """

    label: str
    colour: str
    line: Dashes
    marker: str
    optimizer: str = ""
    rates: tuple[float, float] | None = None
    like: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    def maker(self) -> Any:
        """Return the class of the optimizer; importing it loads torch.

        Raises:
            ValueError: the rule has no optimizer.
        """
        if not self.optimizer:
            raise ValueError(f"optimizer = '', but it must name a class: {self.label} is a rule without an optimizer")
        module, name = self.optimizer.split(":")
        return getattr(importlib.import_module(module), name)

    def over(self, ensemble: Any, options: Mapping[str, Any], seed: int) -> Any:
        """Return the rule that steps all members of an ``ensemble.Ensemble``; ``seed`` is of what it draws."""
        maker = self.maker()
        parameters = inspect.signature(maker).parameters
        options = {**self.given, **({"seed": seed} if "seed" in parameters else {}), **options}
        return maker(ensemble if "ensemble" in parameters else ensemble.parameters(), **options)


_DESCENT, _ADAPTIVE = (3e-3, 1.0), (3e-5, 3e-2)
_UNFUSED = MappingProxyType({"fused": False})  # the same bits with and without a compiler
_AROUND_ZERO = MappingProxyType({"prior_mean": 0.0})  # where the initial weights of He et al. are
_PAPERS = MappingProxyType({"bias_correction": False, **_UNFUSED})

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "gradient descent": Rule("gradient descent", "#0072B2", "--", "o"),
        "sgd": Rule("SGD", "#0072B2", "--", "o", "torch.optim:SGD", _DESCENT),
        "adam": Rule("Adam", "#E69F00", (0, (6.0, 1.4)), "v", "torch.optim:Adam", _ADAPTIVE),
        "adamw": Rule("AdamW", "#E69F00", (0, (6.0, 1.2, 1.2, 1.2)), "<", "torch.optim:AdamW", _ADAPTIVE, like="adam"),
        "rmsprop": Rule("RMSprop", "#8C6D31", ":", "X", "torch.optim:RMSprop", _ADAPTIVE),
        "ballistic": Rule("ballistic", "#D55E00", "-", "^", "lossnav.optim:Ballistic", _ADAPTIVE, given=_PAPERS),
        "ballistic, corrected": Rule("ballistic, bias-corrected", "#7F2F00", (0, (1.2, 1.0)), "d"),
        "ballistic matrix": Rule(
            "BallisticMatrix",
            "#D55E00",
            (0, (7.0, 1.2, 2.5, 1.2)),
            ">",
            "lossnav.optim:BallisticMatrix",
            _ADAPTIVE,
            like="ballistic",
        ),
        "polar": Rule("polar", "#7BA428", (0, (2.0, 2.0)), "v"),
        "polar, a fifth": Rule("polar, a fifth", "#7BA428", "-", "^", like="polar"),
        "eigenbasis": Rule("eigenbasis", "#C2185B", (0, (10.0, 1.5)), "D"),
        "likelihood": Rule("likelihood", "#7B4FD0", (0, (5.0, 1.0)), "s"),
        "kronecker": Rule("kronecker", "#6B3A10", (0, (7.0, 1.2, 2.5, 1.2)), "P"),
        "muon": Rule("Muon", "#1F2933", ":", "p"),
        "soap": Rule("SOAP", "#0E8FA0", "-.", "h"),
        "shampoo": Rule("Shampoo", "#C98A72", (0, (1.0, 2.0)), "X"),
        "lion": Rule("Lion", "#8F8F8F", (0, (2.0, 1.0)), "H"),
        "belief": Rule("Belief", "#332288", "-", "*", "lossnav.optim:Belief", _ADAPTIVE, given=_UNFUSED),
        "belief, innovation": Rule("Belief, innovation", "#B5179E", ":", "<", like="navigator"),
        "navigator": Rule("Navigator", "#B5179E", "-.", "<", "lossnav.optim:Navigator", _ADAPTIVE, given=_UNFUSED),
        "uncertain": Rule(
            "Uncertain", "#882255", "-", "p", "lossnav.optim:Uncertain", (1e-4, 1e-2), given=_AROUND_ZERO
        ),
        "undecayed": Rule(
            "Uncertain without decay",
            "#882255",
            "--",
            "P",
            "lossnav.lab.streams.undecayed:Undecayed",
            (1e-4, 1e-2),
            like="uncertain",
            given=_AROUND_ZERO,
        ),
        "optimal": Rule("optimal", "#CC79A7", "-", "s"),
        "momentum": Rule("momentum", "#CC79A7", "-", "s"),
        "newton": Rule("Newton", "#009E73", "-.", "D"),
        "levenberg-marquardt": Rule("Levenberg–Marquardt", "#5B3A29", ":", "d"),
        "natural gradient": Rule("natural gradient", "#56B4E9", (0, (4.0, 1.4, 1.2, 1.4)), "P"),
        "l2": Rule("SGD + L2", "#44AA99", "--", ">", rates=_DESCENT),
        "adam + l2": Rule("Adam + L2", "#E69F00", (0, (2.0, 1.0)), "^", rates=_ADAPTIVE, like="adam"),
        "shrink and perturb": Rule(
            "shrink and perturb", "#999933", ":", "H", "lossnav.lab.streams:ShrinkAndPerturb", _DESCENT
        ),
        "utility perturbed": Rule(
            "noise on useless weights",
            "#999933",
            "--",
            "h",
            "lossnav.lab.streams:UtilityPerturbed",
            like="shrink and perturb",
        ),
        "continual backprop": Rule(
            "continual backprop",
            "#117733",
            (0, (5.0, 1.2, 1.2, 1.2, 1.2, 1.2)),
            "8",
            "lossnav.lab.streams.replacement:continual_backprop",
            _DESCENT,
        ),
    }
)
"""Name → rule."""

OPTIMIZERS = tuple(name for name, rule in RULES.items() if rule.optimizer)
"""Names of the rules that are torch optimizers."""


def label(rule: str) -> str:
    """Return the name of a rule in figures and tables, or of a variant, "rule, what differs"."""
    if rule in RULES:
        return RULES[rule].label
    base, comma, variant = rule.partition(", ")
    return RULES[base].label + comma + variant if base in RULES else rule
