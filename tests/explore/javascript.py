"""Runs the explorables' own scripts in node, so that what is tested is what the page carries."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any


class Script:
    """A module under test; call it with a JavaScript expression over its exports ``M`` and JSON data ``given``."""

    def __init__(self, command: list[str], folder: Path, source: str):
        self._command = command
        self.path = folder / "module.mjs"
        self.path.write_text(source, encoding="utf-8")

    def __call__(self, expression: str, given: Any = None) -> Any:
        program = (
            f"import * as M from {json.dumps(self.path.as_uri())};\n"
            f"const given = {json.dumps(given)};\n"
            "const spell = (key, v) => (typeof v === 'number' && !Number.isFinite(v) ? String(v) : v);\n"
            f"process.stdout.write(JSON.stringify({expression}, spell) ?? 'null');\n"
        )
        done = subprocess.run(
            [*self._command, "--input-type=module", "-e", program], capture_output=True, text=True, timeout=900
        )
        if done.returncode:
            raise AssertionError(f"{expression}\n{done.stderr}")
        return json.loads(done.stdout)
