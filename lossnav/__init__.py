"""LossNav: learning rules as optimal policies of one control problem.

    J[θ] = ∫ e^{−γt} { |θ̇ − f|²_G / 2η + k E[L̂(θ)] } dt

Change the assumptions — horizon, metric, drift, beliefs, uncertainty — and different rules come out. Names are loaded
on first use (PEP 562), so ``import lossnav`` pulls in none of torch, sympy, matplotlib or ipywidgets.
"""

from __future__ import annotations

import sys
import warnings

from lossnav import _extras, _lazy

#: Of the package that built this book.
__version__ = "0.2.0"

__getattr__, _, __all__ = _lazy.attach(__name__, _lazy.places(__name__, __file__))

_NEED = {  # what has to be installed for a name; whether it is, is found without loading it
    "torch": {
        "Fingerprint", "continual", "curvature", "data", "ensemble", "fingerprint", "models", "moving", "optim",
        "training", "watch",
    },
    "sympy": {"EulerLagrange", "euler_lagrange"},
    "matplotlib": {"figures"},
    "anywidget": {"explore"},
}  # fmt: skip


def __dir__() -> list[str]:
    """List what can be asked for here, so that ``help`` and ``inspect`` can: any other name raises ImportError."""
    missing = (names for module, names in _NEED.items() if not _extras.installed(module))
    return sorted({"__all__", *__all__}.difference(*missing))


if not getattr(sys, "_is_gil_enabled", lambda: True)():
    warnings.warn(
        "lossnav is not tested without the GIL, and its caches and counters have no locks: set PYTHON_GIL=1, and use "
        "processes in the place of threads",
        RuntimeWarning,
        stacklevel=2,
    )
