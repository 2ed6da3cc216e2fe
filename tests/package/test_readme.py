"""The README's example runs and prints what the README says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_library_example() -> None:
    result = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert result.attempted >= 6
    assert result.failed == 0


def test_files_it_links_to_exist() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (README.parent / target).is_file()] == []
