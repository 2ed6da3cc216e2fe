"""Records: what is written is read, whole or not at all, and says where it came from."""

from __future__ import annotations

import json
import math
import subprocess
import threading
from pathlib import Path

import pytest

from lossnav import records


def record(results=(1.0, 2.5)):
    data = {"label": "MNIST (official files)", "licence": "x", "sha256": {}}
    return records.new(
        command="python run.py", config={"lr": 0.1}, seeds=[0, 1], data=data, results=list(results), duration=3.21,
        device="cpu",
    )  # fmt: skip


def test_round_trip(tmp_path):
    path = tmp_path / "new" / "run.json"
    records.save(path, record())
    assert records.load(path) == record()
    assert [p.name for p in path.parent.iterdir()] == ["run.json"]


def test_provenance_is_that_of_this_checkout():
    root = Path(records.__file__).parents[2]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True)
    expected = head.stdout.strip() if head.returncode == 0 else "unknown"
    assert records.revision().removesuffix("+changes") == expected
    import torch

    assert record().versions["torch"].split("+")[0] == torch.__version__.split("+")[0]
    text = str(record())
    assert "python run.py" in text and "MNIST" in text and "0, 1" in text and str(root) not in text


def test_numbers_that_json_cannot_hold_are_refused_and_the_old_file_stays(tmp_path):
    path = tmp_path / "run.json"
    records.save(path, record())
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        records.save(path, record([math.nan]))
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_readers_never_see_half_a_record(tmp_path):
    path = tmp_path / "run.json"
    big = [record([float(k)] * 20000) for k in range(2)]
    records.save(path, big[0])
    stop = threading.Event()

    def rewrite():
        k = 0
        while not stop.is_set():
            k = 1 - k
            records.save(path, big[k])

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(30):
            assert records.load(path) in big
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize("content", ["", "{", "[1]", "[" * 100_000, "null", '{"format": 2}', '{"format": 1}', "{}"])
def test_other_files_are_named(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"run\.json is not a record"):
        records.load(path)


_WITHOUT_FILES = ("none", "bit flipping, generated", "scikit-learn digits (8×8)")  # drawn by a seed, or pinned
# Made while other modules of the package were being changed, and says so itself ("+changes"). Its settings and the
# first scores of a rule are computed again from the committed code, in the test named here.
_REPEATED = {"continual-bits.json": "tests/lab/streams/test_study_records.py"}


def test_committed_records_can_be_read_and_name_their_origin():
    folder = Path(__file__).resolve().parents[3] / "book" / "results"
    paths = sorted(folder.glob("*.json"))
    assert paths
    for path in paths:
        found = records.load(path)
        script = found.command.split()[1]
        assert (folder.parents[1] / script).is_file(), f"{path.name}: {script} does not exist"
        if path.name in _REPEATED:
            repeats = (folder.parents[1] / _REPEATED[path.name]).read_text()
            assert f'("{path.stem.removeprefix("continual-")}", ' in repeats, f"nothing repeats {path.name}"
        else:
            assert len(found.revision) == 40, f"{path.name} was made by code that is not committed: {found.revision}"
        assert found.seeds and found.duration > 0
        if found.data["label"] not in _WITHOUT_FILES:
            assert found.data["sha256"], f"{path.name} does not say which files it was made from"
        assert "/root" not in json.dumps(found.results)


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "book" / "results").glob("*.json")), ids=str)
def test_the_records_of_the_book_name_their_studies(path):
    assert records.load(path).study == path.stem
