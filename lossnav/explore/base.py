"""What all explorables share: one self-contained script each, and a static twin where no script runs."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from pathlib import Path

import anywidget
import numpy as np
import traitlets
from IPython.display import display

from lossnav import _checks

STATIC = Path(__file__).parent

_COMMENT = re.compile(r"^[ ]*//[^\n]*\n|^[ ]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r'^import \{[^}]*\} from "\.{1,2}/(?P<file>\w+\.js)";\n', re.MULTILINE)


def bundle(*files: str) -> str:
    """Return the scripts ``files`` as one module: a published page carries each widget's script, and no other files.

    The files are joined in the order given, and their imports of each other dropped, so a file may import only
    from those before it. Lines that are all comment stay behind: each widget of a page brings its own copy.

    Args:
        *files: their paths in this folder; the last has the default export.

    Raises:
        ValueError: if a file imports one that does not come before it.
    """
    parts: list[str] = []
    for position, name in enumerate(files):
        text = (STATIC / name).read_text(encoding="utf-8")
        for wanted in _IMPORT.finditer(text):
            if wanted["file"] not in [Path(file).name for file in files[:position]]:
                raise ValueError(f"{name} imports {wanted['file']}, which must come before it in {files}")
        parts.append(_COMMENT.sub("", _IMPORT.sub("", text)))
    return "\n".join(parts)


def stylesheet() -> str:
    """Return the style sheet of the explorables."""
    return (STATIC / "explorable.css").read_text(encoding="utf-8")


def point_trait(default: tuple[float, float], edge: float) -> traitlets.Tuple:
    """Return a trait that holds a point of the plane, both entries in [−edge, edge], and travels to the script."""
    part = [traitlets.Float(min=-edge, max=edge) for _ in range(2)]
    return traitlets.Tuple(*part, default_value=default).tag(sync=True)


def plane_point(name: str, value: Sequence[float], edge: float) -> tuple[float, float]:
    """Return ``value`` as two floats in [−edge, edge].

    Raises:
        ValueError: naming the argument, its value and the range.
    """
    point = _checks.array(name, value, shape=(2,))
    if np.max(np.abs(point)) > edge:
        raise ValueError(f"{name} = {_checks.shown(value)}, but both its entries must be in [{-edge}, {edge}]")
    return float(point[0]), float(point[1])


class Explorable(anywidget.AnyWidget):
    """An interactive figure with a static twin.

    A subclass sets ``_esm`` to a ``bundle`` whose default export is ``explorable(name, build)`` with its own class
    name, holds its state in traits tagged ``sync=True``, and draws its twin from the same state. Displayed, the twin
    comes first; the script hides it once the widget lives, so that it stays where scripts do not run (GitHub, print).
    """

    _css = stylesheet()

    def picture(self) -> str:
        """Return the static twin at the present state, as an SVG document."""
        raise TypeError(f"{type(self).__name__} does not define picture()")

    def description(self) -> str:
        """Return what the static twin shows, in words, at the present state."""
        raise TypeError(f"{type(self).__name__} does not define description()")

    def fallback(self) -> str:
        """Return the static twin as an HTML figure with alternative text."""
        source = base64.b64encode(self.picture().encode()).decode("ascii")
        name, words = type(self).__name__, html.escape(self.description())
        return (
            f'<figure class="lossnav-fallback" data-for="{name}" style="margin:0.5rem 0;max-width:46rem">'
            f'<img alt="{words}" src="data:image/svg+xml;base64,{source}" '
            'style="width:100%;height:auto;background:#fff"></figure>'
        )

    def _ipython_display_(self) -> None:
        display({"text/html": self.fallback(), "text/plain": self.description()}, raw=True)
        data = self._repr_mimebundle_()
        if data is not None:
            display(data[0], metadata=data[1], raw=True)

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._state_names())
        return f"explore.{type(self).__name__}({state})"

    def _state_names(self) -> list[str]:
        machinery = anywidget.AnyWidget.class_trait_names()
        return [name for name in self.trait_names(sync=True) if name[0] != "_" and name not in machinery]
