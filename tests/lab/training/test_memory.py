"""Freed memory is kept: counted in page faults by the system, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import torch
from lossnav.training.memory import keep_freed_memory

kept = keep_freed_memory() if sys.argv[1] == "kept" else None
def faults(size=12_000_000):   # 48 MB: 11,719 pages, or 23 huge ones
    found = []
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(size)
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(found)   # a system that reclaims idle pages makes more, now and then
print(kept, faults())
"""


def run(which, **environment):
    names = ("MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(names)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, which], capture_output=True, text=True, check=True, env={**clean, **environment}
    )
    kept, faults = done.stdout.split()
    return kept, int(faults)


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or "glibc" not in os.confstr("CS_GNU_LIBC_VERSION"), reason="of glibc"
)
def test_buffers_are_mapped_once():
    _, without = run("as usual")
    kept, faults = run("kept")
    assert kept == "True"
    assert faults < 10 < without
    assert run("kept", MALLOC_MMAP_MAX_="1000")[0] == "False"  # the user has chosen
