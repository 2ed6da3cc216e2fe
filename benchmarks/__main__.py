"""Run benchmarks by name, or all of them, and print a table for each."""

from __future__ import annotations

import argparse
import os
import platform
import sys

import numpy as np

from benchmarks import action

BENCHMARKS = {"action": action.run}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; all by default")
    names = parser.parse_args(arguments).names or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"NAME = {unknown[0]!r}, but it must be one of {', '.join(BENCHMARKS)}")
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    print(f"machine: {platform.machine()}, {os.cpu_count()} cores; {versions}")
    met = True
    for name in names:
        print(f"\n== {name}")
        met &= BENCHMARKS[name]()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
