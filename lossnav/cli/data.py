"""fetch and verify a data set, and say where it came from

Files are looked for in --root, or else in the folder that LOSSNAV_DATA names, then in the repository, if the package is
used from a checkout, then in the cache, and then downloaded. Official files are verified by SHA-256 each time they are
read. The repository has a sample of CIFAR-10: with --cache the official files are downloaded, and LOSSNAV_DATA=FOLDER
then names them.

examples:
  lossnav data mnist
  lossnav data cifar10 --cache ~/data
  lossnav data cifar10 --root ~/data
  lossnav data cifar10 --no-download
"""

from __future__ import annotations

import argparse

from lossnav.cli.train import add_places
from lossnav.lab.experiment import DATA

NAME = "data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lossnav data``."""
    parser.add_argument("name", choices=DATA, help="data set")
    add_places(parser)
    parser.add_argument("--cache", metavar="FOLDER", help="keep downloads there; the repository is not looked at")


def run(parsed: argparse.Namespace) -> int:
    """Load the data set and print what it is."""
    from lossnav.lab import data

    found = data.load(parsed.name, parsed.root, not parsed.no_download, cache=parsed.cache)
    print(found.provenance)
    if found.provenance.location is not None:
        print(f"folder         {found.provenance.location}")
    print(f"images         {len(found.train)} for training, {len(found.test)} for testing, of {found.shape}")
    for title, values in (("mean", found.train.mean), ("deviation", found.train.std)):
        print(f"{title:<14} {', '.join(f'{value:.4f}' for value in values)}")
    counts = found.train.y.bincount(minlength=found.classes).tolist()
    print(f"classes        {found.classes}, with {', '.join(map(str, counts))} training images")
    return 0
