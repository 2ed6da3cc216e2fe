"""Argument checks and the wording of errors: every message names the argument, the value and what is allowed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.floating[Any]]


class NotConverged(RuntimeError):
    """A solver stopped before it met its tolerance; the message gives the residual and what to try."""


class NoMinimiser(ValueError):
    """The control problem has no minimiser; the message says why."""


def shown(value: Any) -> str:
    """Return a short picture of ``value`` for an error message."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    text = " ".join(repr(value).split())  # arrays print over several lines
    return text if len(text) <= 80 else text[:77] + "..."


def finite(name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, open_low: bool = False) -> float:
    """Return ``value`` as a float, or raise unless it is finite and within [low, high] (``open_low``: (low, high])."""
    allowed = "a finite number"
    if low > -math.inf:
        allowed += f" {'>' if open_low else '>='} {low:g}"
    if high < math.inf:
        allowed += f"{' and' if low > -math.inf else ''} <= {high:g}"
    number = _number(name, value, allowed)
    if not math.isfinite(number) or number < low or number > high or (open_low and number == low):
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    return number


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise unless it is finite and > 0."""
    return finite(name, value, low=0.0, open_low=True)


def whole(name: str, value: Any, *, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int, or raise unless it is one within [low, high] (1.0 is none: it is not an int)."""
    whole_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole_number or value < low or (high is not None and value > high):
        allowed = f"a whole number >= {low}" + ("" if high is None else f" and <= {high}")
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    return int(value)


def counts(**values: Any) -> None:
    """Raise, naming the first that is wrong, unless all values are whole numbers >= 1."""
    for name, value in values.items():
        whole(name, value, low=1)


def duration(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a time span, (0, inf] or with ``zero`` [0, inf]."""
    allowed = f"a number in {'[' if zero else '('}0, inf]"
    number = _number(name, value, allowed)
    if math.isnan(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}")
    return number


def _number(name: str, value: Any, allowed: str) -> float:
    try:
        if isinstance(value, (str, bytes, bool, np.bool_)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {shown(value)}, but it must be {allowed}") from None


def array(name: str, value: ArrayLike, *, shape: tuple[int | None, ...] | None = None) -> Array:
    """Return ``value`` as a finite float64 array; ``shape`` may hold None for a free length."""
    try:
        result = np.asarray(value)
        if result.dtype.kind == "c":
            raise TypeError
        result = result.astype(np.float64)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a torch tensor that requires grad
        raise ValueError(f"{name} = {shown(value)}, but it must be an array of real numbers") from None
    if shape is not None and (
        result.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, result.shape, strict=True))
    ):
        wanted = "(" + ", ".join("D" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
        raise ValueError(f"{name} has shape {result.shape}, but it must have shape {wanted}")
    if not np.all(np.isfinite(result)):
        raise ValueError(f"{name} = {shown(result)}, but all its entries must be finite")
    return result


def symmetric(name: str, value: ArrayLike, *, dim: int | None = None, definite: bool = False) -> Array:
    """Return a symmetric (``definite``: positive definite) float64 matrix, exactly symmetrised, or raise."""
    matrix = array(name, value, shape=(dim, dim))
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"{name} has shape {matrix.shape}, but it must be square")
    gap = float(np.max(np.abs(matrix - matrix.T)))
    if gap > 1e-8 * float(np.max(np.abs(matrix))):
        raise ValueError(f"{name} = {shown(value)} differs from its transpose by {gap:.3g}, but it must be symmetric")
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


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``allowed``, or raise."""
    if value not in allowed:
        raise ValueError(f"{name} = {shown(value)}, but it must be one of {', '.join(map(repr, allowed))}")
    return str(value)
