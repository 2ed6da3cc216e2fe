"""Results that can be looked at. They know no matplotlib and no pandas: those are loaded when they are asked for."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lossnav import _checks, _extras

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Shown:
    """A result with a picture, which a notebook shows, and with numbers to take away.

    A subclass says which numbers it has (``_facts``, ``_columns``) and which of the drawings of
    ``lossnav.figures.results`` is its own.
    """

    _drawing: ClassVar[str]

    def _facts(self) -> Mapping[str, Any]:
        """Return what is one number, word or point for the whole result, by name."""
        return {}

    def _columns(self) -> Mapping[str, Any]:
        """Return what runs along the result, by name, each of shape (N,)."""
        return {}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result, and return the axes.

        Args:
            ax: matplotlib axes to draw in; None makes a figure in the book's style.

        Raises:
            ModuleNotFoundError: matplotlib is missing, with what to install.
            ValueError: ``ax`` is no matplotlib Axes, or the result has nothing to draw, with the reason.
        """
        return _drawings().plot(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return the result's numbers, words and lists of numbers by name, as ``json.dumps`` takes them."""
        return {name: _plain(value) for name, value in {**self._facts(), **self._columns()}.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return what runs along the result as a table of pandas, with the rest in its ``attrs``.

        A result that is only single numbers is a table of one row.

        Raises:
            ModuleNotFoundError: pandas is missing.
        """
        _extras.need("pandas")
        import pandas as pd

        columns, facts = self._columns(), self._facts()
        if not columns:
            return pd.DataFrame([facts])
        frame = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})
        frame.attrs.update({name: _plain(value) for name, value in facts.items()})
        return frame

    def _repr_png_(self) -> bytes | None:
        return _drawings().small(self) if _extras.installed("matplotlib") else None


def by_coordinate(name: str, values: Any) -> dict[str, Any]:
    """Return the columns of an array of shape (N, D), each under its number: ``name_1`` … ``name_D``."""
    return {f"{name}_{i + 1}": column for i, column in enumerate(np.asarray(values).T)}


def call(thing: Any) -> str:
    """Return the call that makes a dataclass, on one line: without what is at its default, and what is large cut."""
    if not is_dataclass(thing):
        return _checks.shown(thing.item() if isinstance(thing, np.ndarray) and thing.ndim == 0 else thing)
    told = {one.name: (call(getattr(thing, one.name)), call(one.default)) for one in fields(thing) if one.init}
    arguments = (f"{name}={value}" for name, (value, default) in told.items() if value != default)
    return f"{type(thing).__name__}({', '.join(arguments)})"


def _drawings() -> Any:
    """Return the room that draws: it stands above all results, so that none of them can import it."""
    _extras.need("matplotlib")
    return importlib.import_module("lossnav.figures.results")


def _plain(value: Any) -> Any:
    """Return a number, word or array as JSON has it; what is no number there (NaN, ±inf) as None or a word."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
