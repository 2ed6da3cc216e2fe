"""Freed memory is kept: counted in page faults by the system, in a process of its own."""

from __future__ import annotations

import os
import sys

import fresh
import pytest

from lossnav.lab.training import memory

SCRIPT = """
import resource
import torch
from lossnav.lab.training.memory import keep_freed_memory

def faults(size=12_000_000):   # 48 MB: 11,719 pages, or 23 huge ones
    found = []
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.ones(size)
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(found)   # a system that reclaims idle pages makes more, now and then
print(faults(), keep_freed_memory(), faults())
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not sys.platform.startswith("linux") or "glibc" not in os.confstr("CS_GNU_LIBC_VERSION"), reason="of glibc"
)
def test_buffers_are_mapped_once():
    names = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "LD_PRELOAD")
    without, kept, faults = fresh.run(SCRIPT, **dict.fromkeys(names, "")).stdout.split()
    assert kept == "True" and int(faults) < 10 < int(without)


def test_what_the_user_has_chosen_is_left_as_it_is(monkeypatch):
    monkeypatch.setenv("MALLOC_MMAP_MAX_", "1000")
    assert memory.keep_freed_memory.__wrapped__() is False
