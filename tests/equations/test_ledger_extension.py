"""The Sphinx extension on a small project: anchors, marks, the index, incremental and parallel builds."""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
from pathlib import Path

import pytest
import yaml
from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[2]
EXTENSIONS = ROOT / "book" / "_ext"

CONF = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
extensions = ["myst_nb", "lossnav_ledger"]
project = "trial"
html_theme = "basic"
nb_execution_mode = "off"
myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence"]
lossnav_ledger = "ledger.yml"
exclude_patterns = ["_build"]
"""

INDEX = """# Trial

```{toctree}
first
sub/second
equations
```
"""

FIRST = r"""# First

Text with $x$.

$$
\Delta\theta = -H^{-1}g
\tag{6, 82}
$$

\begin{align}
s^2 &= 0 \tag{42} \\
s &= 1 \tag{43}
\end{align}

$$ a = \begin{cases} b & c > 0 \\ d & \text{else} \end{cases} \tag{7} $$

Compare {equation}`K15`.

An equation of ours:

\begin{align}
u &= v
\end{align}

$$ w = 2 $$

```python
"\tag{99}"
```
"""

EQUATIONS = """# Equations

## Paper

```{equation-index} V
```

## Companion

```{equation-index} K
```
"""


def cell(kind: str, source: str) -> dict:
    extra = {"execution_count": 1, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"c{abs(hash(source)) % 10**8}", "metadata": {}, "source": source, **extra}


def ledger(**statuses: str) -> dict:
    rows = []
    for label in ("V6", "V7", "V42", "V43", "V82", "K15", "K16"):
        status = statuses.get(label, "checked")
        row = {"label": label, "meaning": f"Row {label} with $x_1$ & *markup*.", "status": status}
        if status != "open":
            row |= {"stated": "first", "check": "symbolic" if status == "checked" else "definition"}
            if status == "checked":
                row["tests"] = ["tests/equations/test_x.py::test_y", "tests/other/test_z.py::test_w"]
                row["proves"] = "paper" if label == "V7" else "code"
            else:
                row["why"] = "It *names* things."
        rows.append(row)
    sources = {"V": {"title": "Paper", "short": "the paper"}, "K": {"title": "Companion", "short": "the <companion>"}}
    return {"sources": sources, "equations": rows}


class Project:
    """A book in a temporary folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.write("conf.py", CONF)
        self.write("index.md", INDEX)
        self.write("first.md", FIRST)
        self.write("equations.md", EQUATIONS)
        (folder / "sub").mkdir()
        cells = [cell("markdown", "# Second\n\n$$ J = 0 \\tag{K15–16} $$\n"), cell("code", "x = r'\\tag{1}'")]
        notebook = {
            "cells": cells,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        self.write("sub/second.ipynb", json.dumps(notebook))
        self.set(ledger(V43="definition", K16="open"))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def set(self, content: dict) -> None:
        self.write("ledger.yml", yaml.safe_dump(content, sort_keys=False))

    def build(self, *options: str, builder: str = "html") -> str:
        """Build in this process (a new one takes seconds to import Sphinx); return what it says."""
        output = io.StringIO()
        command = ["-W", "-n", "--keep-going", "--no-color", "-b", builder, *options]
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            self.code = build_main([*command, str(self.folder), str(self.folder / "_build" / builder)])
        return output.getvalue()

    def page(self, name: str) -> str:
        return (self.folder / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("book"))
    log = project.build()
    assert project.code == 0, log
    return project


def boxes(page: str) -> list[str]:
    return re.findall(r'<div class="ln-equation.*?</div>\s*<div class="ln-marks.*?</div>\s*</div>', page, re.S)


def test_anchor_of_every_tagged_equation(built: Project) -> None:
    page = built.page("first")
    for label in ("V6", "V82", "V42", "V43", "V7"):
        assert page.count(f'id="eq-{label}"') == 1
    second = built.page("sub/second")
    assert second.count('id="eq-K15"') == second.count('id="eq-K16"') == 1
    assert "eq-V99" not in page and "eq-V1" not in second  # tags in code


def test_marks_lead_to_rows(built: Project) -> None:
    page = built.page("first")
    link = r'<a class="ln-check ln-check-(\w+)" href="([^"]+)" title="([^"]+)" aria-label="([^"]+)">(.)</a>'
    links = re.findall(link, page)
    assert [(status, href, symbol) for status, href, _, _, symbol in links] == [
        ("checked", "equations.html#V6", "✓"),
        ("checked", "equations.html#V42", "✓"),
        ("definition", "equations.html#V43", "○"),
        ("checked", "equations.html#V7", "✓"),
    ]
    assert (
        links[0][2] == links[0][3] == ("Eqs. 6 and 82 of the paper: checked symbolically. See the index of equations")
    )
    assert "a definition, nothing to check" in links[2][2]
    index = built.page("equations")
    for _, href, *_ in links:
        assert f'id="{href.partition("#")[2]}"' in index


def test_role_leads_to_the_chapter_that_states_the_equation(built: Project) -> None:
    link = 'href="sub/second.html#eq-K15" title="Equation K15 in its chapter">(K15)</a>'
    assert link in built.page("first")


def test_role_knows_the_ledger(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("first.md", "# First\n\n{equation}`V98`\n")
    assert "the ledger has no 'V98'" in project.build()
    assert project.code != 0


def test_open_equation_has_an_anchor_but_no_mark(built: Project) -> None:
    page = built.page("sub/second")
    assert "ln-check-" not in page  # K15–16 is one statement, and K16 is open
    assert page.count('<span class="ln-check" aria-hidden="true"></span>') == 1


def test_numbers_stand_beside_formulas(built: Project) -> None:
    page = built.page("first")
    assert len(boxes(page)) == 3
    numbers = re.findall(r'<div class="ln-beside"><span class="ln-number">\((.*?)\)</span>(.)', page)
    assert [number for number, _ in numbers] == ["6, 82", "42", "43", "7"]
    assert "\\tag" not in page.partition("An equation of ours")[0]  # a number that scrolls away is not seen
    assert page.count('class="eqno"') == 0  # the sources' numbers are the only ones
    plain = re.search(r'<div class="math notranslate nohighlight">\s*\\\[\s*w = 2', page)
    assert plain, "a formula without a tag stays as it was"


def test_index_table(built: Project) -> None:
    page = built.page("equations")
    assert '<a class="reference internal" href="first.html#eq-V6" title="Equation 6 in its chapter">6</a>' in page
    assert 'href="sub/second.html#eq-K15"' in page
    sentence = "Of the checks {} through the library's code, {} not."
    plain = html.unescape(page).replace("\u2019", "'")
    assert f"5 equations: 4 checked, 1 definition, 0 open. {sentence.format('3 go', '1 does')}" in plain
    assert f"2 equations: 1 checked, 0 definitions, 1 open. {sentence.format('1 goes', '0 do')}" in plain
    assert "symbolic, code" in page and "symbolic, paper" in page
    assert "&amp; <em>markup</em>" in page and r"\(x_1\)" in page
    assert "<em>names</em>" in page  # why nothing checks V43
    names = re.findall(r'<code class="ln-test notranslate">(.*?)</code>', page)
    assert names[:2] == ["test_<wbr>y", "tests/<wbr>other/<wbr>test_<wbr>z.py::<wbr>test_<wbr>w"]
    row = re.search(r'<tr[^>]*id="K16".*?</tr>', page, re.S)
    assert row and "open" in row.group(0) and 'href="sub/second.html#eq-K16"' in row.group(0)
    assert page.count("<th ") >= 10
    assert "lossnav_ledger.css" in page


def test_stylesheet_is_copied(built: Project) -> None:
    assert (built.folder / "_build" / "html" / "_static" / "lossnav_ledger.css").is_file()


def test_incremental_build_follows_ledger_and_chapters(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.build()
    project.set(ledger(V43="definition"))  # K16 is checked now
    log = project.build()
    assert project.code == 0, log
    assert "ln-check-checked" in project.page("sub/second")  # rewritten, though its source is the same
    assert "2 equations: 2 checked" in project.page("equations")
    project.write("first.md", FIRST.replace(r"\tag{7}", ""))
    log = project.build()
    assert project.code == 0, log
    assert 'href="first.html#eq-V7"' not in project.page("equations")
    assert 'href="first.html#eq-V6"' in project.page("equations")
    assert "writing output... [" in log and "sub/second" not in log  # nothing else is rewritten
    project.write("first.md", FIRST)
    project.write("index.md", INDEX.replace("equations\n", ""))
    (tmp_path / "equations.md").unlink()
    log = project.build()
    assert project.code == 0, log
    assert "ln-check-" not in project.page("first")  # no index, nothing to link to


def test_parallel_build_is_the_same(built: Project, tmp_path: Path) -> None:
    project = Project(tmp_path)
    for n in range(6):  # Sphinx reads in parallel from six pages on
        project.write(f"more{n}.md", f"---\norphan: true\n---\n# More {n}\n\nText.\n")
    log = project.build("-j", "2")
    assert project.code == 0, log
    for name in ("first", "equations", "sub/second"):
        assert re.findall(r"ln-check.*|eq-.*", project.page(name)) == re.findall(r"ln-check.*|eq-.*", built.page(name))


def test_wrong_tags_and_sources_are_warnings(tmp_path: Path) -> None:
    project = Project(tmp_path)
    formulas = (f"$$ a \\tag{{{number}}} $$\n\n" for number in ("6a", 98, 6, 6))
    project.write("first.md", "# First\n\n" + "".join(formulas))
    project.write("equations.md", "# Equations\n\n```{equation-index} X\n```\n")
    log = project.build()
    assert project.code != 0
    for line, message in ((3, "is not an equation number"), (5, "no equation V98"), (9, "stated twice")):
        assert re.search(rf"first\.md:{line}: WARNING: .*{message}", log), log
    assert "'X' is not one of V, K" in log


@pytest.mark.parametrize(("builder", "file"), [("text", "equations.txt"), ("latex", "trial.tex")])
def test_other_builders_leave_the_marks_out(tmp_path: Path, builder: str, file: str) -> None:
    project = Project(tmp_path)
    log = project.build(builder=builder)
    assert project.code == 0, log
    text = (tmp_path / "_build" / builder / file).read_text(encoding="utf-8")
    assert "5 equations: 4 checked" in text
    assert "ln-check-" not in text
