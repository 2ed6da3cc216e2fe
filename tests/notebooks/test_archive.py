"""What is laid down for good has all of the commit, the pages and the PDF, and a list that says whose each file is."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path

import archive
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ("LICENSE", "lossnav/core.py", "book/myst/page.md", "book/results/run.json", "data/mnist/images.gz",
          "data/cifar10/images.tar.xz")  # fmt: skip
BUILT = ("html/index.html", "html/_static/style.css", "lossnav.pdf")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def made(tmp_path):
    """A repository of a few files with one commit, and what was built from it."""
    for name in SOURCE:
        write(tmp_path / "repository" / name, name)
    who = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    for command in (("init", "--quiet"), ("add", "."), (*who, "commit", "--quiet", "--message", "all")):
        subprocess.run(["git", *command], cwd=tmp_path / "repository", check=True)
    for name in (*BUILT, "html/.doctrees/page.doctree"):
        write(tmp_path / name, name)
    return tmp_path / "repository", tmp_path / "html", tmp_path / "lossnav.pdf"


def test_the_list_names_every_file_with_its_hash_and_licence(made, tmp_path):
    archive.pack(tmp_path / "a.zip", "lossnav-1", archive.parts(*made))
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        held = {name.removeprefix("lossnav-1/"): packed.read(name) for name in packed.namelist()}
    header, _, *rows = held.pop("CONTENTS.tsv").decode().splitlines()
    listed = {name: (digest, int(size), words) for name, digest, size, words in (row.split("\t") for row in rows)}
    assert len(header.split()[-1]) == 40, "the list does not say which commit it is"
    assert {*listed} == {*held} == {*(f"source/{name}" for name in SOURCE), *BUILT}
    for name, (digest, size, words) in listed.items():
        assert (digest, size) == (hashlib.sha256(held[name]).hexdigest(), len(held[name])), name
        assert words == archive.licence(name)


def test_the_same_commit_gives_the_same_file(made, tmp_path):
    for name in "ab":
        archive.pack(tmp_path / name, "lossnav-1", archive.parts(*made))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_is_not_committed_is_not_archived(made):
    write(made[0] / "lossnav/core.py", "another")
    with pytest.raises(ValueError, match=r"1 files differ .*lossnav/core\.py"):
        list(archive.parts(*made))


def test_licences_are_those_that_the_repository_states():
    readme = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    folders = sorted(path.name for path in (ROOT / "data").iterdir() if path.is_dir())
    assert [archive.licence(f"source/data/{name}/x") == archive.licence("source/x") for name in folders] == [False] * 2
    assert archive.licence("source/data/mnist/x") in readme and "the authors state no licence" in readme
    assert "(CC BY 4.0)" in (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8")
    assert archive.licence("source/lossnav/core.py") == "MIT" and "CC BY 4.0" in archive.licence("source/book/index.md")
