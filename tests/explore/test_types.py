"""The check of the scripts' types, which `make lint` runs over all of them: it finds what is wrong."""

from __future__ import annotations

import json

import pytest
from node import compiler, node_command, type_errors
from paths import EXPLORE, ROOT

needs_compiler = pytest.mark.skipif(
    compiler() is None or node_command() is None, reason="no node or no TypeScript here; `make book` brings both"
)


@pytest.mark.slow
@needs_compiler
def test_the_check_finds_mistakes(tmp_path):
    mistakes = ["scale(1, 2)", "(x) => x", "fixed(SHARED.title, 2)", "SHARED.nothing", "draw(make('p'), 'nothing')"]
    names = f'import {{ draw, fixed, make, scale }} from "{EXPLORE}/kit.js";'
    shared = f'import SHARED from "{EXPLORE}/horizon/constants.json";'
    used = "void [draw, fixed, make, scale, SHARED];"
    for i, mistake in enumerate(mistakes):
        (tmp_path / f"wrong{i}.js").write_text(f"{names}\n{shared}\nexport const wrong = {mistake};\n{used}\n")
    project = {"extends": str(ROOT / "tsconfig.json"), "include": [str(tmp_path / "*.js")]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project))
    found = type_errors(tmp_path) or ""
    assert [i for i in range(len(mistakes)) if f"wrong{i}.js(3," in found] == list(range(len(mistakes))), found
