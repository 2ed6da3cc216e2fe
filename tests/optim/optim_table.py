"""One table of optimizers: every row goes through every check in test_optim_contract.py."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from typing import Any

import torch

import lossnav as ln
from lossnav import optim


@dataclass(frozen=True)
class Family:
    """What the contract must know about a rule to test it.

    Attributes:
        state: key of a state tensor that is a running average and shaped like the parameter.
        groups: two sets of options that differ, for two parameter groups.
        bad: (option, value) that must be refused.
        still: options under which zero gradients leave the weights alone; None if nothing does (a prior pulls).
        blind: options under which the state depends on the gradients alone, not on the weights.
        turns: the state stands in a basis that rounding may turn; what comes of a step is then near, not rounded alike.
    """

    state: str
    groups: tuple[dict[str, Any], dict[str, Any]]
    bad: tuple[tuple[str, Any], ...]
    still: dict[str, Any] | None = field(default_factory=lambda: {"weight_decay": 0.0})
    blind: dict[str, Any] = field(default_factory=dict)
    turns: bool = False


@dataclass(frozen=True)
class Row:
    """An optimizer with its options.

    ``shards`` is False for a rule that refuses parameters of which a process has a part.
    ``code`` are options that are code, which no checkpoint holds: they must be given again. ``sober`` switches off the
    draws, where a test moves a parameter to another place: a draw is named by seed, place and step.
    """

    name: str
    family: Family
    make: Any
    options: dict[str, Any] = field(default_factory=dict)
    compiles: bool = True
    shards: bool = True
    code: dict[str, Any] = field(default_factory=dict)
    sober: dict[str, Any] = field(default_factory=dict)

    def __call__(self, params: Any, **more: Any) -> Any:
        unfused = {"fused": False} if "fused" in inspect.signature(self.make).parameters else {}  # unless a row says so
        return self.make(params, **{**unfused, **self.options, **self.code, **more})


def steepness(parameter: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """Stand in for a curvature: any function of the gradient, in float32 at least."""
    return 0.1 + gradient.to(torch.promote_types(gradient.dtype, torch.float32)).abs()


_RATES = (("lr", -1.0), ("lr", math.nan), ("lr", "fast"), ("lr", torch.ones(2)), ("lr", torch.ones(1)))
_FLAGS = (
    ("lr", 1e300), ("maximize", "no"), ("maximize", 1), ("maximize", None), ("foreach", "yes"), ("foreach", 0),
    ("fused", "yes"), ("fused", 1), ("bias_correction", "false"), ("sample", 1),
)  # fmt: skip
_DECAYED = {"lr": 0.002, "weight_decay": 0.3}

BALLISTIC = Family(
    state="v",
    groups=({"lr": 0.03, "beta": 0.5}, {**_DECAYED, "beta": 0.9}),
    bad=(
        *_RATES, *_FLAGS, ("lr", math.inf), ("beta", 1.0), ("beta", -0.1), ("beta", math.nan), ("eps", -1e-8),
        ("weight_decay", -1), ("momentum", 1.0),
    ),
)  # fmt: skip
BELIEF = Family(
    state="v",
    groups=(
        {"lr": 0.03, "betas": (0.5, 0.8), "variance": "innovation"},
        {**_DECAYED, "lr_overdamped": 0.3, "discount": None},
    ),
    bad=(
        *_RATES, *_FLAGS, ("lr_overdamped", -1.0), ("lr_overdamped", math.nan), ("discount", -0.1),
        ("discount", math.nan), ("discount", "none"), ("betas", 0.9), ("betas", (0.9, 0.9, 0.9)),
        ("variance", "none"), ("eps", -1e-8), ("eps_inside", -1.0), ("eps_inside", math.inf), ("curvature_scale", -1),
        ("weight_decay", -1),
    ),
)  # fmt: skip
NAVIGATOR = Family(
    state="h",
    groups=({"lr": 0.03, "beta": 0.5}, {**_DECAYED, "gamma": 3.0, "eta_k": 2.0}),
    bad=(
        *_RATES, *_FLAGS, ("lr", math.inf), ("gamma", -1.0), ("gamma", math.nan), ("beta", 1.0), ("eta_k", 0.0),
        ("eta_k", math.inf), ("curvature_scale", 0.0), ("eps", -1.0), ("negative", "none"), ("every", 0),
        ("every", 1.5), ("probes", 0), ("seed", -1), ("weight_decay", -1),
    ),
)  # fmt: skip
UNCERTAIN = Family(
    state="precision",
    groups=({"lr": 0.03, "forgetting": 0.1}, {"lr": 0.002, "temperature": 0.01, "prior_variance": 2.0, "clip": None}),
    bad=(
        *_RATES, *_FLAGS, ("lr", math.inf), ("forgetting", -0.1), ("temperature", 0.0), ("prior_variance", 0.0),
        ("prior_variance", "auto"), ("clip", 0.0), ("prior_mean", math.inf), ("curvature_scale", -1.0),
        ("speed", -1.0), ("speed_beta", 1.0), ("seed", 0.5), ("reset", 0.1), ("reset", (0.1, 0.1, 10, 3)),
    ),
    still=None,
    blind={"speed": 0.0, "reset": None},
)  # fmt: skip
MATRIX = Family(
    state="m",
    groups=(
        {"lr": 0.03, "betas": (0.5, 0.8), "every": 3},
        {**_DECAYED, "lr_overdamped": 0.3, "discount": None, "watch": 1},
    ),
    bad=(
        *_RATES, *_FLAGS, ("lr_overdamped", -1.0), ("discount", -0.1), ("betas", 0.9), ("curvature", "shampoo"),
        ("every", 0), ("watch", 0), ("max_dim", 1.5), ("block", 0), ("long", "thin"), ("eps", -1e-8),
        ("eps_relative", -1.0), ("root", "svd"), ("weight_decay", -1),
    ),
    turns=True,
)  # fmt: skip

DERIVED = Family(
    state="v",
    groups=({"lr": 0.03}, {"lr": 0.002}),
    bad=(*_RATES, *(flag for flag in _FLAGS if flag[0] not in ("bias_correction", "sample")), ("lr", math.inf)),
    still=None,
)  # fmt: skip
_INNOVATIVE = ln.derive(
    ln.Objective(gamma=0.1, drift=ln.drifts.weight_decay(1e-2)), belief=ln.assume.Filter(0.8, fading=0.1),
    curvature=ln.assume.Innovation(0.9), dt=0.01, exact=True,
)  # fmt: skip

_BALLISTIC = {"lr": 0.01, "beta": 0.99}
_BALLISTIC_ALL = {"lr": 0.01, "beta": 0.9, "weight_decay": 0.1, "bias_correction": True, "momentum": 0.8}
_BELIEF_ALL = {
    "lr": 0.01, "lr_overdamped": 0.2, "betas": (0.8, 0.95), "eps_inside": 1e-4, "variance": "innovation",
    "bias_correction": False, "curvature_scale": 3.0, "weight_decay": 0.1,
}  # fmt: skip
_SGD = {"lr": 0.01, "discount": math.inf, "betas": (0.0, 0.9)}
_EIGENBASIS = {"lr": 0.01, "curvature": "eigenbasis"}
_OLDER = {"lr": math.inf, "lr_overdamped": 0.01, "discount": None}
_NAVIGATOR_ALL = {
    "lr": 0.2, "gamma": 1.5, "beta": 0.9, "eta_k": 2.0, "curvature_scale": 0.5, "eps": 1e-4, "weight_decay": 0.1,
}  # fmt: skip
_UNCERTAIN = {"lr": 0.01, "temperature": 0.1}
_UNCERTAIN_ALL = {
    "lr": 0.01, "forgetting": 0.02, "temperature": 0.3, "prior_variance": 0.7, "clip": 0.05, "prior_mean": 0.2,
    "curvature_scale": 0.5, "speed": 2.0, "speed_beta": 0.8,
}  # fmt: skip
_RESET = {**_UNCERTAIN_ALL, "reset": (0.2, 5.0, 2.0), "seed": 3}

ROWS = [
    Row("ballistic", BALLISTIC, optim.Ballistic, _BALLISTIC),
    Row("ballistic, all options", BALLISTIC, optim.Ballistic, _BALLISTIC_ALL, compiles=False),
    Row("ballistic, one at a time", BALLISTIC, optim.Ballistic, {**_BALLISTIC_ALL, "foreach": False}),
    Row("ballistic, fused", BALLISTIC, optim.Ballistic, {**_BALLISTIC, "fused": True}),
    Row("ballistic, all options, fused", BALLISTIC, optim.Ballistic, {**_BALLISTIC_ALL, "fused": True}, compiles=False),
    Row("belief", BELIEF, optim.Belief, {"lr": 0.01}),
    Row("belief, centred", BELIEF, optim.Belief, {"lr": 0.01, "variance": "centred"}, compiles=False),
    Row("belief, SGD", BELIEF, optim.Belief, _SGD, compiles=False),
    Row("belief, SGD in the older spelling", BELIEF, optim.Belief, {**_SGD, **_OLDER, "fused": True},
        compiles=False),
    Row("belief, discounted", BELIEF, optim.Belief, {"lr": 0.01, "discount": 0.1}, compiles=False),
    Row("belief, all options", BELIEF, optim.Belief, _BELIEF_ALL),
    Row("belief, one at a time", BELIEF, optim.Belief, {**_BELIEF_ALL, "foreach": False}, compiles=False),
    Row("belief, all options, fused", BELIEF, optim.Belief, {**_BELIEF_ALL, "fused": True}, compiles=False),
    *(
        Row(f"matrix, {shape}", MATRIX, optim.BallisticMatrix, {"lr": 0.01, "curvature": shape, "every": 5},
            compiles=False, shards=False)
        for shape in ("eigenbasis", "likelihood", "kronecker", "polar")
    ),
    Row("matrix, one-sided and discounted", MATRIX, optim.BallisticMatrix, {**_EIGENBASIS, "max_dim": 5,
        "long": "identity", "discount": 0.1, "weight_decay": 0.1, "foreach": False}, compiles=False, shards=False),
    Row("matrix in blocks", MATRIX, optim.BallisticMatrix, {**_EIGENBASIS, "block": 2, "every": 5}, compiles=False,
        shards=False),
    Row("derived", DERIVED, _INNOVATIVE.optimizer),
    Row("derived, fused", DERIVED, _INNOVATIVE.optimizer, {"fused": True}, compiles=False),
    Row("navigator", NAVIGATOR, optim.Navigator, {"lr": 0.01}),
    Row("navigator, all options", NAVIGATOR, optim.Navigator, {**_NAVIGATOR_ALL, "foreach": False}, compiles=False),
    Row("navigator, a function", NAVIGATOR, optim.Navigator, {"every": 3, "gamma": 1.0},
        compiles=False, code={"curvature": steepness}),
    Row("navigator, all options, fused", NAVIGATOR, optim.Navigator, {**_NAVIGATOR_ALL, "fused": True}, compiles=False),
    Row("navigator, a function, fused", NAVIGATOR, optim.Navigator, {"every": 3, "gamma": 1.0, "fused": True},
        compiles=False, code={"curvature": steepness}),
    Row("uncertain", UNCERTAIN, optim.Uncertain, _UNCERTAIN),
    Row("uncertain, all options", UNCERTAIN, optim.Uncertain, _UNCERTAIN_ALL, compiles=False),
    Row("uncertain, with resets", UNCERTAIN, optim.Uncertain, {**_RESET, "foreach": False},
        compiles=False, sober={"reset": None}),
]  # fmt: skip
