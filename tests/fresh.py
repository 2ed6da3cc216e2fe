"""Processes that are fresh and have torch: forked from one that has imported it and has done nothing else.

To start Python and import torch takes four seconds of a processor, and most tests that need a process of their own are
not about that. Those that are start the real thing.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping
from pathlib import Path

PATIENCE = 900.0  # seconds: a machine may be busy with other things, and no test is about time
COMMAND = "import sys\nfrom lossnav.cli import main\nsys.exit(main())"

_CONTEXT = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")


def preload(modules: list[str]) -> None:
    """Name what the process that is forked has imported, before the first fork."""
    if os.name == "posix":
        _CONTEXT.set_forkserver_preload(modules)


preload(["torch", "torch._dynamo", "lossnav.optim", "lossnav.cli"])


class Running:
    """A program of ``code`` that runs; what it says goes to files, so that nobody has to read while it does."""

    def __init__(
        self, code: str, *words: object, cwd: Path | None = None, environment: Mapping[str, str] | None = None
    ):
        self._folder = Path(tempfile.mkdtemp(prefix="fresh-"))
        for name in ("out", "err"):
            (self._folder / name).touch()
        self.args = [str(word) for word in words]
        surroundings = {**os.environ, **(environment or {})}
        self._process = _CONTEXT.Process(
            target=_play, args=(code, self.args, str(cwd or Path.cwd()), surroundings, str(self._folder))
        )
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        self._process.kill()

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> subprocess.CompletedProcess:
        """Return the exit code, negative for a signal, and what was said."""
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
            raise AssertionError(f"it did not end: {self.args}")
        streams = [(self._folder / name).read_text(errors="replace") for name in ("out", "err")]
        shutil.rmtree(self._folder)
        return subprocess.CompletedProcess(self.args, self._process.exitcode, *streams)


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


def _play(code: str, words: list[str], cwd: str, environment: dict[str, str], folder: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, name in ((1, "out"), (2, "err")):
        opened = os.open(Path(folder, name), os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False, encoding="utf-8") for number in (1, 2))  # noqa: SIM115
    sys.argv = ["fresh", *words]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(code, "<fresh>", "exec"), main.__dict__)
