"""What all explorables share: one self-contained script each, and a static twin where no script runs."""

from __future__ import annotations

import base64
import hashlib
import html
import inspect
import json
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import numpy as np
import traitlets
from IPython.display import display

from lossnav import _checks
from lossnav.explore._scripts import bundle, constants, stylesheet


def number_trait(ends: Sequence[float], default: float) -> traitlets.Float:
    """Return a trait that holds a number from the first to the last of ``ends``, and travels to the script."""
    trait = traitlets.Float(default, min=ends[0], max=ends[-1])
    return trait.tag(sync=True, check=partial(number_within, ends=ends))


def whole_trait(ends: Sequence[int], default: int) -> traitlets.Int:
    """Return a trait that holds a whole number from the first to the last of ``ends``, and travels to the script."""
    trait = traitlets.Int(default, min=ends[0], max=ends[-1])
    return trait.tag(sync=True, check=partial(_checks.whole, low=ends[0], high=ends[-1]))


def number_within(name: str, value: float, ends: Sequence[float]) -> float:
    """Return ``value`` as a float from the first to the last of ``ends``.

    Raises:
        ValueError: naming the argument, its value and the range.
    """
    return _checks.finite(name, value, low=float(ends[0]), high=float(ends[-1]))


def point_trait(default: tuple[float, float], edge: float, tall: float | None = None) -> traitlets.Tuple:
    """Return a trait that holds a point of the plane, and travels to the script.

    Its entries are in [−edge, edge] and [−tall, tall], ``tall`` being ``edge`` unless given.
    """
    part = [traitlets.Float(min=-most, max=most) for most in (edge, edge if tall is None else tall)]
    check = partial(plane_point, edge=edge, tall=tall)
    return traitlets.Tuple(*part, default_value=default).tag(sync=True, check=check)


def plane_point(name: str, value: Sequence[float], edge: float, tall: float | None = None) -> tuple[float, float]:
    """Return ``value`` as two floats in [−edge, edge], the second in [−tall, tall] if that is given.

    Raises:
        ValueError: naming the argument, its value and the range.
    """
    point = _checks.array(name, value, shape=(2,))
    if np.max(np.abs(point)) > edge:
        raise ValueError(f"{name} = {_checks.shown(value)}, but both its entries must be in [{-edge}, {edge}]")
    if tall is not None and abs(point[1]) > tall:
        raise ValueError(f"{name} = {_checks.shown(value)}, but its second entry must be in [{-tall}, {tall}]")
    return float(point[0]), float(point[1])


class Explorable(anywidget.AnyWidget):
    """An interactive figure with a static twin.

    A subclass stands in a folder of its own, beside its constants, its styles and its script, ``view.js``, whose
    default export is ``explorable(name, build)`` with the class's name. It holds its state in traits tagged
    ``sync=True``. The traits with a ``check`` are what its constructor takes, in their order and with their defaults:
    the check takes the argument's name and value, and returns what the trait is to hold.

    Displayed, the twin comes first; the script hides it once the widget lives, so that it stays where scripts do not
    run (GitHub, print).

    Raises:
        ValueError: an argument does not pass its check.
    """

    _css = stylesheet()
    _folder: ClassVar[Path]
    _shared: ClassVar[dict[str, Any]]  # the folder's constants
    __signature__: ClassVar[inspect.Signature] = inspect.Signature()

    def __init_subclass__(cls, **options: Any):
        home = getattr(sys.modules[cls.__module__], "__file__", None)
        again = any(base.__module__ == cls.__module__ for base in cls.__bases__)  # as an instance that gets traits does
        if home and Path(home).with_name("view.js").is_file() and not again:
            cls._folder = folder = Path(home).parent
            cls._esm, cls._css, cls._shared = bundle(folder), stylesheet(folder), constants(folder)
        super().__init_subclass__(**options)
        own = {n: _argument(n, trait) for n, trait in vars(cls).items() if "check" in getattr(trait, "metadata", ())}
        cls.__signature__ = inspect.Signature(list({**cls.__signature__.parameters, **own}.values()))

    def __init__(self, *given: Any, **named: Any):
        asked = self.__signature__.bind(*given, **named)
        asked.apply_defaults()
        super().__init__(**self._checked(asked.arguments))

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the traits are to hold; who has arguments that depend on each other checks that here, too."""
        traits = self.traits()
        return {name: traits[name].metadata["check"](name, value) for name, value in given.items()}

    def twin(self) -> Path:
        """Return where the picture of the present state lies, if it is one that is drawn beforehand.

        The script draws it, where node is, when notebooks are written: of each first state, and of each that the book
        shows. Its ``<desc>`` says in words what is seen.
        """
        state = json.dumps(self.get_state(self._state_names()), sort_keys=True)
        return self._folder / f"twin-{hashlib.sha256(state.encode()).hexdigest()[:12]}.svg"

    def fallback(self) -> str:
        """Return the static twin as an HTML figure: the picture of the present state, or words where there is none."""
        words, picture = html.escape(self.words()), self.twin()
        shown = f'<p style="margin:0">{words}</p>'
        if picture.is_file():
            source = base64.b64encode(picture.read_bytes()).decode("ascii")
            shown = (
                f'<img alt="{words}" src="data:image/svg+xml;base64,{source}" '
                'style="width:100%;height:auto;background:#fff">'
            )
        style = "margin:0.5rem 0;max-width:46rem"
        return f'<figure class="lossnav-fallback" data-for="{type(self).__name__}" style="{style}">{shown}</figure>'

    def words(self) -> str:
        """Return what the twin shows in words, or what is on show where no picture of the present state was drawn."""
        picture = self.twin()
        if not picture.is_file():
            return f"{self._shared['title']}: {self!r}. Its script draws it where widgets live."
        said = ElementTree.fromstring(picture.read_text(encoding="utf-8")).findtext("{http://www.w3.org/2000/svg}desc")
        return said or ""

    def _ipython_display_(self) -> None:
        display({"text/html": self.fallback(), "text/plain": self.words()}, raw=True)
        data = self._repr_mimebundle_()
        if data is not None:
            display(data[0], metadata=data[1], raw=True)

    def __repr__(self) -> str:
        state = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._state_names())
        return f"explore.{type(self).__name__}({state})"

    def _state_names(self) -> list[str]:
        machinery = anywidget.AnyWidget.class_trait_names()
        return [name for name in self.trait_names(sync=True) if name[0] != "_" and name not in machinery]


def _argument(name: str, trait: traitlets.TraitType[Any, Any]) -> inspect.Parameter:
    """Return the argument that a constructor takes for a trait."""
    default = trait.default()
    kind = Sequence if isinstance(default, list | tuple) else type(default)
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
