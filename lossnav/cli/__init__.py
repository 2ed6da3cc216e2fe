"""The command ``lossnav``: thin commands over the package, results on stdout, everything else on stderr."""

from lossnav.cli.entry import main

__all__ = ["main"]
