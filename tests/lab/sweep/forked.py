"""Workers of a sweep that have torch from the beginning: imported by a driver, which forks them from then on.

To start Python and import torch takes each worker four seconds of a processor. All the rest is as multiprocessing does
it: they have the files that it hands over and no others, and what they are to do comes through its pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from multiprocessing import util


def fork(path: str, command: Sequence[str], keep: Iterable[int]) -> int:
    """Do what ``python -c CODE …`` would do in a new process; return its number."""
    *_, code, mark = map(os.fsdecode, command)
    if mark != "--multiprocessing-fork":  # the tracker of resources
        return spawned(path, command, keep)
    if process := os.fork():
        return process
    status = 1
    try:
        ends = sorted({0, 1, 2, *map(int, keep)})
        for low, high in zip(ends, [*ends[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
            os.closerange(low + 1, high)
        sys.argv[1:] = [mark]
        exec(code, {})
    except SystemExit as leaving:
        status = leaving.code
    finally:
        sys.stdout.flush()
        os._exit(status)


spawned, util.spawnv_passfds = util.spawnv_passfds, fork
