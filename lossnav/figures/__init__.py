"""Figures drawn from trajectories and records: nothing here trains or solves.

``style`` holds the look that all pages share (its names are re-exported here); ``acceleration``, ``adaptive``,
``beliefs``, ``cifar``, ``continual``, ``drift``, ``exponents``, ``geometry``, ``landscape``, ``momentum``, ``moving``,
``phase``, ``quadratic``, ``regret``, ``schedules``, ``sgd``, ``speed``, ``training`` and ``uncertainty`` draw the
chapters, ``rows`` draws what a table of numbers would hold, ``example`` draws the landscape and the path that the
theory chapters share, ``tables`` reads stored benchmark tables; they are loaded on first use. Nothing else in the
package imports matplotlib.
"""

from __future__ import annotations

from lossnav import _extras, _lazy

_extras.need("matplotlib")

__getattr__, __dir__, __all__ = _lazy.attach(__name__, _lazy.places(__name__, __file__))
