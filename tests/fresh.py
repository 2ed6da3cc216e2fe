"""Processes that are fresh and have torch: forked from one that has imported it and has done nothing else.

To start Python and import torch takes four seconds of a processor, and most tests that need a process of their own are
not about that. Those that are start the real thing.
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from forks import PATIENCE as PATIENCE
from forks import Running, preload

COMMAND = "import sys\nfrom lossnav.cli import main\nsys.exit(main())"

preload(["torch", "torch._dynamo", "lossnav.optim", "lossnav.cli"])


def run(code: str, *words: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Run a program of its own to the end, with ``words`` in ``sys.argv[1:]``."""
    return Running(code, *words, cwd=cwd, environment=environment).wait()


def lossnav(*words: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    """Run the command."""
    return run(COMMAND, *words, cwd=cwd, **{"LOSSNAV_DATA": "", **environment})


def team(code: str, *words: object, size: int = 2, cwd: Path | None = None) -> list[subprocess.CompletedProcess]:
    """Run a program in several processes with the variables that torchrun gives them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1"}
    ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_PORT": str(port)} for rank in range(size)]
    return [job.wait() for job in [Running(code, *words, cwd=cwd, environment={**common, **own}) for own in ranks]]
