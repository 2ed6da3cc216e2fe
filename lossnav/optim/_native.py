"""The compiled kernels: C built by the machine's compiler, kept between processes, loaded by ctypes."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from threading import Lock

import torch

from lossnav._writing import replacing

_REALS = {torch.float32: "float", torch.float64: "double"}
_FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fPIC"]
_TIMEOUT = 120.0  # seconds; a build takes about a quarter of one
_LOCK = Lock()


class NoKernel(RuntimeError):
    """There is no fused kernel for this step; the message is the reason, worded to follow "because"."""


def load(dtype: torch.dtype, text: str) -> ctypes.CDLL:
    """Return the kernel of a text for float32 or float64; it is built at the first call on a machine.

    It is ``kernels.h`` and behind it the text, a function ``move`` in C, in a library of its own.

    The builds are kept in the folder named by the environment variable LOSSNAV_KERNELS, by default in the user's
    cache. The name of a build has a digest of all that it depends on — source, flags, compiler, processor, OpenMP
    runtime — so that a shared home directory serves different machines, and a digest of its own bytes, which is checked
    before it is loaded: the system would map a truncated library, and kill the process that calls into what is not
    there. A build that is not what its name says is made anew. It appears whole, by renaming, after it has reached the
    disk: several processes may build at once.

    Raises:
        NoKernel: there is no compiler, or it fails. The answer is remembered: one process asks once.
    """
    with _LOCK:
        answer = _load(_REALS[dtype], text)
    if isinstance(answer, str):
        raise NoKernel(answer)
    return answer


@cache
def _load(real: str, text: str) -> ctypes.CDLL | str:
    try:
        compiler = _compiler()
        runtime = _openmp()
        source = (resources.files(__package__) / "kernels.h").read_bytes() + text.encode()
        name = f"{real}-{_digest(source, real, compiler, runtime)}"
        folder = _folder()
        if folder is not None and (cached := _kept(folder, name)) is not None:
            return cached
        with tempfile.TemporaryDirectory(prefix="lossnav-", dir=folder, ignore_cleanup_errors=True) as scratch:
            built = _build(Path(scratch), source, real, compiler, runtime)
            try:
                library = ctypes.CDLL(str(built))  # which may then lose its file
            except OSError as error:
                raise NoKernel(f"what {compiler[0]} built does not load ({str(error).split(': ')[-1]})") from None
            if folder is not None:
                with contextlib.suppress(OSError):  # a full disk costs the next process a build, nothing else
                    _keep(folder, name, built.read_bytes())
            return library
    except NoKernel as error:
        return str(error)
    except OSError as error:
        return f"the kernel could not be written ({error.strerror})"


def _kept(folder: Path, name: str) -> ctypes.CDLL | None:
    """Load the build of that name; what lies there and is not what its name says is removed."""
    for path in sorted(folder.glob(f"{name}-*.so")):
        with contextlib.suppress(OSError):  # another process has just removed it, or it is for another system
            if path.name == _name(name, path.read_bytes()):
                return ctypes.CDLL(str(path))
            path.unlink()
    return None


def _keep(folder: Path, name: str, content: bytes) -> None:
    with replacing(folder / _name(name, content)) as stream:
        stream.write(content)


def _name(name: str, content: bytes) -> str:
    return f"{name}-{hashlib.sha256(content).hexdigest()[:32]}.so"


def _compiler() -> list[str]:
    if sys.platform == "win32":
        raise NoKernel("the kernels are not built on Windows")
    named = shlex.split(os.environ.get("CC", ""))
    for command in [named] if named else [["cc"], ["gcc"], ["clang"]]:
        if path := shutil.which(command[0]):
            return [str(Path(path).absolute()), *command[1:]]
    raise NoKernel(
        f"the compiler in CC = {named[0]!r} was not found"
        if named
        else "no C compiler was found (cc, gcc or clang on PATH, or one named in CC)"
    )


def _openmp() -> str | None:
    """Return the OpenMP runtime that torch runs on: a second one would fight with it for the cores.

    Without one (macOS, or a torch without OpenMP) the kernel runs in one thread, which memory can still keep busy.
    """
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    runtimes = re.findall(r"\s(/.*/lib(?:gomp|iomp5|omp)[^/]*\.so[.\d]*)$", mapped, re.MULTILINE)
    return min(runtimes, key=lambda path: "/torch" not in path, default=None)  # scikit-learn, for one, brings another


def _digest(source: bytes, real: str, compiler: list[str], runtime: str | None) -> str:
    program = Path(compiler[0]).resolve()
    stat = program.stat()
    parts = [real, *_FLAGS, *compiler, str(program), stat.st_size, stat.st_mtime_ns, runtime, platform.platform()]
    return hashlib.sha256(source + repr([*parts, _processor()]).encode()).hexdigest()[:32]


def _processor() -> str:
    """Return what -march=native may depend on."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


def _folder() -> Path | None:
    """Return the folder for builds, or None if there is none that only this user can write to."""
    home = "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    caches = Path(os.environ.get("XDG_CACHE_HOME") or home)
    try:
        folder = Path(os.environ.get("LOSSNAV_KERNELS") or caches / "lossnav" / "kernels").expanduser().absolute()
    except RuntimeError:  # the home of a user that there is not
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stat = folder.stat()
        mine = stat.st_uid == os.getuid() and not stat.st_mode & 0o022  # what lies there will be executed
        return folder if mine and os.access(folder, os.W_OK | os.X_OK) else None
    except OSError:
        return None


def _build(scratch: Path, source: bytes, real: str, compiler: list[str], runtime: str | None) -> Path:
    """Compile and link with all that the compiler takes: it may know neither -march=native nor OpenMP."""
    (scratch / "kernels.c").write_bytes(source)
    complaint = ""
    for native in (["-march=native"], []):
        for threads in [["-fopenmp"], []] if runtime else [[]]:
            compiled = [*compiler, *_FLAGS, *native, *threads, f"-DREAL={real}", "-c", "kernels.c", "-o", "kernels.o"]
            libraries = [runtime, "-lm"] if runtime and threads else ["-lm"]
            linked = [*compiler, "-shared", "kernels.o", "-o", "kernels.so", *libraries]
            failure = _run(compiled, scratch) or _run(linked, scratch)
            if not failure:
                return scratch / "kernels.so"
            complaint = complaint or failure
    raise NoKernel(complaint)


def _run(command: list[str], folder: Path) -> str:
    """Run a command and return what is wrong, or nothing."""
    try:
        process = subprocess.run(command, cwd=folder, capture_output=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise NoKernel(f"the compiler {command[0]} did not end within {_TIMEOUT:.0f} s") from None
    except OSError as error:
        raise NoKernel(f"the compiler {command[0]} does not run ({error.strerror})") from None
    if process.returncode == 0:
        return ""
    messages = process.stderr.decode(errors="replace").strip().splitlines()
    complaint = next((line for line in messages if "error" in line), messages[0] if messages else "it says nothing")
    return f"the compiler {command[0]} failed with exit status {process.returncode}: {complaint.strip()[:200]}"
