"""Argument checks and the wording of errors: every message names the argument, the value and what is allowed.

One check for each kind of argument, and each is the first thing that a public function does with it: ``finite``,
``positive``, ``weight``, ``duration`` (numbers), ``whole``, ``counts``, ``seed``, ``seeds`` (whole numbers), ``room``
(sizes of what is made), ``flag``, ``one_of``, ``array``, ``reals``, ``points``, ``positives``, ``nonnegatives``,
``square``, ``symmetric`` (arrays), ``instance``, ``instances``, ``function``, ``sequence`` (objects). Nothing is
converted that could lose something: a complex number, a masked entry, a date, a word and a truth value are no real
numbers.
"""

from __future__ import annotations

import difflib
import functools
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from types import UnionType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]
Kind = TypeVar("Kind")

_FLOAT = np.dtype(np.float64)
_WORDS = (str, bytes, bytearray)
_TRUTHS = (bool, np.bool_)
_MOST = 2**40 - 1  # of what is counted: eight terabytes of numbers, or a loop of many days


class NotConverged(RuntimeError):
    """A solver stopped before it met its tolerance; the message gives the residual and what to try."""

    __module__ = "lossnav"  # where users find it


class NoMinimiser(ValueError):
    """The control problem has no minimiser; the message says why."""

    __module__ = "lossnav"  # where users find it


def shown(value: Any) -> str:
    """Return a short picture of ``value`` for an error message."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    try:
        text = " ".join(repr(value).split())  # arrays print over several lines
    except Exception:  # an int of more than 4300 digits, an object whose own picture fails
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


# ----------------------------------------------------------------------------------------------------------- numbers


def finite(
    name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, open_low: bool = False,
    open_high: bool = False,
) -> float:  # fmt: skip
    """Return ``value`` as a float, or raise unless it is finite and within [low, high], or without an ``open`` end."""
    if type(value) is float and low < value < high and math.isfinite(value):  # most calls: no words are needed
        return value
    allowed = "a finite number"
    if low > -math.inf:
        allowed += f" {'>' if open_low else '>='} {low:g}"
    if high < math.inf:
        allowed += f"{' and' if low > -math.inf else ''} {'<' if open_high else '<='} {high:g}"
    number = _number(name, value, allowed)
    outside = number < low or number > high or (open_low and number == low) or (open_high and number == high)
    if not math.isfinite(number) or outside:
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    return number


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise unless it is finite and > 0."""
    return finite(name, value, low=0.0, open_low=True)


def nonnegative(name: str, value: Any) -> float:
    """Return a number >= 0, or raise ``ValueError``."""
    return finite(name, value, low=0.0)


def weight(name: str, value: Any) -> float:
    """Return the weight of the past in an average, a number in [0, 1), or raise ``ValueError``."""
    return finite(name, value, low=0.0, high=1.0, open_high=True)


def duration(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a time span, (0, inf] or with ``zero`` [0, inf]."""
    allowed = f"a number in {'[' if zero else '('}0, inf]"
    number = _number(name, value, allowed)
    if math.isnan(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    return number


def check(held: Any, **checks: Callable[[str, Any], Any]) -> None:
    """Put what a check returns into the fields of a frozen dataclass that are named as the checks are."""
    for name, checked in checks.items():
        object.__setattr__(held, name, checked(name, getattr(held, name)))


def _number(name: str, value: Any, allowed: str) -> float:
    try:
        if _is_number(value):
            return float(value)
        if hasattr(value, "dtype"):  # an array or a tensor without axes
            converted = _converted(value)
            if converted.ndim == 0:
                return float(converted)
    except Exception:  # what conversions raise depends on the library that the value comes from
        pass
    raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")


def _is_number(value: Any) -> bool:
    """Whether ``value`` is one real number: Python's, numpy's, a Fraction, a Decimal, or what says it is a float."""
    if isinstance(value, np.generic):
        # a time span is an integer for numpy
        return isinstance(value, np.floating | np.integer) and not isinstance(value, np.timedelta64)
    return hasattr(type(value), "__float__") and not hasattr(value, "dtype") and not isinstance(value, _TRUTHS)


def whole(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int, or raise unless it is one within [low, high] (1.0 is none: it is not an int).

    Without ``high`` it is below 2⁴⁰: as many numbers fit into no memory, and as many turns of a loop do not end.
    """
    most = _MOST if high is None else high
    if not is_whole(value) or not low <= value <= most:
        above = high is not None or (is_whole(value) and value > most)
        allowed = f"a whole number >= {low}" + (f" and <= {most}" if above else "")
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    return int(value)


def is_whole(value: Any) -> bool:
    """Whether ``value`` is an int of Python or numpy; truth values and numpy's time spans are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def counts(**values: Any) -> None:
    """Raise, naming the first that is wrong, unless all values are whole numbers >= 1."""
    for name, value in values.items():
        whole(name, value, low=1)


def room(numbers: float, each: int = 8, /, **sizes: int) -> None:
    """Raise, naming the largest of the sizes, unless so many numbers of ``each`` bytes fit into the machine's memory.

    It is asked first: some systems grant more than they have, and end the process that uses it.
    """
    if each * numbers > _memory():
        name, size = max(sizes.items(), key=lambda item: item[1])
        raise ValueError(
            f"{name} = {size}, but it must be smaller: {numbers:.3g} numbers would be made, "
            f"and this machine has memory for {_memory() / each:.3g}"
        )


@functools.cache
def _memory() -> int:
    """Return how many bytes of memory the machine has, 2⁴⁰ where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**40


def seed(name: str, value: Any, *, low: int = -(2**63)) -> int:
    """Return a seed that torch's generators take, or raise; numpy's take none below 0."""
    return whole(name, value, low=low, high=2**64 - 1)


def seeds(name: str, value: Any, of: str, *, low: int = -(2**63), none: str = "") -> tuple[int, ...]:
    """Return a list of seeds as a tuple, or raise; ``none`` says why it must not be empty, if it must not."""
    checked = tuple(seed(f"{name}[{index}]", entry, low=low) for index, entry in enumerate(sequence(name, value, of)))
    if none and not checked:
        raise ValueError(f"{name} is empty, but {none}")
    return checked


def flag(name: str, value: Any) -> bool:
    """Return ``value`` if it is True or False, or raise: "no" and 0.5 are neither."""
    if not isinstance(value, _TRUTHS):
        raise ValueError(f"{name} = {shown(value)}, but it must be true or false")
    return bool(value)


def one_of(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return ``value`` if it is one of ``allowed``, or raise."""
    if not isinstance(value, str) or value not in allowed:
        near = difflib.get_close_matches(value, allowed, n=1) if isinstance(value, str) else []
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"{name} = {shown(value)}, but it must be one of {', '.join(map(repr, allowed))}{meant}")
    return value


# ------------------------------------------------------------------------------------------------------------ arrays


def reals(name: str, value: Any, *, truths: bool = False) -> Array:
    """Return ``value`` as a float64 array, which may hold NaN and inf, or raise unless all of it is real numbers.

    For functions of a point that hand on what is not finite. ``truths``: truth values are taken as 0 and 1.
    """
    if type(value) is np.ndarray and value.dtype == _FLOAT:
        return value
    try:
        return _converted(value, truths)
    except Exception:  # what conversions raise depends on the library that the value comes from
        advice = ": call its .detach()" if getattr(value, "requires_grad", False) is True else ""
        raise ValueError(f"{name} = {shown(value)}, but it must be an array of real numbers{advice}") from None


def _converted(value: Any, truths: bool = False) -> Array:
    """Return float64, or raise whatever says that something would be lost."""
    if _is_masked(value) or (isinstance(value, list | tuple) and any(map(_is_masked, value))):
        raise TypeError("masked entries are no numbers")
    raw = np.asarray(value)
    kind = raw.dtype.kind
    if kind == "O":  # fractions, decimals, ints of more than 64 bits; words, None, sets and generators are refused
        if not all(_is_number(entry) for entry in raw.flat):
            raise TypeError("not all entries are numbers")
    elif kind not in "iuf" and not (kind == "b" and (truths or raw.size == 0)):
        raise TypeError(f"entries of kind {kind}")
    if kind == "f" and raw.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # a wider float than ours; inf is then seen
            return raw.astype(_FLOAT)
    return raw.astype(_FLOAT)


def _is_masked(value: Any) -> bool:
    return isinstance(value, np.ma.MaskedArray) and bool(np.ma.is_masked(value))


def array(name: str, value: Any, *, shape: tuple[int | str | None, ...] | None = None, truths: bool = False) -> Array:
    """Return ``value`` as a finite float64 array, never the same memory.

    A free length in ``shape`` is a name for the message; None is "D" on the last axis, and "N" on those before.
    """
    result = reals(name, value, truths=truths)
    if result is value:
        result = result.copy()  # who keeps it must not see it changed from outside
    if shape is not None and (
        result.ndim != len(shape)
        or any(isinstance(n, int | np.integer) and n != m for n, m in zip(shape, result.shape, strict=True))
    ):
        last = len(shape) - 1
        lengths = [("D" if i == last else "N") if n is None else str(n) for i, n in enumerate(shape)]
        wanted = "(" + ", ".join(lengths) + ("," if len(shape) == 1 else "") + ")"
        raise ValueError(f"{name} has shape {result.shape}, but it must have shape {wanted}")
    if not np.isfinite(result).all():
        place = np.argwhere(~np.isfinite(result))[0].tolist()
        where = f" ({name}{place} = {result[tuple(place)]})" if result.size > 6 else ""
        raise ValueError(f"{name} = {shown(result)}, but all its entries must be finite{where}")
    return result


def frozen(*arrays: Array) -> None:
    """Let nobody write to arrays that an object hands out and goes on to use."""
    for held in arrays:
        held.setflags(write=False)


def at_least_one(name: str, points: Array) -> None:
    """Raise unless there is a point among some, shape (N, D)."""
    if not points.size:
        raise ValueError(f"{name} has shape {points.shape}, but it must hold at least one point")


def points(name: str, value: Any, dim: int | None = None) -> Array:
    """Return points of shape (..., D) as float64, which may hold NaN and inf; ``dim`` None takes any D >= 1."""
    result = reals(name, value)
    if result.ndim == 0 or (result.shape[-1] != dim if dim is not None else result.shape[-1] == 0):
        wanted = f"its last axis must have length {dim}" if dim is not None else "it must have shape (..., D)"
        raise ValueError(f"{name} has shape {result.shape}, but {wanted}")
    return result


def positives(name: str, value: Any, *, shape: tuple[int | str | None, ...] | None = None) -> Array:
    """Return ``value`` as an array of finite numbers > 0, or raise."""
    result = array(name, value, shape=shape)
    if (result <= 0).any():
        raise ValueError(f"{name} = {shown(value)}, but all its entries must be > 0")
    return result


def nonnegatives(name: str, value: Any, *, shape: tuple[int | str | None, ...] | None = None) -> Array:
    """Return ``value`` as an array of finite numbers >= 0, or raise."""
    result = array(name, value, shape=shape)
    if (result < 0).any():
        raise ValueError(f"{name} = {shown(value)}, but all its entries must be >= 0")
    return result


def together(**values: Array) -> None:
    """Raise ValueError, naming them, unless the shapes of arrays broadcast."""
    first = next(iter(values.values())).shape
    if all(value.shape == first for value in values.values()):
        return
    try:
        np.broadcast_shapes(*(value.shape for value in values.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in values.items())
        raise ValueError(f"the shapes {shapes} do not fit together, but they must broadcast") from None


def square(name: str, value: Any, *, dim: int | None = None) -> Array:
    """Return a finite float64 matrix with as many rows as columns, at least one, or raise."""
    matrix = array(name, value, shape=("D" if dim is None else dim,) * 2)
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"{name} has shape {matrix.shape}, but it must be square")
    return matrix


def moving(theta: ArrayLike, velocity: ArrayLike, dim: int | None = None) -> tuple[Array, Array]:
    """Return ``theta`` and ``velocity`` as points of one D whose leading axes broadcast, or raise."""
    places = points("theta", theta, dim)
    speeds = points("velocity", velocity, places.shape[-1])
    together(theta=places, velocity=speeds)
    return places, speeds


def symmetric(name: str, value: ArrayLike, *, dim: int | None = None, definite: bool = False) -> Array:
    """Return a symmetric (``definite``: positive definite) float64 matrix, exactly symmetrised, or raise."""
    matrix = square(name, value, dim=dim)
    if (matrix != matrix.T).any():
        gap = float(np.max(np.abs(matrix - matrix.T)))
        if gap > 1e-8 * float(np.max(np.abs(matrix))):
            raise ValueError(
                f"{name} = {shown(value)} differs from its transpose by {gap:.3g}, but it must be symmetric"
            )
        matrix = (matrix + matrix.T) / 2
    if definite:
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            lowest = float(np.linalg.eigvalsh(matrix)[0])
            raise ValueError(
                f"{name} = {shown(value)} has the eigenvalue {lowest:.3g}, but it must be positive definite"
            ) from None
    return matrix


class Shaped:
    """A class of which subclasses outside of this package raise ``ValueError`` where a method returns another shape.

    Attributes:
        _axes: for each name of a method, which is called with points of shape (..., D), how many axes of length D its
            result has in the place of their last.
    """

    _axes: ClassVar[Mapping[str, int]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] != __name__.partition(".")[0]:
            for name in cls._axes.keys() & vars(cls).keys():
                setattr(cls, name, _shaped(f"{cls.__name__}.{name}", vars(cls)[name], cls._axes[name]))


def _shaped(name: str, method: Callable[..., Any], axes: int) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, *points: Any, **named: Any) -> Any:
        result, place = reals(name, method(self, *points, **named)), np.shape([*points, *named.values()][0])
        wanted = (*place[:-1], *place[-1:] * axes)
        if result.shape != wanted:
            raise ValueError(f"{name} returns shape {result.shape} at points of shape {place}, but it must be {wanted}")
        return result if wanted else float(result)

    return checked


# ----------------------------------------------------------------------------------------------------------- objects


def instance(name: str, value: Any, kind: type[Kind] | tuple[type[Any], ...] | UnionType, allowed: str) -> Kind:
    """Return ``value`` if it is of a kind, or raise; ``allowed`` says in words what it must be."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    return value


def instances(name: str, value: Any, kind: type[Any], allowed: str, of: str) -> None:
    """Raise unless ``value`` is a sequence of objects of a kind; ``of`` says in words what of."""
    for index, entry in enumerate(sequence(name, value, of)):
        instance(f"{name}[{index}]", entry, kind, allowed)


def path(name: str, value: Any) -> None:
    """Raise unless ``value`` is a path: a string that is not empty, or an ``os.PathLike``."""
    if not isinstance(value, str | os.PathLike) or value == "":
        raise ValueError(f"{name} = {shown(value)}, but it must be a path")


def paths(**values: Any) -> None:
    """Raise, naming the first that is wrong, unless all values are paths or None."""
    for name, value in values.items():
        if value is not None:
            path(name, value)


def methods(name: str, value: Any, wanted: Sequence[str], allowed: str) -> None:
    """Raise unless ``value`` is an object that has methods of these names; ``allowed`` says what it must be."""
    for method in wanted:
        if isinstance(value, type) or not callable(getattr(value, method, None)):
            raise ValueError(f"{name} = {shown(value)} has no {method}(), but it must be {allowed}")


def function(name: str, value: Any) -> Any:
    """Return ``value`` if it can be called, or raise."""
    if not callable(value):
        raise ValueError(f"{name} = {shown(value)}, but it must be callable")
    return value


def sequence(name: str, value: Any, of: str) -> Sequence[Any]:
    """Return ``value`` if it is a sequence that can be passed through again, and no word; ``of`` says what of."""
    listed = isinstance(value, Sequence) and not isinstance(value, _WORDS)
    if not listed and not (isinstance(value, np.ndarray) and value.ndim > 0):
        raise ValueError(f"{name} = {shown(value)}, but it must be a list of {of}")
    return value
