"""The notebooks that people open outside of the book: nothing in them that only the page understands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path

import nbformat
import plain
import pytest
from nbclient import NotebookClient
from notebooks import chapters, notebook_path, pair_problems, read_text
from paths import ROOT, pages, published

# A machine like Colab's: its module is loaded, packages are there, and the repository is not around the notebook.
COLAB = f"""
import shutil, sys, types, urllib.error, urllib.request
colab, output = types.ModuleType("google.colab"), types.ModuleType("google.colab.output")
output.managers = 0
def enable_custom_widget_manager():
    output.managers += 1
output.enable_custom_widget_manager = enable_custom_widget_manager
colab.output = output
sys.modules |= {{"google.colab": colab, "google.colab.output": output}}
get_ipython().register_magic_function(lambda line: None, "line", "pip")
def urlretrieve(source, target):
    try:
        shutil.copy({str(ROOT)!r} + "/" + source.split("/lossnav/lossnav/main/")[1], target)
    except FileNotFoundError:
        raise urllib.error.HTTPError(source, 404, "Not Found", {{}}, None) from None
urllib.request.urlretrieve = urlretrieve
"""


@cache  # to read one takes longer than to look at it
def opened(name: str) -> nbformat.NotebookNode:
    return nbformat.read(notebook_path(name), as_version=4)


@pytest.mark.parametrize("name", chapters())
def test_no_role_and_no_directive_is_left(name: str) -> None:
    prose = [cell.source for cell in opened(name).cells if cell.cell_type == "markdown"]
    assert [left for source in prose for left in plain.leftovers(source)] == []
    assert not any("{glue" in source or "{cite" in source for source in prose)
    originals = [cell.source for cell in read_text(name).cells if cell.cell_type == "markdown"]
    assert any(plain.leftovers(source) for source in originals)  # the search finds what there was


@pytest.mark.parametrize("name", chapters())
def test_what_is_printed_is_no_source_of_a_formula(name: str) -> None:
    printed = [
        out.text for cell in opened(name).cells for out in cell.get("outputs", []) if out.output_type == "stream"
    ]
    assert printed and re.findall(r"\$[^$\n]+\$|\\[a-z]+\{", "\n".join(printed)) == []


@pytest.mark.parametrize("name", chapters())
def test_what_is_committed_was_computed_from_the_data_that_the_text_is_about(name: str) -> None:
    """That of the repository, so that every clone computes the same; with LOSSNAV_DATA it would be another copy."""
    printed = [
        out.text for cell in opened(name).cells for out in cell.get("outputs", []) if out.output_type == "stream"
    ]
    named = [line for text in printed for line in text.splitlines() if re.match(r"(MNIST|CIFAR-10) \(.*\), from", line)]
    assert [line for line in named if "from the repository" not in line] == []


@pytest.mark.parametrize("name", chapters())
def test_links_lead_to_pages_of_the_book(name: str) -> None:
    """That their anchors exist is a matter of the built pages: see ``tests/browser/test_links.py``."""
    known = {f"{published()}{page}.html" for page in pages()}
    linked = re.findall(rf"\]\(({re.escape(published())}[^)#]*)", "\n".join(c.source for c in opened(name).cells))
    assert linked and set(linked) <= known


@pytest.mark.parametrize("name", chapters())
def test_code_that_the_page_hides_is_folded(name: str) -> None:
    for cell in opened(name).cells:
        if cell.cell_type == "code" and plain.FOLDED & set(cell.metadata.get("tags", [])):
            assert cell.metadata.jupyter.source_hidden and cell.metadata.cellView == "form"


@pytest.mark.parametrize("name", chapters())
def test_what_a_chapter_reads_is_fetched_where_the_repository_is_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guarded cells fetch every file of ours that a cell of the chapter names."""
    code = [cell.source for cell in opened(name).cells if cell.cell_type == "code"]
    fetching = [source for source in code if "urlretrieve" in source]
    monkeypatch.chdir(tmp_path)
    script = "\n".join(
        ["def get_ipython():\n    return types.SimpleNamespace(**{'register_magic_function': print})", COLAB]
    )
    magic = re.compile(r"^(\s*)%", flags=re.MULTILINE)
    fetching_plainly = [magic.sub(r"\1pass  # ", source) for source in fetching]
    script = "\n".join(["import types", script, "from pathlib import Path", *fetching_plainly])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    strings = [
        node.value
        for source in code
        if source not in fetching
        for node in ast.walk(ast.parse(magic.sub(r"\1pass  # ", source)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    drawn = {
        f"drawing/{name}.py" for source in code for name in re.findall(r"^from drawing import (\w+)", source, re.M)
    }
    read = {value for value in strings if re.fullmatch(r"(?!https?:)[\w./-]+/[\w-]+\.(json|npz)", value)}
    assert {path for path in read | drawn if not Path(path).exists()} == set()


def test_a_simulated_colab_runs_from_top_to_bottom(tmp_path: Path) -> None:
    notebook = deepcopy(opened("speed"))
    notebook.cells.insert(0, nbformat.v4.new_code_cell(COLAB))
    notebook.cells.append(nbformat.v4.new_code_cell("print(output.managers)"))
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert notebook.cells[-1].outputs[0].text == "1\n"
    assert any("image/png" in out.get("data", {}) for cell in notebook.cells for out in cell.get("outputs", []))


TEXT = """\
(here)=
## A heading

It is {glue:text}`answer`, by {cite:t}`vastola2025lossnav` {cite:p}`kingma2015adam`, see {numref}`fig-x`,
{ref}`the exercise <ex-one>` and [there](momentum.ipynb#here). In code `[a](b)` stays, as in

```python
{glue:text}`answer`
```

```{margin} A title
Two lines
of *text*.
```

```{exercise} Easy
:label: ex-one

What?
```

```{solution-start} ex-one
:class: dropdown
```

Think."""


def sample() -> nbformat.NotebookNode:
    glued = nbformat.v4.new_output(
        "display_data",
        {"application/papermill.record/text/plain": "'42'"},
        metadata={"scrapbook": {"mime_prefix": "application/papermill.record/", "name": "answer"}},
    )
    code = nbformat.v4.new_code_cell("glue('answer', '42')", outputs=[glued])
    figure = nbformat.v4.new_code_cell(
        "plt.show()", metadata={"tags": ["hide-input"], "mystnb": {"figure": {"name": "fig-x", "caption": "Look."}}}
    )
    parts = ["# Title", code, TEXT, figure, "So.\n\n```{solution-end}\n```\n\nAfter."]
    cells = [part if not isinstance(part, str) else nbformat.v4.new_markdown_cell(part) for part in parts]
    return nbformat.v4.new_notebook(cells=cells)


def test_each_kind_of_markup_has_its_plain_form() -> None:
    notebook = plain.resolve(sample(), "momentum")
    text = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    body = text[2]
    page = f"{published()}book/momentum.html"
    assert body.startswith(
        "## A heading\n\nIt is 42, by [Vastola *et al.* (2025)](https://doi.org/10.48550/arXiv.2510.26997) (["
    )
    assert f"see [Fig. 3.1]({page}#fig-x)" in body
    assert f"[the exercise]({page}#ex-one) and [there]({page}#here)" in body
    assert "`[a](b)` stays" in body and "```python\n{glue:text}`answer`\n```" in body
    assert "> **A title.** Two lines\n> of *text*." in body
    assert "**Exercise 3.1** (Easy)\n\nWhat?" in body
    assert body.endswith("<details><summary>Solution to Exercise 3.1</summary>\n\nThink.\n\n</details>")
    assert text[3] == "<details><summary>Solution to Exercise 3.1, figure</summary>\n\n**Fig. 3.1** Look.\n\n</details>"
    assert text[4].startswith("<details><summary>Solution to Exercise 3.1, continued</summary>\n\nSo.")
    assert text[4].endswith("</details>\n\nAfter.")
    inside = next(cell for cell in notebook.cells if cell.source == "plt.show()")
    assert inside.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}


def test_a_solution_that_begins_with_code_is_not_an_empty_fold() -> None:
    start = "```{exercise} Easy\n:label: ex-one\n\nWhat?\n```\n\n```{solution-start} ex-one\n:class: dropdown\n```"
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_markdown_cell(start),
        nbformat.v4.new_code_cell("40 + 2"),
        nbformat.v4.new_markdown_cell("Hence.\n\n```{solution-end}\n```"),
    ]
    notebook = plain.resolve(nbformat.v4.new_notebook(cells=cells), "momentum")
    fold = next(cell.source for cell in notebook.cells if "Solution to Exercise 3.1</summary>" in cell.source)
    assert fold.endswith(f"</summary>\n\n{plain.CODE_FOLLOWS}\n\n</details>")


@pytest.mark.parametrize(
    "text",
    [
        "{glue:text}`nobody`",
        "{cite:t}`nobody1900`",
        "{numref}`fig-nowhere`",
        "{unknown}`role`",
        "[a page](nowhere.ipynb)",
        "```{unheard}\nof\n```",
        "```{margin}\nnever closed",
    ],
)
def test_what_has_no_plain_form_is_named(text: str) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    with pytest.raises(plain.Unresolved, match=r"nobody|nowhere|unknown|unheard|margin"):
        plain.resolve(notebook, "momentum")


def test_a_changed_number_is_noticed() -> None:
    notebook = deepcopy(opened("momentum"))
    cell = next(
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and any("scrapbook" in o.metadata for o in cell.outputs if "metadata" in o)
    )
    record = next(output for output in cell.outputs if "scrapbook" in output.get("metadata", {}))
    record.data = dict.fromkeys(record.data, "'another'")
    assert "differs" in pair_problems("momentum", notebook)[0]
