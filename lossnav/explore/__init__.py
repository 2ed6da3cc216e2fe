"""Explorables: small interactive figures that work in Jupyter and in the published page, where no kernel runs.

Each has a folder: ``constants.json`` declares its state, of which Python's class is made, ``model.js`` is its
mathematics, and ``view.js`` draws it. ``twin-….svg`` is a first frame of the script, for where no JavaScript runs. What
several share lies beside the folders. Nothing heavy is imported until one is made.
"""

from __future__ import annotations

from lossnav import _extras, _lazy

_extras.need("anywidget")

__getattr__, __dir__, __all__ = _lazy.attach(__name__, {
    name: (f"{__name__}.plain" if module == __name__ else module, origin)
    for name, (module, origin) in _lazy.places(__name__, __file__).items()
})  # fmt: skip
