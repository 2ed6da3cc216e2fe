"""Run benchmarks by name, or all of them; print a table for each and keep it as JSON beside them."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import importlib
import os
import sys
import time
from pathlib import Path

from benchmarks import machine
from benchmarks.report import FOLDER, Report, Settings, store

ON_DEVICE = (
    "data",
    "default",
    "eigenpairs",
    "many",
    "matrices",
    "optimizers",
    "seeds",
    "step",
)  # modules with a function run(settings) -> Report
BENCHMARKS = tuple(sorted(("action", "explorables", "update", *ON_DEVICE)))
OFF_PAGE = ("pages", "paths")  # for who changes the book or the solver: no part of all, and not on the book's page
KNOWN = (*BENCHMARKS, *OFF_PAGE)
HELP = {
    "NAME": f"of {', '.join(KNOWN)}; or all (the default) but {', '.join(OFF_PAGE)}",
    "--device": f"cpu, cuda or mps, of {', '.join(ON_DEVICE)}; the others have no tensors",
    "--threads": "number of threads (default: what each benchmark says)",
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
    options = parser.parse_args(arguments)
    known, default = (KNOWN, BENCHMARKS) if options.device == "cpu" else (ON_DEVICE, ON_DEVICE)
    names = default if options.names in ([], ["all"]) else options.names
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        parser.error(f"NAME = {unknown[0]!r}, but it must be one of {', '.join(KNOWN)}, or all")
    if homeless := [name for name in names if name not in known]:
        parser.error(f"--device = {options.device!r}, but {homeless[0]} has no tensors: leave it out")
    if options.threads is not None and options.threads < 1:
        parser.error(f"--threads = {options.threads}, but it must be at least 1")
    settings = Settings(options.device, options.threads, options.quick)
    met = [run(name, settings, options.output) for name in names]
    return 0 if all(met) else 1


def run(name: str, settings: Settings, folder: Path) -> bool:
    """Run one benchmark and return whether it met all that it was to meet."""
    benchmark = importlib.import_module(f"benchmarks.{name}")
    before = None if settings.quick else machine.look()
    if machine.is_busy(before):
        print(f"{name}: other processes keep {before:.1f} cores busy; measure again when not", file=sys.stderr)
    start, begin = time.perf_counter(), machine.Clock.read()
    report: Report = benchmark.run(settings)
    duration = time.perf_counter() - start
    gc.collect()  # processes that the benchmark started and forgot end here, and count as its own
    during = machine.others(begin, machine.Clock.read())
    if machine.is_busy(during) and not settings.quick:
        warning = f"the machine was busy: other processes held {during:.1f} of {os.cpu_count()} cores"
        report = dataclasses.replace(report, notes=[*report.notes, warning])
    print(f"\n== {name}: {report.device}\n{report.table()}", flush=True)
    if settings.quick:
        return True
    load = machine.in_words(before, during)
    print(f"load: {load}\n{report.verdict()}", flush=True)
    if name in OFF_PAGE:
        return report.met
    suffix = "" if settings.device == "cpu" else f"-{settings.device.partition(':')[0]}"
    options = "" if settings.device == "cpu" else f" --device {settings.device}"
    options += "" if settings.threads is None else f" --threads {settings.threads}"
    path = store(report, name + suffix, f"python -m benchmarks {name}{options}", duration, load, folder)
    print(f"kept in {path}")
    return report.met


if __name__ == "__main__":
    sys.exit(main())
