"""read recorded runs

Of one record the provenance and the curves are shown, of several one line each. Folders are searched.

examples:
  lossnav records run.json
  lossnav records runs
  lossnav records runs --sort accuracy --json
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lossnav.cli.values import printable, table

NAME = "records"
_COLUMNS = ("file", "data", "model", "optimizer", "lr", "seed", "epochs", "accuracy", "seconds")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lossnav records``."""
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="record, or folder of records")
    parser.add_argument("--sort", choices=_COLUMNS, default="file", help="column to sort by")
    parser.add_argument("--json", action="store_true", help="print the records, one a line")


def run(parsed: argparse.Namespace) -> int:
    """Print the records; 1 if one of them cannot be read."""
    from lossnav.lab import records

    found, bad = [], 0
    for path in _files(parsed.paths):
        try:
            found.append((path, records.load(path)))
        except (ValueError, OSError) as error:
            print(f"lossnav: {error}", file=sys.stderr)
            bad += 1
    if parsed.json:
        for path, record in found:
            print(json.dumps({"file": str(path), **asdict(record)}))  # in ASCII, which every terminal takes
    elif len(found) == 1:
        print("\n".join(map(printable, _single(found[0][1]).split("\n"))))
    elif found:
        rows = sorted((_row(path, record) for path, record in found), key=lambda row: _rank(row[parsed.sort]))
        print(table([_COLUMNS, *([_cell(row[name]) for name in _COLUMNS] for row in rows)]))
    if not found and not bad:
        print("lossnav: no records there", file=sys.stderr)
    return 1 if bad or not found else 0


def _files(paths: list[Path]) -> list[Path]:
    files = []
    for path in paths:
        files += sorted(filter(Path.is_file, path.rglob("*.json"))) if path.is_dir() else [path]
    return files


def _single(record: Any) -> str:
    from lossnav.cli.train import summary

    curves = _curves(record)
    settings = {} if curves is None else curves.get("settings")
    return summary(record) if isinstance(settings, dict) and "arithmetic" in settings else str(record)


def _curves(record: Any) -> dict[str, Any] | None:
    """Return the results of a record of one run; other experiments keep what they like."""
    results = record.results
    if not isinstance(results, list) or len(results) != 1 or not isinstance(results[0], dict):
        return None
    curves: list[Any] = [results[0].get(name) for name in ("train_loss", "test_loss", "test_accuracy")]
    if not all(isinstance(curve, list) and all(isinstance(x, (int, float)) for x in curve) for curve in curves):
        return None
    return results[0] if len({len(curve) for curve in curves}) == 1 else None


def _row(path: Path, record: Any) -> dict[str, Any]:
    from lossnav.lab.sweep.results import complete, outcome

    config, curves, accuracy = record.config, _curves(record), None
    if curves is not None:
        accuracy = "diverged" if "diverged" in curves else (curves["test_accuracy"] or [None])[-1]
    elif config.get("tasks") is not None and complete(record):
        scores = [outcome(result) for result in record.results]
        accuracy = "diverged" if None in scores else round(sum(x for x in scores if x is not None) / len(scores), 4)
    row = {name: config.get(name) for name in ("model", "optimizer", "lr", "epochs")}
    seeds = ",".join(map(str, record.seeds))
    return {
        "file": str(path), "data": record.data.get("label"), **row, "seed": seeds, "accuracy": accuracy,
        "seconds": record.duration,
    }  # fmt: skip


def _rank(entry: Any) -> tuple[int, Any]:
    """Sort numbers before words, and what is missing last."""
    if entry is None:
        return 2, ""
    return (0, entry) if isinstance(entry, (int, float)) else (1, str(entry))


def _cell(entry: Any) -> str:
    text = "-" if entry is None else printable(str(entry))
    return text if len(text) <= 44 else "…" + text[-43:]
