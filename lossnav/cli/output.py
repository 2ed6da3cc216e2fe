"""What a command says on a stream that somebody reads, as long as somebody does."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line at once on ``stream`` (None for stdout); the work goes on when its reader has left."""
    stream = stream or sys.stdout
    try:
        print(text, flush=True, file=stream)
    except BrokenPipeError:
        write_no_more(stream)


def write_no_more(stream: TextIO) -> None:
    """Send what is still to be written nowhere, so that Python does not complain when it leaves."""
    with suppress(OSError):  # a stream that has no descriptor has no complaint either
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
