"""Kernels for nbval: forked from a process that has imported what chapters do, and painting small pictures.

To start one and import takes five seconds; to paint what is seen, twice, to cut the margins, a fifth of the notebooks'
time. nbval compares no pictures. Kernels of ``notebooks.py write`` and ``make book`` start anew, and paint all.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from jupyter_client.provisioning import local_provisioner

from tests import fresh

CODE = """
import os, sys
os.setsid()  # kernels are ended by their group
from ipykernel import kernelapp
sys.argv.append(f"--IPKernelApp.parent_handle={os.getppid()}")  # it ends with its parent
kernelapp.launch_new_instance()
"""
LOADED = [
    *("ipykernel.kernelapp", "matplotlib.pyplot", "mpmath", "scipy.integrate", "scipy.linalg", "scipy.optimize"),
    *("scipy.stats", "sympy", "torch", "torch._dynamo", "torch.func", "ipywidgets", "anywidget"),
    *("lossnav.cli", "lossnav.optim", "lossnav.euler_lagrange"),
]


class Kernel(fresh.Running):
    """A kernel's process, with what jupyter_client asks of one."""

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], *, cwd: str, env: dict[str, str], **_: object):
        super().__init__(CODE, *command[command.index("-f") :], cwd=Path(cwd), environment=env)
        while os.getpgid(self.pid) != self.pid:
            time.sleep(0.01)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


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
    if os.name == "posix":
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # a kernel sets it too late for a fork
        fresh.preload(LOADED)
        local_provisioner.launch_kernel = Kernel
