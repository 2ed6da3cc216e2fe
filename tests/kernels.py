"""Kernels for nbval: forked, as those of ``make book`` are, and painting small pictures.

To paint what is seen, twice, to cut the margins, takes a fifth of the notebooks' time, and nbval compares no pictures.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import forks
import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Also in workers, which inherit the folder, as kernels do."""
    if "IPYTHONDIR" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="lossnav-kernels-")
        profile = Path(folder.name) / "profile_default"
        profile.mkdir()
        small = {"bbox_inches": None, "dpi": 40}
        (profile / "ipython_kernel_config.py").write_text(f"c.InlineBackend.print_figure_kwargs = {small}\n")
        os.environ["IPYTHONDIR"] = folder.name
        config.add_cleanup(folder.cleanup)
    forks.fork_kernels()
