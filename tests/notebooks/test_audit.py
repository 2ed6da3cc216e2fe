"""Both locks are asked about as a whole; what is found fails, and silence of the network does not."""

from __future__ import annotations

import json

import audit
from test_project_files import LOCK, ROOT


def test_every_package_of_both_locks_is_asked_about():
    asked = list(audit.pinned())
    locked = sum(line[:1].isalnum() for line in LOCK.read_text("utf-8").splitlines())
    npm = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    assert sum(kind == "PyPI" for kind, _, _ in asked) == locked > 50
    assert sum(kind == "npm" for kind, _, _ in asked) == len(npm) - 1
    name = "@fortawesome/fontawesome-free"
    assert ("npm", name, npm[f"node_modules/{name}"]["version"]) in asked


def test_what_is_known_is_named_and_fails(capsys):
    assert audit.main(lambda packages: [["GHSA-1"] if name == "numpy" else [] for _, name, _ in packages]) == 1
    output = capsys.readouterr().out
    assert "PyPI numpy" in output and "GHSA-1" in output and "1 of " in output
    assert audit.main(lambda packages: [[] for _ in packages]) == 0


def test_no_answer_is_said_and_blocks_nothing(capsys):
    def silent(_):
        raise ConnectionRefusedError("refused")

    assert audit.main(silent) == 0
    assert "no answer" in capsys.readouterr().out
