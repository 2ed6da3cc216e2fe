"""The benchmarks run and keep what they find. No test here judges a time: that is for ``python -m benchmarks``."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys

import fresh  # noqa: F401  the benchmarks fork from its server, which has imported torch
import numpy as np
import pytest
import torch
from resources import need_a_browser
from threadpoolctl import threadpool_info

from benchmarks import __main__ as command
from benchmarks import data as pipelines
from benchmarks import machine, optimizers, step, update
from benchmarks.report import Report, store
from benchmarks.timing import ratio, spread, take_turns
from lossnav import data, records, training


@pytest.mark.parametrize("name", command.KNOWN)
def test_each_benchmark_runs_and_a_quick_run_keeps_nothing(name, tmp_path, capsys):
    if name in ("explorables", "pages"):
        need_a_browser()
    assert command.main([name, "--quick", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"== {name}: " in out and "MISSED" not in out
    assert len(out.splitlines()) > 3
    assert not any(tmp_path.iterdir())


def test_an_unknown_name_is_refused_with_those_that_are_known(capsys):
    with pytest.raises(SystemExit):
        command.main(["speed"])
    assert "NAME = 'speed', but it must be one of action, " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["update", "--device", "meta"], "--device = 'meta', but update has no tensors"),
        (["--threads", "0"], "--threads = 0, but it must be"),
    ],
)
def test_what_cannot_be_measured_is_refused(arguments, words, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert words in capsys.readouterr().err


def test_all_contenders_take_turns_in_every_round():
    calls = []
    contenders = {name: (lambda name=name: calls.append(name)) for name in "abc"}
    times = take_turns(
        contenders, 20, warm_up=2, wait=lambda: calls.append("."), prepare=lambda name: calls.append(name.upper())
    )
    assert calls[:6] == list("aabbcc")
    rounds = ["".join(calls[6:])[12 * k : 12 * k + 12] for k in range(20)]
    assert all(sorted([turn[:4], turn[4:8], turn[8:]]) == ["A.a.", "B.b.", "C.c."] for turn in rounds)
    assert len(set(rounds)) > 1  # not always in the same order
    assert {name: len(seconds) for name, seconds in times.items()} == dict.fromkeys("abc", 20)
    assert all(second >= 0 for seconds in times.values() for second in seconds)


def test_a_slow_machine_ends_after_three_rounds():
    assert len(take_turns({"slow": lambda: None}, 50, limit=0.0)["slow"]) == 3


def test_spreads_are_quartiles_and_ratios_are_taken_round_by_round():
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    summary = spread(values)
    assert (summary.least, summary.low, summary.median, summary.high) == (1.0, 2.0, statistics.median(values), 4.0)
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
    counts = {}
    for name, make in optimizers.contenders():
        optimizer = make(params)
        optimizer.step()
        counts[name] = optimizers.state_tensors(optimizer)
    assert counts["Ballistic, fused"] == counts["Navigator, fused"] == counts["torch RMSprop, foreach"] == 1
    assert counts["Belief, fused"] == counts["torch Adam, fused"] == 2
    assert counts["torch SGD, fused"] == 0 and counts["torch SGD with momentum, foreach"] == 1


def test_both_pipelines_show_every_image_once_and_change_it_alike():
    """Labels are the images' numbers; each is one grey of its own, which no crop and no mirror can hide."""
    count, batch = 40, 16
    labels = torch.arange(count)
    pixels = (labels + 100).to(torch.uint8).view(-1, 1, 1, 1).expand(count, 3, 32, 32).contiguous()
    split = data.Split(pixels, labels, 255.0, pipelines.MEAN, pipelines.STD)
    images = pipelines.Images(pixels, labels, changed=True)
    shown = []
    for x, y in torch.utils.data.DataLoader(images, batch, shuffle=True):
        middle = x[:, 0, 16, 16] * pipelines.STD[0] + pipelines.MEAN[0]  # a shift of 4 leaves the middle inside
        assert torch.equal((255 * middle).round().long() - 100, y)
        shown += y.tolist()
    assert sorted(shown) == labels.tolist() != shown
    generator = torch.Generator().manual_seed(0)
    last = pipelines.by_ours(split, batch, data.CropFlip(pipelines.PAD), generator)
    assert last.shape == (count % batch, 3, 32, 32)
    assert pipelines.gap(split, images) < 1e-5
    noise = torch.randint(0, 256, pixels.shape, dtype=torch.uint8, generator=generator)
    assert pipelines.gap(split, pipelines.Images(noise, labels, changed=True)) > 0.1  # and it can tell


@pytest.mark.skipif(not machine.STAT.exists(), reason="this system does not tell what others do")
def test_the_work_of_others_is_told_from_one_s_own():
    """A process that burns a second is another's while it runs, and one's own when this process has waited for it."""
    burn = [sys.executable, "-c", "import time\nwhile time.process_time() < 1.0: pass"]
    before = machine.Clock.read()
    with subprocess.Popen(burn, stdout=subprocess.PIPE) as process:
        process.stdout.read()  # to its end
        ended = machine.Clock.read()
        process.wait()
        waited = machine.Clock.read()
    work = [machine.others(before, after) * (after.wall - before.wall) for after in (ended, waited)]
    assert work[0] > 0.9 and work[0] - work[1] > 0.8


def test_a_clock_that_counts_by_hand():
    before, after = machine.Clock(10.0, 100.0, 7.0), machine.Clock(14.0, 106.0, 10.0)
    assert machine.others(before, after) == 0.75  # of six seconds in four, three were one's own
    assert machine.others(before, machine.Clock(14.0, 102.0, 10.0)) == 0.0  # ticks are coarse
    assert machine.others(None, after) is None and machine.in_words(None, 0.1) == "unknown"
    assert machine.in_words(0.01, 0.75).startswith("other processes kept 0.01 of ")
    assert machine.is_busy(1e6) and not machine.is_busy(0.0) and not machine.is_busy(None)


def test_a_busy_machine_is_said_in_the_table(monkeypatch, tmp_path, capsys):
    quiet = Report(["way"], [], [["one"]], {"fine": True}, {}, "a machine")
    monkeypatch.setattr(update, "run", lambda settings: quiet)
    monkeypatch.setattr(machine, "look", lambda: 0.0)
    monkeypatch.setattr(machine, "others", lambda before, after: 0.0)
    assert command.main(["update", "--output", str(tmp_path)]) == 0
    assert records.load(tmp_path / "update.json").results["notes"] == []
    monkeypatch.setattr(machine, "others", lambda before, after: 99.0)
    assert command.main(["update", "--output", str(tmp_path), "--threads", "2"]) == 0
    record = records.load(tmp_path / "update.json")
    assert "the machine was busy: other processes held 99.0" in record.results["notes"][0]
    assert "0.00 of" in record.config["load"] and "99.00 during it" in record.config["load"]
    assert record.command == "python -m benchmarks update --threads 2"
    assert "note: the machine was busy" in capsys.readouterr().out


def test_threads_are_those_of_torch_and_of_the_libraries_under_numpy_and_scipy():
    def blas():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    before = torch.get_num_threads(), blas()
    with machine.threads(1) as count:
        assert (count, torch.get_num_threads(), blas()) == (1, 1, {1})
        with machine.threads(2):
            assert (torch.get_num_threads(), blas()) == (2, {2})
        with machine.threads(None) as same:
            assert same == 1
    assert (torch.get_num_threads(), blas()) == before


def test_each_way_is_timed_with_each_number_of_threads_and_appears_with_what_suits_it(monkeypatch):
    runs = []

    def one(gradient, hessian):
        runs.append(("one", torch.get_num_threads()))

    def other(gradient, hessian):
        runs.append(("other", torch.get_num_threads()))

    def turns(calls, rounds, *, prepare, **options):
        for name, call in calls.items():
            prepare(name)
            call()
        return {"one, 1": [2.0, 4.0], "one, 3": [6.0, 6.0], "other, 1": [6.0, 6.0], "other, 3": [2.0, 2.0]}

    monkeypatch.setattr(update, "WAYS", (one, other))
    monkeypatch.setattr(update, "_calls", lambda call: 2)
    monkeypatch.setattr(update, "take_turns", turns)
    first, second = update.measure(np.ones(2), np.eye(2), [1, 3], rounds=2)
    assert runs == [(way, n) for way in ("one", "other") for n in (1, 3) for _ in range(2)]
    assert (first.threads, first.seconds) == (1, [1.0, 2.0]) and (second.threads, second.seconds) == (3, [1.0, 1.0])


@pytest.mark.parametrize("network", list(step.NETWORKS))
def test_the_form_called_automatic_is_what_training_takes(network, monkeypatch):
    calls = []
    monkeypatch.setattr(training.loop, "keep_freed_memory", lambda: calls.append(True))
    model = step.NETWORKS[network](seed=0)
    pixels = torch.zeros(4, 3, 32, 32, dtype=torch.uint8)
    split = data.Split(pixels, torch.zeros(4, dtype=torch.long), 255.0, pipelines.MEAN, pipelines.STD)
    provenance = data.load("digits").provenance
    history = training.train(
        model, data.Dataset("grey", split, split, 10, provenance), torch.optim.SGD(model.parameters(), lr=1e-3),
        epochs=1, batch_size=4, seed=0, device="cpu", progress=False,
    )  # fmt: skip
    form = step.automatic(network, torch.device("cpu"))
    assert (form.precision, form.memory_format) == (history.settings["precision"], history.settings["memory_format"])
    assert form.kept == bool(calls) and not history.settings["compile"]
    assert form in step.forms(torch.device("cpu")) and step.forms(torch.device("cpu"))[0] == step.PLAIN


def test_a_choice_that_is_slower_beyond_the_spread_is_called_so():
    quick, slow = step.Form("bfloat16", "channels_last"), step.Form(memory_format="channels_last")
    times = {step.PLAIN: [4.0, 4.2, 4.1], slow: [3.0, 3.1, 3.2], quick: [1.0, 1.1, 1.2]}
    losses = {step.PLAIN: [2.3, 2.2], slow: [2.3, 2.1], quick: [2.31, 2.2]}
    assert list(step.judge("cnn", times, losses, quick).values()) == [True, True]
    assert list(step.judge("cnn", times, losses, slow).values()) == [False, True]
    assert list(step.judge("cnn", times, losses | {slow: [2.31, 2.1]}, quick).values()) == [True, False]
    assert list(step.judge("cnn", times, losses | {quick: [2.31, math.nan]}, quick).values()) == [True, False]


def test_a_process_that_cannot_keep_memory_is_left_out(monkeypatch):
    """An environment that says how memory is to be had is left as it is, and the form does not appear."""
    monkeypatch.setenv("MALLOC_MMAP_MAX_", "1000")
    wanted = [step.PLAIN, step.Form(kept=True)]
    with step.contenders("vit", wanted, "cpu", 1, 2) as able:
        assert list(able) == [step.PLAIN]
        able[step.PLAIN]()
        able[step.PLAIN]()
        losses, process = able[step.PLAIN].losses, able[step.PLAIN].process
    assert len(losses) == 2 * step.STEPS and all(math.isfinite(loss) for loss in losses) and losses[0] != losses[-1]
    assert process.exitcode == 0


def test_the_paper_s_sum_is_that_of_left_ends():
    action = pytest.importorskip("benchmarks.action", exc_type=ImportError)
    found, n = action.by_newton(), np.arange(action.INTERVALS)
    dt = action.HORIZON / action.INTERVALS
    x, y = found.path[:-1].T
    terms = np.sum(np.diff(found.path, axis=0) ** 2, axis=1) / (2 * dt**2) + (x**2 - 1) ** 2 + y**2 - x / 2
    np.testing.assert_allclose(found.action, dt * np.sum(np.exp(-action.GAMMA * dt * n) * terms), rtol=1e-12)
