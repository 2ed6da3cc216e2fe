"""Processes forked from one that has imported what they need, and has done nothing else: for kernels, and for tests.

To start Python and import what a chapter does takes five seconds of a processor, in each of them.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

PATIENCE = 900.0  # seconds: a machine may be busy with other things, and nothing here is about time
FORKS = sys.platform == "linux"  # elsewhere what is imported may not bear it
CHAPTERS_IMPORT = [
    *("ipykernel.kernelapp", "matplotlib.pyplot", "mpmath", "scipy.integrate", "scipy.linalg", "scipy.optimize"),
    *("scipy.stats", "sympy", "torch", "torch._dynamo", "torch.func", "ipywidgets", "anywidget"),
    *("lossnav.cli", "lossnav.optim", "lossnav.euler_lagrange"),
]
KERNEL = """
import os, sys
import matplotlib
from ipykernel import kernelapp
os.setsid()  # kernels are ended by their group
sys.argv.append(f"--IPKernelApp.parent_handle={os.getppid()}")  # it ends with its parent
# Kernels name it in the environment, too late for who has imported matplotlib.
matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
kernelapp.launch_new_instance()
"""

_CONTEXT: Any = multiprocessing.get_context("forkserver" if FORKS else "spawn")


def preload(modules: Sequence[str]) -> None:
    """Name what the process that is forked has imported, before the first fork."""
    if FORKS:
        _CONTEXT.set_forkserver_preload([*modules])


class Running:
    """A program of ``code`` that runs; what it says goes to files, so that nobody has to read while it does."""

    def __init__(
        self,
        code: str,
        *words: object,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        complaints: Path | None = None,
    ):
        self._folder = Path(tempfile.mkdtemp(prefix="forked-"))
        self._streams = [self._folder / "out", complaints or self._folder / "err"]
        for stream in self._streams:
            stream.touch()
        self.args = [str(word) for word in words]
        surroundings = {**os.environ, **(environment or {})}
        self._process = _CONTEXT.Process(
            target=_play, args=(code, self.args, str(cwd or Path.cwd()), surroundings, [*map(str, self._streams)])
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""
        return self._process.exitcode

    def wait(self) -> subprocess.CompletedProcess[str]:
        """Return the exit code, and what was said."""
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
            raise AssertionError(f"it did not end: {self.args}")
        said = [stream.read_text(errors="replace") for stream in self._streams]
        shutil.rmtree(self._folder)
        return subprocess.CompletedProcess(self.args, self._process.exitcode, *said)


def _play(code: str, words: list[str], cwd: str, environment: dict[str, str], streams: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, path in enumerate(streams, 1):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False, encoding="utf-8") for number in (1, 2))  # noqa: SIM115
    sys.argv = ["forked", *words]
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(code, "<forked>", "exec"), main.__dict__)


class Kernel(Running):
    """A kernel's process, with what jupyter_client asks of one."""

    stdin = stdout = stderr = None

    def __init__(
        self, command: list[str], *, cwd: str, env: dict[str, str], stderr: IO[str] | None = None, **_: object
    ):
        complaints = None if stderr is None else Path(stderr.name)
        connection = command[command.index("-f") :]
        super().__init__(KERNEL, *connection, cwd=Path(cwd), environment=env, complaints=complaints)
        try:
            while os.getpgid(self.pid) != self.pid:
                time.sleep(0.01)
        except ProcessLookupError:
            raise RuntimeError(f"a kernel ended before it began: {self.wait().stderr}") from None

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)


def fork_kernels() -> None:
    """Let all kernels that this process starts be forked from one that has imported what chapters do."""
    from jupyter_client.provisioning import local_provisioner  # each process that is forked imports this file

    if FORKS:
        preload(CHAPTERS_IMPORT)
        local_provisioner.launch_kernel = Kernel  # type: ignore[assignment]
