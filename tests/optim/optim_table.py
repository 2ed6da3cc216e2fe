"""One table of optimizers: every row goes through every check in test_optim_contract.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lossnav import optim


@dataclass(frozen=True)
class Row:
    """An optimizer with its options; a reference is for reading, so nobody compiles it."""

    name: str
    make: Any
    options: dict[str, Any] = field(default_factory=dict)
    compiles: bool = True

    def __call__(self, params: Any, **more: Any) -> Any:
        return self.make(params, **{**self.options, **more})


_FULL = {"lr": 0.01, "beta": 0.9, "weight_decay": 0.1, "bias_correction": True, "momentum": 0.8}
ROWS = [
    Row("ballistic", optim.Ballistic, {"lr": 0.01, "beta": 0.99}),
    Row("ballistic, all options", optim.Ballistic, _FULL),
    Row("ballistic, one at a time", optim.Ballistic, {**_FULL, "foreach": False}),
    Row("ballistic, fused", optim.Ballistic, {"lr": 0.01, "beta": 0.99, "fused": True}),
    Row("ballistic, all options, fused", optim.Ballistic, {**_FULL, "fused": True}),
    Row("reference", optim.BallisticReference, {"lr": 0.01, "beta": 0.99}, compiles=False),
    Row("reference, all options", optim.BallisticReference, _FULL, compiles=False),
]
