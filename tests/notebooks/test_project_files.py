"""One list of pins, one repository address, one test command: what is said twice is said alike."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from packaging.version import Version
from paths import ROOT, config

TEXT = {".md", ".yml", ".yaml", ".toml", ".cff", ".py", ".ipynb", ".json", ".js", ".css", ".txt", ""}
LISTS = ROOT / "requirements"
LOCK = LISTS / "lock.txt"


def ignored(path: Path) -> bool:
    """Does .gitignore name this path, relative to the root, or a folder above it?"""
    patterns = [line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").splitlines()]
    return any(fnmatch(part, pattern) for part in path.parts for pattern in patterns) or any(
        path.is_relative_to(pattern) for pattern in patterns
    )


def tracked() -> list[Path]:
    """The project's own text files, as git knows them; outside a checkout, as they lie there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        files = [p for p in ROOT.rglob("*") if p.is_file() and not ignored(p.relative_to(ROOT))]
    else:
        files = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in files if path.suffix in TEXT and path.is_file()]


def test_the_repository_has_one_address() -> None:
    url = config()["repository"]["url"]
    owner, name = url.removeprefix("https://github.com/").split("/")
    mentions = re.compile(rf"github\.com/([\w.-]+)/({re.escape(name)})\b")
    count = 0
    for path in tracked():
        for mentioned, _ in mentions.findall(path.read_text(encoding="utf-8")):
            count += 1
            assert mentioned == owner, f"{path.relative_to(ROOT)} names another repository than _config.yml"
    assert count > 3


def pins(*names: str) -> dict[str, str]:
    """Package -> version of these lists, all without an argument; each line pins one."""
    paths = [LISTS / f"{name}.txt" for name in names] or sorted(set(LISTS.glob("*.txt")) - {LOCK})
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines() if line and line[0] != "#"]
    matches = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    names_of_them = [match[1].lower().replace("_", "-") for match in matches if match]
    assert len(names_of_them) == len(set(names_of_them))
    return dict(zip(names_of_them, [match[2] for match in matches if match], strict=True))


def test_every_requirement_is_pinned_once() -> None:
    assert set(pins("book")) < set(pins())


def test_the_lock_pins_what_the_lists_do_and_each_file_by_its_hash() -> None:
    entries = re.split(r"\n(?=[a-z])", LOCK.read_text("utf-8"))[1:]
    locked = {entry.partition("==")[0]: re.split(r"[ ;]", entry.partition("==")[2])[0] for entry in entries}
    assert all("--hash=sha256:" in entry and "://" not in entry for entry in entries)
    assert {name: locked.get(name) for name in pins()} == pins()


def test_the_environment_takes_torch_from_conda_and_all_else_from_the_list_of_the_book() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    pip = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert conda == ["python=3.11", f"pytorch-cpu={pins('torch')['torch']}", "pip"]
    assert pip == ["-r requirements/book.txt", "."]
    assert "torch" not in pins("book")


def test_what_is_promised_is_pinned_at_or_above_its_floor() -> None:
    """Each floor of pyproject.toml, which `make quick FLOOR=1` installs, is a release before the pin, or it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    promised = [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]
    pinned = pins()
    for requirement in promised:
        name, floor = requirement.split(">=")
        assert Version(floor) <= Version(pinned[name]), requirement


def test_workflows_and_ci_call_make() -> None:
    for path in [*(ROOT / ".github" / "workflows").glob("*.yml")]:
        jobs = yaml.safe_load(path.read_text())["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"]]
        commands = [step["run"] for step in steps if "run" in step]
        assert commands
        assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in steps if "uses" in step)
        assert all(re.fullmatch(r"make [a-z]+( (FLOOR|NEWEST|LOCKED)=1)?", command.strip()) for command in commands), (
            commands
        )
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    test_command = re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert test_command, "the README does not say how to test"
    assert re.findall(r"^make .*", (ROOT / ".ci" / "run").read_text(), re.MULTILINE) == [
        "make book </dev/null", "make test </dev/null"
    ]  # fmt: skip


def test_npm_lock_pins_hashes_and_no_addresses() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages
    assert all("integrity" in entry and "resolved" not in entry for entry in packages.values())
    wanted = json.loads((ROOT / "package.json").read_text())["dependencies"]
    assert all(packages[f"node_modules/{name}"]["version"] == version for name, version in wanted.items())


@pytest.mark.parametrize("page", ["README.md", "book/index.md"])
def test_the_papers_are_credited(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for author in ("Vastola", "Gershman", "Rajan", "Kunin", "Tanaka"):
        assert author in text
    assert "independent implementation" in text


def test_the_landing_page_names_the_pages_that_load_records() -> None:
    text = (ROOT / "book/index.md").read_text(encoding="utf-8")
    match = re.search(r"(\w+) pages load such records(.*?)say so there", text, re.DOTALL)
    assert match is not None
    named = set(re.findall(r"\]\(([\w-]+)\.ipynb\)", match[2]))
    loading = re.compile(r"\b(records|tables)\.load\(")
    assert named == {page.stem for page in (ROOT / "book/myst").glob("*.md") if loading.search(page.read_text("utf-8"))}
    assert match[1] == ["ten", "eleven", "twelve", "thirteen", "fourteen"][len(named) - 10]
