r"""What a recorded learner assumed: its discount, gain, drift, deadline or memory, as far as its path tells.

The module can be called: ``ln.infer(path, loss, times=…)`` is ``ln.infer.infer``. It stands above the trajectories,
since what passes every local test is still compared in J with what ``ln.solve`` finds, and below the optimizers, whose
records it reads without torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from lossnav import _lazy
from lossnav.analysis.inference import records
from lossnav.analysis.inference.design import Design, design
from lossnav.analysis.inference.entry import infer
from lossnav.analysis.inference.records import Curve, Gram, Rates, Steps
from lossnav.analysis.inference.result import Ambiguity, Estimate, Fit, Inference
from lossnav.problem.losses import Loss

__all__ = ["Ambiguity", "Curve", "Design", "Estimate", "Fit", "Gram", "Inference", "Rates", "Steps", "design", "infer"]


class CallableModule(_lazy.CallableModule):
    """Lets the name ``lossnav.infer`` be the module and the function at once; it says the types of what is called."""

    design: Callable[..., Design]
    Curve: type[records.Curve]
    Rates: type[records.Rates]
    Steps: type[records.Steps]

    def __call__(
        self, path: Any, loss: Loss | Callable[[Any], Any] | None = None, *, times: ArrayLike | None = None,
        family: str | Sequence[str] = "planner", noise: float | None = None, level: float = 0.95,
        known: Mapping[str, Any] | None = None,
    ) -> Inference:  # fmt: skip
        return infer(path, loss, times=times, family=family, noise=noise, level=level, known=known)


CallableModule.__call__.__doc__ = infer.__doc__
sys.modules[__name__].__class__ = CallableModule
module: CallableModule = sys.modules[__name__]  # type: ignore[assignment]
