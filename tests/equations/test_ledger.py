"""The ledger is complete, its tests exist, and the book states what it says is done."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml
from lossnav_tags import all_labels, parse_tag, tags_in_markdown, tags_in_math
from proofs import proves

ROOT = Path(__file__).resolve().parents[2]

BOOK = ROOT / "book"
LEDGER = ROOT / "tests" / "equations" / "ledger.yml"
STATUSES, KINDS = ("open", "checked", "definition"), ("symbolic", "numeric", "definition")
FIELDS = {"label", "meaning", "status", "stated", "check", "proves", "tests", "why"}


@functools.cache
def ledger() -> dict:
    return yaml.safe_load(LEDGER.read_text(encoding="utf-8"))


def rows() -> list[dict]:
    return ledger()["equations"]


@functools.cache
def stated() -> dict[str, dict[str, int]]:
    """Return, per page of the book, the equations it states and how often."""
    counts = {}
    for page in sorted([*(BOOK / "myst").glob("*.md"), *BOOK.glob("*.md")]):
        tags = tags_in_markdown(page.read_text(encoding="utf-8"))
        counts[page.stem] = Counter(label for tag in tags for label in tag.labels)
    return counts


@functools.cache
def functions_of(file: Path) -> frozenset[str]:
    """Return the names that pytest collects from a file: test functions, and Class::method."""
    if not file.is_file():
        return frozenset()
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            names.add(node.name)
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            names |= {
                f"{node.name}::{part.name}"
                for part in node.body
                if isinstance(part, ast.FunctionDef) and part.name.startswith("test")
            }
    return frozenset(names)


def missing_test(test: str) -> bool:
    """Say whether ``file::function`` is not a test that pytest would collect."""
    file, _, name = test.partition("::")
    path = ROOT / file
    return not (path.name.startswith("test_") and path.is_relative_to(ROOT / "tests") and name in functions_of(path))


def test_ledger_has_one_row_per_equation_in_order() -> None:
    assert len(all_labels()) == 215 + 27 + 25 + 29 + 7 + 4  # the sources' and the book's own
    labels = [row["label"] for row in rows()]
    assert [label for label, count in Counter(labels).items() if count > 1] == []
    assert sorted(set(all_labels()) - set(labels)) == []
    assert labels == all_labels()
    assert set(ledger()["sources"]) == {"V", "K", "T", "L", "M", "W", "I", "N"}


def test_rows_are_well_formed() -> None:
    for row in rows():
        check_form(row)


def check_form(row: dict) -> None:
    assert set(row) <= FIELDS
    assert isinstance(row["meaning"], str) and row["meaning"].endswith(".")
    assert row["status"] in STATUSES
    if row["status"] == "open":
        assert not {"stated", "check", "tests"} & set(row), "an open equation is neither stated nor checked"
        return
    assert row["stated"] in stated(), f"there is no page {row['stated']}"
    assert row["check"] in KINDS
    assert (row["check"] == "definition") == (row["status"] == "definition")
    assert ("proves" in row) == (row["status"] == "checked"), "a checked equation says what its tests prove"
    if row["status"] == "checked":
        assert row["tests"], "a checked equation names its tests"
    else:
        assert row.get("why"), "an equation that nothing checks says why"
    tests = row.get("tests", [])
    assert len(set(tests)) == len(tests)
    assert [test for test in tests if missing_test(test)] == [], "tests that do not exist"


def test_rows_say_truly_whether_their_tests_prove_the_paper_or_the_code() -> None:
    checked = [row for row in rows() if row["status"] == "checked"]
    code = [row["label"] for row in checked if "code" in {proves(test, ROOT) for test in row["tests"]}]
    assert [row["label"] for row in checked if row["proves"] == "code"] == code
    assert {row["proves"] for row in checked} == {"code", "paper"}


MODULE = """
import numpy as np
import lossnav as ln
from lossnav.problem.losses import Quadratic as Bowl

TABLE = {"a": 1}
RULES = [ln.update]

@pytest.fixture
def solved():
    return ln.solve

def helper(x):
    return Bowl([[x]])

def plain(x):
    return plain(x) if x else TABLE

def test_direct(): assert ln.update
def test_by_name(): assert Bowl
def test_by_helper(): assert helper(1)
def test_by_table(): assert RULES[0]
def test_by_fixture(solved): assert solved
@pytest.mark.parametrize("rule", RULES)
def test_by_parameter(rule): assert rule
def test_by_inner_import():
    from lossnav import drifts
    assert drifts
def test_plain(): assert plain(0) and np
def test_attribute(): assert TABLE.ln
"""


def test_what_a_test_proves_is_read_from_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(MODULE)
    names = [node.name for node in ast.parse(MODULE).body if isinstance(node, ast.FunctionDef)]
    kinds = {name: proves(f"test_x.py::{name}", tmp_path) for name in names if name.startswith("test")}
    assert {name for name, kind in kinds.items() if kind == "paper"} == {"test_plain", "test_attribute"}
    assert len(kinds) == 9


def test_equations_are_stated_where_the_ledger_says() -> None:
    done = {row["label"]: row["stated"] for row in rows() if row["status"] != "open"}
    assert {label: page for label, page in done.items() if label not in stated()[page]} == {}, "no \\tag on these pages"


def test_book_states_no_equation_that_the_ledger_calls_open_or_does_not_know() -> None:
    done = {row["label"] for row in rows() if row["status"] != "open"}
    strangers = {page: sorted(set(labels) - done) for page, labels in stated().items()}
    assert {page: labels for page, labels in strangers.items() if labels} == {}


def test_no_page_states_an_equation_twice() -> None:
    doubled = {page: [label for label, count in labels.items() if count > 1] for page, labels in stated().items()}
    assert {page: labels for page, labels in doubled.items() if labels} == {}


def test_the_index_has_a_table_of_every_source() -> None:
    page = (BOOK / "equations.md").read_text(encoding="utf-8")
    assert re.findall(r"^```\{equation-index\} (\w)$", page, re.MULTILINE) == list(ledger()["sources"])


def test_numbers_in_the_text_lead_somewhere() -> None:
    """(M2), (K23): a number in brackets is that of an equation that some page states."""
    known = {row["label"] for row in rows()}
    read = {page.name: page.read_text(encoding="utf-8") for page in [*BOOK.glob("myst/*.md"), *BOOK.glob("*.md")]}
    meant = {name: set(re.findall(r"\(([KTLMWIN]\d{1,2})\)", text)) for name, text in read.items()}
    assert sum(map(len, meant.values())) > 50
    assert {name: lost for name, labels in meant.items() if (lost := sorted(labels - known))} == {}


def test_equations_that_the_package_cites_are_of_the_book() -> None:
    """Thirty were those of notes that no reader has: "for no constant metric, discount and loss (N1)"."""
    known = {row["label"] for row in rows()}
    read = {str(path): path.read_text(encoding="utf-8") for path in (ROOT / "lossnav").rglob("*.py")}
    cited = {name: set(re.findall(r"(?<![\w.])([LMWIN]\d{1,2})(?![\w.'\"])", text)) for name, text in read.items()}
    assert sum(map(len, cited.values())) > 50
    assert {name: lost for name, labels in cited.items() if (lost := sorted(labels - known))} == {}


def test_every_equation_test_is_named_in_the_ledger_or_says_that_it_is_ours() -> None:
    """A check that no row names would not show in the book."""
    named = {test for row in rows() for test in row.get("tests", [])}
    unnamed = []
    for file in sorted((ROOT / "tests" / "equations").glob("test_eq_*.py")):
        source = file.read_text(encoding="utf-8")
        ours = source.find("# Beyond the numbered equations")
        limit = source.count("\n", 0, ours) if ours >= 0 else sys.maxsize
        unnamed += [
            f"{file.name}::{node.name}"
            for node in ast.parse(source).body
            if isinstance(node, ast.FunctionDef)
            and node.name.startswith("test")
            and node.lineno < limit
            and f"tests/equations/{file.name}::{node.name}" not in named
        ]
    assert unnamed == []


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("6", ["V6"]),
        ("2, 66", ["V2", "V66"]),
        ("K15", ["K15"]),
        ("38–40", ["V38", "V39", "V40"]),
        ("T29", ["T29"]),
        ("38--40", ["V38", "V39", "V40"]),
        ("K5-K6", ["K5", "K6"]),
        ("K5–6, 12", ["K5", "K6", "V12"]),
        (" 7 ", ["V7"]),
    ],
)
def test_tag_content(content: str, labels: list[str]) -> None:
    assert parse_tag(content) == labels


@pytest.mark.parametrize("content", ["", "6a", "K3'", "40–38", "K3–T4", "6,", "V", "eq. 6", "6–"])
def test_tag_content_that_is_no_equation_number_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        parse_tag(content)


PAGE = r"""
$$ a \tag{6} $$

`\tag{1}` in code, and ``$$ \tag{2} ` $$`` too, but $$ b \tag{7} $$ counts.

```{code-cell} ipython3
print(r"\tag{3}")
```

```{margin}
$$ c \tag{8} $$
```

````{exercise}
$$ d \tag{9} $$
```python
"\tag{4}"
```
$$ e \tag{10} $$
````

```
\tag{5}
```

:::{note}
\begin{align} x \tag{41} \\ y \tag*{42} \end{align}
:::

~~~{code-cell}
```
\tag{11}
```
~~~
$$ f \tag {12} $$
"""


def test_tags_in_code_do_not_count() -> None:
    tags = tags_in_markdown(PAGE)
    assert [label for tag in tags for label in tag.labels] == ["V6", "V7", "V8", "V9", "V10", "V41", "V42", "V12"]
    assert tags[0].line == 2
    assert PAGE.splitlines()[tags[-1].line - 1].startswith("$$ f")


def test_tags_of_a_formula_know_their_line() -> None:
    assert [(tag.line, tag.labels) for tag in tags_in_math("a \\tag{1} \\\\\nb \\tag{2, 3}")] == [
        (1, ["V1"]),
        (2, ["V2", "V3"]),
    ]


@pytest.mark.parametrize(
    "test",
    [
        "tests/equations/test_ledger.py::test_nothing",
        "tests/equations/absent.py::test_x",
        "tests/equations/test_ledger.py",
        "tests/equations/direct.py::roots",
        "tests/equations/test_ledger.py::missing_test",
        "pyproject.toml::test_x",
    ],
)
def test_a_test_that_does_not_exist_is_noticed(test: str) -> None:
    assert missing_test(test)
    assert not missing_test("tests/equations/test_ledger.py::test_tag_content")
