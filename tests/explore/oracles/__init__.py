"""What each explorable is to show, computed by the library: the scripts are held against these numbers.

An oracle is the explorable with methods. ``said()`` returns numbers that the script must tell, and ``shows()`` the
lines by name, as far as their panels show them, as lists of points in data. Those of curves have ``lines()`` instead.
"""

from __future__ import annotations

import importlib

from lossnav import explore

for _name in set(explore.__all__) - {"Explorable"}:
    _folder = getattr(explore, _name)._folder.name
    globals()[_name] = getattr(importlib.import_module(f"oracles.{_folder}"), _name)
