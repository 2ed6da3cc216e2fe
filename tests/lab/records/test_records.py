"""Records: what is written is read, whole or not at all, and says where it came from."""

from __future__ import annotations

import math
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from lossnav import records


def record(results=(1.0, 2.5)):
    data = {"label": "MNIST (official files)", "licence": "x", "sha256": {}}
    return records.new(
        command="python run.py", config={"lr": 0.1}, seeds=np.arange(2), data=data, results=list(results),
        duration=3.21, device="cpu",
    )  # fmt: skip


def test_round_trip(tmp_path):
    path = tmp_path / "new" / "run.json"
    records.save(path, record())
    assert records.load(path) == record()
    assert [p.name for p in path.parent.iterdir()] == ["run.json"]


def test_names_that_are_numbers_are_read_as_json_has_them(tmp_path):
    records.save(tmp_path / "run.json", record([{10: 1.0, 2: 2.0}, {1e-3: 1.0, 1e-5: 2.0}]))
    assert records.load(tmp_path / "run.json").results == [{"10": 1.0, "2": 2.0}, {"0.001": 1.0, "1e-05": 2.0}]


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
    with pytest.raises(ValueError, match=r"record\.results holds .* JSON compliant"):
        records.save(path, record([math.nan]))
    with pytest.raises(ValueError, match=r"record\.results holds .* set is not JSON serializable"):
        records.save(path, record([{1, 2}]))
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
