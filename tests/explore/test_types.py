"""The checks of the scripts, which `make lint` runs over all of them: they find what is wrong."""

from __future__ import annotations

import json

import pytest
from node import COMPILER, LINTER, lint_errors, tool, type_errors
from paths import EXPLORE, ROOT

needs_tools = pytest.mark.skipif(
    tool(COMPILER) is None or tool(LINTER) is None, reason="no node, TypeScript or ESLint here; `make book` brings them"
)


@pytest.mark.slow
@needs_tools
def test_the_compiler_finds_mistakes(tmp_path):
    mistakes = ["scale(1, 2)", "(x) => x", "fixed(SHARED.title, 2)", "SHARED.nothing", "draw(make('p'), 'nothing')"]
    names = f'import {{ draw, fixed, make, scale }} from "{EXPLORE}/kit.js";'
    shared = f'import SHARED from "{EXPLORE}/horizon/constants.json";'
    used = "void [draw, fixed, make, scale, SHARED];"
    for i, mistake in enumerate(mistakes):
        (tmp_path / f"wrong{i}.js").write_text(f"{names}\n{shared}\nexport const wrong = {mistake};\n{used}\n")
    project = {"extends": str(ROOT / "tsconfig.json"), "include": [str(tmp_path / "*.js")]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project))
    errors = type_errors(tmp_path) or ""
    assert [i for i in range(len(mistakes)) if f"wrong{i}.js(3," in errors] == list(range(len(mistakes))), errors


@needs_tools
def test_the_linter_finds_what_the_compiler_lets_pass(tmp_path):
    wrong = {
        "no-shadow": "const a = 1;\nexport const f = (a) => a;\nf(a);",
        "no-self-compare": "export const b = 2 === 2;",
        "no-unused-vars": 'import { ink } from "./kit.js";',
        "eqeqeq": "export const c = (x) => x == 1;",
    }
    for name, lines in wrong.items():
        (tmp_path / f"{name}.js").write_text(lines + "\n")
    (tmp_path / "right.js").write_text("export const d = (x) => x === 1;\n")
    errors = lint_errors(tmp_path, ["."]) or ""
    assert [name for name in wrong if f"{name}.js\n" in errors and f"  {name}\n" in errors] == list(wrong), errors
    assert "right.js" not in errors
