"""What all explorables share: one self-contained script each, and a static twin where no script runs."""

from __future__ import annotations

import base64
import hashlib
import html
import inspect
import json
import math
import types
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
from lossnav.explore._scripts import constants, module, stylesheet


class Explorable(anywidget.AnyWidget):
    """An interactive figure with a static twin.

    Each has a folder of its own with its constants, its styles and its script, ``view.js``, whose default export is
    ``explorable(name, build, …)`` with the class's name. It holds its state in traits tagged ``sync=True``, which
    ``declared`` makes of the constants. Those with a ``check`` are what its constructor takes, in
    their order and with their defaults: the check takes the argument's name and value, and returns what the trait is to
    hold.

    Displayed, the twin comes first; the script hides it once the widget lives, so that it stays where scripts do not
    run (GitHub, print).

    Raises:
        ValueError: an argument does not pass its check.
    """

    _css = stylesheet()
    _folder: ClassVar[Path]
    _shared: ClassVar[dict[str, Any]]  # the folder's constants
    __signature__: ClassVar[inspect.Signature] = inspect.Signature()

    def __init_subclass__(cls, **options: Any) -> None:
        if folder := vars(cls).get("_folder"):  # and not that of a base, whose script it has already
            cls._esm, cls._css, cls._shared = module(folder), stylesheet(folder), constants(folder)
        super().__init_subclass__(**options)
        own = {n: _argument(n, trait) for n, trait in vars(cls).items() if "check" in getattr(trait, "metadata", ())}
        cls.__signature__ = inspect.Signature(list({**cls.__signature__.parameters, **own}.values()))

    def __init__(self, *given: Any, **named: Any):
        bound = self.__signature__.bind(*given, **named)
        bound.apply_defaults()
        super().__init__(**self._checked(bound.arguments))

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the traits are to hold; who has arguments that depend on each other checks that here, too."""
        traits = self.traits()
        return {name: traits[name].metadata["check"](name, value) for name, value in arguments.items()}

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
        desc = ElementTree.fromstring(picture.read_text(encoding="utf-8")).findtext("{http://www.w3.org/2000/svg}desc")
        return desc or ""

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


def declared(file: str | Path, *more: type) -> type[Explorable]:
    """Return the class of the explorable in whose folder a file lies, made of what its ``constants.json`` declares.

    ``more`` are classes with methods that it has beside.

    ``about.json`` says what is shown, and what each trait is. The constants' ``traits`` have, by name and in the order
    of the arguments, its start and its range (a list, whose inner numbers are marks under its slider; a trait without
    one has that of the axis), its ``ranges``, its ``choices`` or its ``rows``.
    """
    folder = Path(file).parent
    shared = constants(folder)
    axis = shared.get("axis", {})
    words = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    arguments = [_told(name, words["traits"][name], spec, axis) for name, spec in shared["traits"].items()]
    about = [*words["about"], "", "Args:", *arguments, "", "Raises:"]
    raised = "    ValueError: naming the argument that does not fit."
    name = "".join(map(str.capitalize, folder.name.split("_")))
    body: dict[str, Any] = {
        "__doc__": "\n".join([*about, raised]),
        "__module__": "lossnav.explore",  # where users find it
        "_folder": folder,
    }
    traits = {name: _trait(spec, axis) for name, spec in shared["traits"].items()}
    bases = more if any(issubclass(base, Explorable) for base in more) else (*more, Explorable)
    cls: type[Explorable] = types.new_class(name, bases, exec_body=lambda namespace: namespace.update(body | traits))
    return cls


def _trait(spec: dict[str, Any], axis: dict[str, Any]) -> traitlets.TraitType[Any, Any]:
    """Return what holds a trait that constants declare, and travels to the script (life.js checks addresses alike)."""
    if "choices" in spec:
        allowed = spec["choices"]
        return traitlets.Enum(allowed, spec["start"]).tag(sync=True, check=partial(_checks.one_of, allowed=allowed))
    if "rows" in spec:
        parts = [traitlets.Int() if column.get("whole") else traitlets.Float() for column in spec["rows"]]
        return traitlets.List(traitlets.Tuple(*parts)).tag(sync=True, check=partial(rows_within, declared=spec))
    if "ranges" in spec:
        floats = [traitlets.Float(min=low, max=high) for low, high in spec["ranges"]]
        start = tuple(map(float, spec["start"]))
        check = partial(numbers_within, ranges=spec["ranges"])
        return traitlets.Tuple(*floats, default_value=start).tag(sync=True, check=check)
    low, high = _ends(spec.get("range") or axis["range"])
    if spec.get("whole"):
        return traitlets.Int(spec["start"], min=low, max=high).tag(
            sync=True, check=partial(_checks.whole, low=int(low), high=int(high))
        )
    number = traitlets.Float(float(spec["start"]), min=low, max=high)
    if math.isinf(high):
        number.tag(to_json=lambda value, _: None if math.isinf(value) else value, from_json=_from_json)
    return number.tag(sync=True, check=partial(number_within, ends=(low, high)))


def _ends(marks: Sequence[float | None]) -> tuple[float, float]:
    """Return where a range begins and ends; between them are marks, and None stands for ∞, which JSON does not have."""
    low, high = marks[0], marks[-1]
    assert low is not None
    return low, math.inf if high is None else high


def _from_json(value: float | None, _: Any) -> float:
    return math.inf if value is None else float(value)


def number_within(name: str, value: float, ends: Sequence[float]) -> float:
    """Return ``value`` as a float from the first to the last of ``ends``.

    Raises:
        ValueError: naming the argument, its value and the range.
    """
    if not math.isinf(ends[-1]):
        return _checks.finite(name, value, low=float(ends[0]), high=float(ends[-1]))
    if _checks.duration(name, value) < ends[0]:
        raise ValueError(f"{name} = {value!r}, but it must be in [{ends[0]}, inf]")
    return float(value)


def numbers_within(name: str, value: Sequence[float], ranges: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return ``value`` as floats, each in its range.

    Raises:
        ValueError: naming the argument, its value and the ranges.
    """
    numbers = _checks.array(name, value, shape=(len(ranges),))
    low, high = np.array(ranges, dtype=float).T
    if np.any((numbers < low) | (numbers > high)):
        allowed = dict.fromkeys(f"[{ends[0]}, {ends[-1]}]" for ends in ranges)
        raise ValueError(f"{name} = {_checks.shown(value)}, but its entries must be in {' and '.join(allowed)}")
    return tuple(map(float, numbers))


def rows_within(name: str, value: Sequence[Sequence[float]], declared: dict[str, Any]) -> list[tuple[float, ...]]:
    """Return ``value`` as tuples of numbers, each in the range of its column, and not more of them than allowed.

    Raises:
        ValueError: naming the argument, its value and what is allowed.
    """
    rows, columns = [], declared["rows"]
    for row in _checks.sequence(name, value, f"rows of {len(columns)} numbers"):
        if len(_checks.sequence(f"an entry of {name}", row, f"{len(columns)} numbers")) != len(columns):
            raise ValueError(f"{name} has an entry {_checks.shown(row)}, but each must be {len(columns)} numbers")
        cells = []
        for i, (column, cell) in enumerate(zip(columns, row, strict=True)):
            check = _checks.whole if column.get("whole") else _checks.finite
            cells.append(check(f"{name}[i][{i}]", cell, low=column["range"][0], high=column["range"][-1]))
        rows.append(tuple(cells))
    if len(rows) > declared["most"]:
        raise ValueError(f"{name} has {len(rows)} entries, but at most {declared['most']} are allowed")
    return rows


def _told(name: str, description: str, spec: dict[str, Any], axis: dict[str, Any]) -> str:
    """Return what a docstring says of a trait."""

    def written(ends: Sequence[float | None]) -> str:
        low, high = _ends(ends)
        return f"[{low:.15g}, {high:.15g}]".replace("-", "−")

    if "range" in spec or ("start" in spec and isinstance(spec["start"], int | float)):
        return f"    {name}: {description}, in {written(spec.get('range') or axis['range'])}."
    if "ranges" in spec:
        return f"    {name}: {description}: in {' × '.join(map(written, spec['ranges']))}."
    return f"    {name}: {description}."


def _argument(name: str, trait: traitlets.TraitType[Any, Any]) -> inspect.Parameter:
    """Return the argument that a constructor takes for a trait."""
    default = trait.default()
    kind = Sequence if isinstance(default, list | tuple) else type(default)
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
