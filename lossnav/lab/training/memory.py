"""What the C library does with freed memory, which decides a fifth of the time of a convolutional network on a CPU."""

from __future__ import annotations

import ctypes
import functools
import os
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's names for mallopt: M_TRIM_THRESHOLD, M_MMAP_MAX
_CHOSEN_BY_USER = (
    "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD",
)  # fmt: skip


@functools.cache
def keep_freed_memory() -> bool:
    """Let this process keep the memory that it frees, for its next buffers; return whether that could be arranged.

    glibc asks the system for each buffer of more than 32 MiB, gives it back when it is freed, and trims its heap beside
    that. The activations of a convolutional network are of that size: every step would have its pages zeroed and mapped
    anew. Nothing that is computed changes. The process holds on to the largest amount that it has used, until it ends.

    Another C library, or an environment that says how memory is to be had (``MALLOC_…``, ``GLIBC_TUNABLES``,
    ``LD_PRELOAD``), is left as it is.
    """
    if not sys.platform.startswith("linux") or any(os.environ.get(name) for name in _CHOSEN_BY_USER):
        return False
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018  (musl has mallopt under the name, too, and ignores it)
        return bool(libc.mallopt(_MMAP_MAX, 0) and libc.mallopt(_TRIM_THRESHOLD, -1))
    except (OSError, AttributeError):
        return False
