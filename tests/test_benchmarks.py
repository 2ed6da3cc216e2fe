"""The benchmarks run and keep what they find. No test here judges a time: that is for ``python -m benchmarks``."""

from __future__ import annotations

import statistics

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import data as pipelines
from benchmarks import optimizers
from benchmarks.report import Report, store
from benchmarks.timing import ratio, spread, take_turns
from lossnav import data, records


@pytest.mark.parametrize("name", command.BENCHMARKS)
def test_each_benchmark_runs_and_a_quick_run_keeps_nothing(name, tmp_path, capsys):
    assert command.main([name, "--quick", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"== {name}: " in out and "MISSED" not in out
    assert len(out.splitlines()) > 3
    assert not any(tmp_path.iterdir())


def test_an_unknown_name_is_refused_with_those_that_are_known(capsys):
    with pytest.raises(SystemExit):
        command.main(["speed"])
    assert "NAME = 'speed', but it must be one of action, " in capsys.readouterr().err


def test_all_contenders_take_turns_in_every_round():
    calls = []
    contenders = {name: (lambda name=name: calls.append(name)) for name in "abc"}
    times = take_turns(contenders, 20, warm_up=2, wait=lambda: calls.append("."))
    assert calls[:6] == list("aabbcc")
    rounds = ["".join(calls[6:])[9 * k : 9 * k + 9] for k in range(20)]
    assert all(sorted(turn) == sorted(".a..b..c.") for turn in rounds)
    assert len(set(rounds)) > 1  # not always in the same order
    assert {name: len(seconds) for name, seconds in times.items()} == dict.fromkeys("abc", 20)
    assert all(second >= 0 for seconds in times.values() for second in seconds)


def test_a_slow_machine_ends_after_three_rounds():
    assert len(take_turns({"slow": lambda: None}, 50, limit=0.0)["slow"]) == 3


def test_spreads_are_quartiles_and_ratios_are_taken_round_by_round():
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    found = spread(values)
    assert (found.least, found.low, found.median, found.high) == (1.0, 2.0, statistics.median(values), 4.0)
    assert spread([7.0]) == spread([7.0, 7.0])
    assert ratio([2.0, 30.0, 4.0], [1.0, 10.0, 4.0]).median == 2.0


def test_a_report_is_printed_and_kept_whole(tmp_path):
    report = Report(
        columns=["way", "ms", "ratio"], formats=[".2f", ".1f"], rows=[["one", 1.234, None], ["another", 10.0, 8.1]],
        checks={"fast": True, "faster": False}, config={"rounds": 3}, device="a machine", notes=["busy"],
    )  # fmt: skip
    assert report.table().splitlines() == [
        "way         ms  ratio",
        "one       1.23       ",
        "another  10.00    8.1",
        "note: busy",
    ]
    assert not report.met and report.verdict() == "  met: fast\n  MISSED: faster"
    record = records.load(store(report, "thing", "python -m benchmarks thing", 1.5, "0.1 on 2 cores", tmp_path))
    assert record.results["rows"] == [["one", 1.234, None], ["another", 10.0, 8.1]]
    assert record.results["checks"] == {"fast": True, "faster": False}
    assert record.config == {"rounds": 3, "load": "0.1 on 2 cores"} and record.device == "a machine"


def test_the_bytes_of_a_step_are_those_of_its_streams():
    """SGD: three streams; one state tensor: five; two: seven."""
    params = optimizers.tensors([(4, 4)], device=optimizers.torch.device("cpu"))
    found = {}
    for name, make in optimizers.contenders():
        optimizer = make(params)
        optimizer.step()
        found[name] = optimizers.state_tensors(optimizer)
    assert found["Ballistic, fused"] == found["Navigator, fused"] == found["torch RMSprop, foreach"] == 1
    assert found["Belief, fused"] == found["torch Adam, fused"] == 2
    assert found["torch SGD, fused"] == 0 and found["torch SGD with momentum, foreach"] == 1


def test_both_pipelines_show_every_image_once_and_change_it_alike():
    """Labels are the images' numbers; each is one grey of its own, which no crop and no mirror can hide."""
    count, batch = 40, 16
    labels = torch.arange(count)
    pixels = (labels + 100).to(torch.uint8).view(-1, 1, 1, 1).expand(count, 3, 32, 32).contiguous()
    split = data.Split(pixels, labels, 255.0, pipelines.MEAN, pipelines.STD)
    images = pipelines.Images(pixels, labels, changed=True)
    seen = []
    for x, y in torch.utils.data.DataLoader(images, batch, shuffle=True):
        middle = x[:, 0, 16, 16] * pipelines.STD[0] + pipelines.MEAN[0]  # a shift of 4 leaves the middle inside
        assert torch.equal((255 * middle).round().long() - 100, y)
        seen += y.tolist()
    assert sorted(seen) == labels.tolist() != seen
    generator = torch.Generator().manual_seed(0)
    last = pipelines.by_ours(split, batch, data.CropFlip(pipelines.PAD), generator)
    assert last.shape == (count % batch, 3, 32, 32)
    assert pipelines.gap(split, images) < 1e-5
    noise = torch.randint(0, 256, pixels.shape, dtype=torch.uint8, generator=generator)
    assert pipelines.gap(split, pipelines.Images(noise, labels, changed=True)) > 0.1  # and it can tell
