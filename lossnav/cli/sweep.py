"""train a grid of settings times seeds, on all cores or on a cluster

Each run is kept in the output folder as it finishes. The same command again runs only what is missing. Workers are
processes of this machine, or those of a Dask scheduler given by --cluster. Grids in which the rates depend on the rule
are written in a TOML file: shared settings, seeds, and tables [[grid]] of lists.

examples:
  lossnav sweep --data digits --grid optimizer=sgd,ballistic --grid lr=1e-3,1e-2 --seeds 0-2 --output runs
  lossnav sweep --data mnist --optimizer belief --grid option.variance=centred,uncentred --output runs
  lossnav sweep --data cifar10 --model cnn --seeds 0-2 --epochs 25 --checkpoints states --output runs
  lossnav sweep --config grids.toml --output runs --cluster tcp://scheduler:8786
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lossnav.cli.output import say
from lossnav.cli.train import add_places, add_settings, diverged, settings
from lossnav.cli.values import table, value
from lossnav.lab import sweep
from lossnav.lab.experiment import Experiment
from lossnav.lab.sweep.tuned import mean_outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lossnav sweep``."""
    add_settings(parser)
    add_places(parser)
    parser.add_argument(
        "--grid", metavar="NAME=A,B,…", type=_axis, action="append", default=[],
        help="values of a setting, of option.NAME, model_option.NAME or stream_option.NAME; may be repeated",
    )  # fmt: skip
    parser.add_argument("--seeds", metavar="A-B", type=_seeds, help="e.g. 0-4 or 0,3,7; default: --seed alone")
    parser.add_argument("--config", metavar="FILE", type=Path, help="TOML file instead of settings and --grid")
    parser.add_argument("--output", metavar="FOLDER", type=Path, required=True, help="folder of the records")
    parser.add_argument("--workers", metavar="N", type=int, help="processes; default: one a core, one for a GPU")
    parser.add_argument("--cluster", metavar="ADDRESS", help="of a Dask scheduler, tcp://host:port")
    parser.add_argument(
        "--checkpoints", metavar="FOLDER", type=Path,
        help="keep the state of each run there: one that was cut off, or was shorter, is continued",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(parsed: argparse.Namespace) -> int:
    """Run what is missing, print each result as it comes and a table at the end; 1 if a run could not be done."""
    wanted = _wanted(parsed)
    results = sweep.run(
        wanted, parsed.output, workers=parsed.workers, cluster=parsed.cluster,
        root=parsed.root, download=not parsed.no_download, checkpoints=parsed.checkpoints,
    )  # fmt: skip
    finished = []
    varying = _varying(wanted)
    with tqdm(total=len({e.key() for e in wanted}), disable=parsed.quiet, unit="run") as bar:
        for result in results:
            finished.append(result)
            bar.update()
            if not result.before:
                bar.clear()
                say(_line(result, varying), sys.stderr if result.error else None)
    before, failed = (sum(map(bool, flags)) for flags in zip(*((r.before, r.error) for r in finished), strict=True))
    say(f"{len(finished) - before - failed} runs now, {before} before, {failed} failed -> {parsed.output}\n")
    if len(finished) > failed:
        what = "test accuracy" if all(experiment.stream == "iid" for experiment in wanted) else "accuracy or score"
        say(_table(sweep.summarise(finished), [name for name in varying if name != "seed"], what))
    return 1 if failed else 0


def _wanted(parsed: argparse.Namespace) -> list[Experiment]:
    if parsed.config is None:
        axes: dict[str, list[Any]] = {}
        for name, values in parsed.grid:  # a name that comes again has all its values
            axes.setdefault(name, []).extend(values)
        return sweep.grid(axes, parsed.seeds or [parsed.seed], settings(parsed))
    if settings(parsed) != asdict(Experiment()) or parsed.grid or parsed.seeds:
        raise ValueError("--config has all settings: give none beside it")
    return sweep.read_grids(parsed.config)


def _axis(word: str) -> tuple[str, list[Any]]:
    name, equals, rest = word.partition("=")
    entries = [entry.strip() for entry in _split(rest)]
    if not equals or not name or not all(entries):
        raise argparse.ArgumentTypeError(f"{word!r} is not NAME=A,B,…")
    return name, [value(entry) for entry in entries]


def _split(text: str) -> list[str]:
    """Split at commas that are not inside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _seeds(word: str) -> list[int]:
    first, dash, last = word.partition("-")
    try:
        seeds = list(range(int(first), int(last) + 1)) if dash else [int(entry) for entry in word.split(",")]
    except ValueError:
        seeds = []
    if not seeds:
        raise argparse.ArgumentTypeError(f"{word!r} is neither A-B nor A,B,…")
    return seeds


def _varying(wanted: list[Experiment]) -> list[str]:
    """Return the settings in which the experiments differ."""
    configs = [_flat(experiment.config()) for experiment in wanted]
    names = dict.fromkeys(name for config in configs for name in config)
    return [name for name in names if any(config.get(name) != configs[0].get(name) for config in configs)]


def _flat(config: dict[str, Any]) -> dict[str, Any]:
    """Return settings whose names say it where they are options of the optimizer, the model or the stream."""
    flat = {}
    for name, entry in config.items():
        if isinstance(entry, dict):
            flat.update({f"{name.removesuffix('s')}.{key}": inner for key, inner in entry.items()})
        else:
            flat[name] = entry
    return flat


def _line(result: Any, varying: list[str]) -> str:
    flat = _flat(result.experiment.config())
    what = "  ".join(f"{name}={flat.get(name)}" for name in varying) or result.experiment.key()
    if result.record is None:
        return f"lossnav: {what}: {result.error}"
    if where := diverged(result.record):
        return f"{what}  diverged {where}"
    name = "score" if "scores" in result.record.results[0] else "test_accuracy"
    return f"{what}  {name}={mean_outcome(result.record):.4f}  {result.record.duration:.1f} s"


def _table(groups: list[dict[str, Any]], varying: list[str], what: str) -> str:
    rows = [[*varying, "seeds", "diverged", what]]
    for group in groups:
        flat = _flat(group["config"])
        accuracy = "-" if group["accuracy"] is None else f"{group['accuracy']:.4f}"
        accuracy += "" if group["spread"] is None else f" ± {group['spread']:.4f}"
        rows.append([*(str(flat.get(n)) for n in varying), str(group["seeds"]), str(group["diverged"]), accuracy])
    return table(rows)
