"""Workers of a sweep that have torch from the beginning: imported by a driver, which forks them from then on.

To start Python and import torch takes each worker four seconds of a processor. All the rest is as loky does it: they
have the files that it hands over and no others, and what they are to do comes through its pipe.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterable, Mapping, Sequence

from joblib.externals.loky.backend import fork_exec


def fork(command: Sequence[str], keep: Iterable[int], env: Mapping[str, str] | None = None) -> int:
    """Do what ``python -m MODULE …`` would do in a new process; return its number."""
    if process := os.fork():
        return process
    code = 1
    try:
        ends = sorted({0, 1, 2, *map(int, keep)})
        for low, high in zip(ends, [*ends[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
            os.closerange(low + 1, high)
        os.environ.update(env or {})
        python, dash, module, *sys.argv[1:] = command
        assert (python, dash) == (sys.executable, "-m")
        runpy.run_module(module, run_name="__main__")
    except SystemExit as leaving:
        code = leaving.code
    finally:
        sys.stdout.flush()
        os._exit(code)


fork_exec.fork_exec = fork
