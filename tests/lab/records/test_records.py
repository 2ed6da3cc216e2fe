"""Records: what is written is read, whole or not at all, and says where it came from."""

from __future__ import annotations

import json
import math
import subprocess
import threading
from dataclasses import replace
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


@pytest.mark.parametrize("content", ["", "{", "[1]", "[]", "null", '{"format": 1}', '{"format": 99}', "{}"])
def test_other_files_are_named(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"run\.json is not a record"):
        records.load(path)


def full():
    data = {"label": "x", "licence": "y", "sha256": {"a.bin": "00"}}
    return records.new(
        command="python run.py", config={"lr": 0.1}, seeds=[0, 1], data=data, results=[{"loss": [1.0]}], duration=3.2,
        device="cpu",
    )  # fmt: skip


OTHERS = (None, True, 7, 7.5, "seven", [], [[]], {}, {"a": 1})
ALLOWED = {  # entry → what it may be
    ("format",): (), ("command",): (str,), ("config",): (dict,), ("seeds",): (list,), ("seeds", 1): (int,),
    ("data",): (), ("data", "label"): (str,), ("data", "licence"): (str,), ("data", "sha256"): (dict,),
    ("data", "sha256", "a.bin"): (str,), ("duration",): (int, float), ("device",): (str,), ("revision",): (str,),
    ("versions",): (dict,), ("versions", "python"): (str,), ("study",): (str,),
}  # fmt: skip
NESTED = {("seeds",): [[[]]], ("versions",): [{"a": 1}], ("data", "sha256"): [{"a": 1}]}  # right outside, wrong within


def test_every_entry_of_another_type_is_named_with_its_file(tmp_path):
    path = tmp_path / "run.json"
    records.save(path, full())
    whole = json.loads(path.read_text())
    assert set(whole) == {place[0] for place in ALLOWED} | {"results"}  # which may be anything
    refused = 0
    for place, kinds in ALLOWED.items():
        for value in OTHERS:
            content = json.loads(path.read_text())
            inner = content
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
            (tmp_path / "other.json").write_text(json.dumps(content))
            if type(value) in kinds and value not in NESTED.get(place, []):
                records.load(tmp_path / "other.json")
                continue
            with pytest.raises(ValueError, match=rf"other\.json is not a record that can be read: .*{place[0]}"):
                records.load(tmp_path / "other.json")
            refused += 1
    assert refused > 100


def test_every_missing_or_foreign_entry_is_named_with_its_file(tmp_path):
    path = tmp_path / "run.json"
    records.save(path, full())
    for name in json.loads(path.read_text()):
        content = json.loads(path.read_text())
        del content[name]
        if name == "study":  # which records of earlier versions do not have
            continue
        (tmp_path / "other.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match=rf"other\.json is not a record .*{name}"):
            records.load(tmp_path / "other.json")
    (tmp_path / "other.json").write_text(json.dumps({**json.loads(path.read_text()), "extra": 1}))
    with pytest.raises(ValueError, match=r"other\.json is not a record .*'extra' is unknown"):
        records.load(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"duration": 3.2', '"duration": 1e999', "1e999"),
        ('"duration": 3.2', '"duration": -1', "duration is -1"),
        ('"duration": 3.2', '"duration": NaN', "NaN"),
        ("1.0", "-1e400", "-1e400"),
        ('"device": "cpu"', '"device": "cpu", "device": "cuda"', "'device' twice"),
        ('"command"', '"\\ud800": 1, "command"', "unknown"),
    ],
)
def test_numbers_that_would_change_and_names_that_come_twice(tmp_path, old, new, said):
    path = tmp_path / "run.json"
    records.save(path, full())
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=rf"run\.json is not a record .*{said}"):
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


@pytest.mark.parametrize(
    ("command", "study"),
    [
        ("python studies/cifar10.py paper --epochs 3", "cifar10-paper"), ("python studies/precision.py", "precision"),
        ("python book/results/learning_rates.py --epochs 3", "learning-rates"), ("lossnav train --data digits", ""),
    ],
)  # fmt: skip
def test_a_record_names_its_study_and_one_of_an_earlier_version_by_its_command(tmp_path, command, study):
    old = replace(record(), command=command)
    records.save(tmp_path / "old.json", old)
    content = json.loads((tmp_path / "old.json").read_text())
    del content["study"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    assert records.load(tmp_path / "old.json").study == study
    records.save(tmp_path / "new.json", replace(old, study="another"))
    assert records.load(tmp_path / "new.json").study == "another"


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "book" / "results").glob("*.json")), ids=str)
def test_the_records_of_the_book_name_their_studies(path):
    assert records.load(path).study == path.stem
