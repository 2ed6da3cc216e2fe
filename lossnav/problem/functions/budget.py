"""What a solution may cost: a budget of seconds and calls that ends a search in time, and a display of its progress."""

from __future__ import annotations

import contextvars
import math
import sys
import time
from typing import Any

from tqdm import tqdm

_SHORT = 2.0  # seconds: what ends sooner shows nothing

_current: contextvars.ContextVar[Budget | None] = contextvars.ContextVar("lossnav_budget", default=None)


class OutOfBudget(Exception):
    """Raised inside a solver when its budget is spent; users see ``lossnav.NotConverged``."""


class Budget:
    """A limit on seconds and on calls of a user's functions, in force inside a ``with`` block of this thread.

    Args:
        max_seconds: wall time; None is no limit.
        max_calls: calls of the functions that a ``losses.Function`` was given; None is no limit.

    Attributes:
        calls: calls made in the block so far.
        spent: which limit was met, in words; empty while none is. It is raised once, as ``OutOfBudget``: after that a
            solver may finish what it hands back.
        stage: what is being done, in words, for the display.
    """

    max_seconds: float
    max_calls: float | int
    calls: int
    spent: str
    stage: str

    def __init__(self, max_seconds: float | None = None, max_calls: int | None = None):
        self.max_seconds = math.inf if max_seconds is None else max_seconds
        self.max_calls = math.inf if max_calls is None else max_calls
        self.calls, self.spent, self.stage = 0, "", ""
        self._bar: Any = None
        self._outer: Budget | None = None

    def __enter__(self) -> Budget:
        self._outer = _current.get()
        self._token = _current.set(self)
        self._begin = time.perf_counter()
        self._look = self._begin + _SHORT
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)
        if self._bar is not None:
            self._bar.close()

    def check(self, calls: int = 0) -> None:
        """Raise ``OutOfBudget`` if the time is up or ``calls`` more calls are too many; else count them."""
        if self._outer is not None:
            self._outer.check(calls)
        now = time.perf_counter()
        if now > self._look:
            self._show(now)
        if not self.spent:
            if self.calls + calls > self.max_calls:
                self.spent = f"max_calls = {self.max_calls} is spent"
            elif now - self._begin > self.max_seconds:
                self.spent = f"max_seconds = {self.max_seconds:g} is spent"
            if self.spent:
                raise OutOfBudget(self.spent)
        self.calls += calls

    def _show(self, now: float) -> None:
        self._look = now + 0.1
        if self._bar is None:
            # tqdm's own switch (TQDM_DISABLE) works too; text on stderr needs no widgets in a notebook
            layout = "{desc} [{elapsed}]"
            self._bar = tqdm(bar_format=layout, leave=False, disable=True if not _watched() else None, file=sys.stderr)
            if not self._bar.disable:
                self._bar.start_t -= _SHORT
        if self._bar.disable:
            self._look = math.inf
        else:
            words = f"lossnav: {self.stage}" + (f", {self.calls:,} calls" if self.calls else "")
            self._bar.set_description_str(words)


def check(calls: int = 0) -> None:
    """Count ``calls`` calls on the budget that is in force, if any; raise ``OutOfBudget`` if it is spent."""
    budget = _current.get()
    if budget is not None:
        budget.check(calls)


def spent() -> str:
    """Return which limit of the budget in force was met, in words; empty if none was."""
    budget = _current.get()
    return "" if budget is None else budget.spent


def stage(words: str) -> None:
    """Say on the display of the budget that is in force, if any, what is being done."""
    budget = _current.get()
    if budget is not None:
        budget.stage = words


def _watched() -> bool:
    """Return whether someone looks: a terminal, or a notebook's kernel."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
