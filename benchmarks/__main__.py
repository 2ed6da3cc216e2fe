"""Run benchmarks by name, or all of them; print a table for each and keep it as JSON beside them."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from benchmarks.report import FOLDER, Settings, is_busy, load_average, store

BENCHMARKS = ("action", "data", "optimizers", "seeds", "update")  # modules with a function run(settings) -> Report
HELP = {
    "NAME": f"of {', '.join(BENCHMARKS)}; or all (the default)",
    "--device": "for the benchmarks that have tensors: cpu, cuda, mps",
    "--threads": "number of threads (default: what torch and numpy choose)",
    "--quick": "a tiny problem, to see that it runs; judges and keeps nothing",
    "--output": "folder to keep the tables in (default: benchmarks/results)",
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=HELP["NAME"])
    parser.add_argument("--device", default="cpu", help=HELP["--device"])
    parser.add_argument("--threads", type=int, help=HELP["--threads"])
    parser.add_argument("--quick", action="store_true", help=HELP["--quick"])
    parser.add_argument("--output", type=Path, default=FOLDER, metavar="FOLDER", help=HELP["--output"])
    given = parser.parse_args(arguments)
    names = list(BENCHMARKS) if given.names in ([], ["all"]) else given.names
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"NAME = {unknown[0]!r}, but it must be one of {', '.join(BENCHMARKS)}, or all")
    settings = Settings(given.device, given.threads, given.quick)
    met = [run(name, settings, given.output) for name in names]
    return 0 if all(met) else 1


def run(name: str, settings: Settings, folder: Path) -> bool:
    """Run one benchmark and return whether it met all that it was to meet."""
    if is_busy() and not settings.quick:
        print(f"{name}: the machine is busy (load {load_average()}); measure again when it is not", file=sys.stderr)
    load, begin = load_average(), time.perf_counter()
    report = importlib.import_module(f"benchmarks.{name}").run(settings)
    duration = time.perf_counter() - begin
    print(f"\n== {name}: {report.device}; load before the run {load}\n{report.table()}", flush=True)
    if settings.quick:
        return True
    print(report.verdict(), flush=True)
    suffix = "" if settings.device == "cpu" else f"-{settings.device.partition(':')[0]}"
    options = "" if settings.device == "cpu" else f" --device {settings.device}"
    options += "" if settings.threads is None else f" --threads {settings.threads}"
    path = store(report, name + suffix, f"python -m benchmarks {name}{options}", duration, load, folder)
    print(f"kept in {path}")
    return report.met


if __name__ == "__main__":
    sys.exit(main())
