"""What figures of several pages share: nothing here trains or solves.

``style`` holds the look (its names are re-exported here), ``landscape`` the ground that paths are drawn over,
``example`` the landscape and the path that the theory chapters share, ``rows`` what stands where a table of numbers
would, and ``tables`` reads stored benchmark tables; they are loaded on first use. What one chapter draws stands beside
it, in ``book/drawing``. Nothing else in the package imports matplotlib.
"""

from __future__ import annotations

from lossnav import _extras, _lazy

_extras.need("matplotlib")

__getattr__, __dir__, __all__ = _lazy.attach(__name__, _lazy.places(__name__, __file__))
