"""The command itself, as people start it: output, exit codes, errors without tracebacks."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import fresh
import numpy as np
import pytest

import lossnav as ln
from lossnav import records
from lossnav.cli import main, sweep, train
from lossnav.cli.entry import parser

COMMAND = Path(sys.executable).with_name("lossnav")
SMALL = ["--data", "digits", "--model-option", "hidden=[16]", "--train-size", "300", "--test-size", "100"]


def lossnav(*words: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(COMMAND), *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=fresh.PATIENCE,
        env={**os.environ, "LOSSNAV_DATA": "", **environment},
    )  # fmt: skip


def wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + fresh.PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.02)


@pytest.mark.slow
def test_help_needs_no_torch_and_names_each_command_whose_examples_can_be_parsed(capsys):
    code = "import sys; from lossnav.cli.entry import parser; parser(); print('torch' in sys.modules)"
    quick = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert quick.stdout.strip() == "False"
    top = lossnav("--help").stdout
    assert "exit codes:" in top
    for command in ("train", "sweep", "solve", "analyse"):
        with pytest.raises(SystemExit, match="0"):
            parser().parse_args([command, "--help"])
        _, _, examples = capsys.readouterr().out.replace("\\\n", " ").partition("examples:")
        lines = re.findall(r"^  (?:torchrun .* -m )?(lossnav .*)$", examples, re.MULTILINE)
        assert command in top and len(lines) >= 3
        for line in lines:
            parser().parse_args(shlex.split(line)[1:])


@pytest.mark.slow
def test_train_writes_a_record_that_its_own_command_repeats(tmp_path):
    first = fresh.lossnav("train", *SMALL, "--epochs", 2, "--lr", "5e-3", "--output", "a.json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "epoch 2" in first.stdout and "a.json" in first.stdout and "12/12" not in first.stdout
    assert re.search(r"6/6|100%", first.stderr)
    record = records.load(tmp_path / "a.json")
    again = fresh.lossnav(*shlex.split(record.command)[1:], "--output", "b.json", "--quiet", cwd=tmp_path)
    assert again.returncode == 0 and again.stderr == ""
    curves = [records.load(tmp_path / name).results[0] for name in ("a.json", "b.json")]
    for curve in curves:
        del curve["seconds"]
    assert curves[0] == curves[1]


@pytest.mark.slow
def test_a_diverged_run_is_exit_code_3_with_a_record(tmp_path):
    done = fresh.lossnav("train", *SMALL, "--optimizer", "sgd", "--lr", "1e30", "--output", "run.json", cwd=tmp_path)
    assert done.returncode == 3 and "diverged after step" in done.stderr
    assert records.load(tmp_path / "run.json").results[0]["diverged"] >= 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["train", "--optimizer", "lion"], 2, "optimizer = 'lion', but it must be one of"),
        (["train", "--optimizer", "Adam"], 2, "'MODULE:FUNCTION', 'derive:NAME=VALUE,…' (did you mean 'adam'?)"),
        (["train", "--data", "digits", "--lr", "-1"], 2, "lossnav: lr = -1.0, but it must be"),
        (["train", "--data", "digits", "--option", "beta"], 2, "'beta' is not NAME=VALUE"),
        (["train", "--data", "digits", "--option", "beta=2"], 2, "lossnav: "),
        (["train", "--data", "digits", "--model", "mlp", "--precision", "half"], 2, "lossnav: precision = 'half'"),
        (["train", "--data", "digits", "--resume"], 2, "--resume needs --checkpoint"),
        (["train", "--root", "nowhere"], 1, "lossnav: root = 'nowhere' has no MNIST, neither in it"),
        (["solve", "--start", "0"], 2, "lossnav: "),
        (["solve", "--start", "a,b"], 2, "'a,b' is not a list of numbers"),
        (["solve", "--loss", "quadratic", "--hessian", "[[-9]]", "--start", "1", "--gamma", "1"], 3, "lossnav: "),
        (["train", "--data", "digits", "--device", "cuda:99"], 2, "lossnav: device = 'cuda:99', but it must be"),
        (["solve", "--start=0,1", "--until", "inf"], 2, "lossnav: --until = inf, but it must be"),
        (["solve", "--start=0,1", "--until", "0"], 2, "lossnav: --until = 0.0, but it must be"),
        (["solve", "--start=0,1", "--hessian", "[[1]]"], 2, "belong to --loss quadratic, but the loss is double-well"),
        (["solve", "--start=0,1", "--minimum", "0,0"], 2, "belong to --loss quadratic, but the loss is double-well"),
        (
            ["sweep", "--config", "x.json", "--output", "x", "--lr", "1"],
            2,
            "--config has all settings: give none beside",
        ),
        (["sweep", "--config", "x.json", "--output", "x", "--seeds", "1"], 2, "--config has all settings"),
        (["solve", "--start=0,1", "--horizon", "2", "--until", "5"], 2, "--until = 5.0, but it must be"),
        (["solve", "--start=0,1", "--endpoint", "1,1"], 2, "--endpoint needs a deadline"),
        (
            ["solve", "--start=0,1", "--loss-option", "z=1"],
            2,
            "--loss-option has 'z', but double-well takes a, b, c, d",
        ),
        (["sweep", "--data", "digits", "--output", "x", "--grid", "rate=1"], 2, "lossnav: setting = 'rate'"),
        (["sweep", "--data", "digits", "--output", "x", "--seeds", "3-1"], 2, "'3-1' is neither A-B nor"),
        (["sweep", "--output", "x", "--cluster", "tcp://127.0.0.1:9"], 1, "lossnav: cluster = 'tcp://127.0.0.1:9'"),
        ([], 2, "required: COMMAND"),
    ],
)
def test_errors_are_one_line_with_an_exit_code(tmp_path, monkeypatch, capsys, words, code, message):
    """In this process, since most of them need torch; the next test starts the real command."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ln.sweep.drive, "CONNECT", 0.3)
    try:
        status = main(words)
    except SystemExit as leaving:  # argparse leaves by itself
        status = leaving.code
    out, err = capsys.readouterr()
    assert status == code and message in err, err
    assert "Traceback" not in err and out == "" and err.count("lossnav: ") <= 1


@pytest.mark.slow
def test_errors_of_the_real_command(tmp_path):
    for words, code in ((["train", "--lr", "0"], 2), (["solve", "--start", "0"], 2)):
        done = lossnav(*words, cwd=tmp_path)
        assert done.returncode == code and done.stderr.startswith("lossnav: ") and done.stderr.count("\n") == 1
        assert done.stdout == ""


@pytest.mark.slow
def test_debug_shows_the_traceback_wherever_it_is_written(tmp_path):
    for words in (["--debug", "train", "--lr", "0"], ["train", "--lr", "0", "--debug"]):
        done = fresh.lossnav(*words, cwd=tmp_path)
        assert done.returncode == 2 and "Traceback" in done.stderr and "lossnav: lr = 0.0" in done.stderr


@pytest.mark.slow
def test_interruption_is_exit_code_130(tmp_path):
    """Of the installed command, that of a sweep: tests/lab/sweep."""
    words = ["train", *SMALL, "--batch-size", 1, "--epochs", 500, "--checkpoint", "c"]
    process = fresh.Running(fresh.COMMAND, *words, cwd=tmp_path)
    wait_for_file(tmp_path / "c")
    os.kill(process.pid, signal.SIGINT)
    done = process.wait()
    assert done.returncode == 130 and done.stderr.rstrip().endswith("lossnav: interrupted")
    assert "Traceback" not in done.stderr


def test_solve_prints_the_library_s_answer(capsys):
    words = ["solve", "--gamma", "0.1", "--start=-1.2,0.8", "--points", "5", "--until", "4"]
    path = ln.solve(ln.Objective(gamma=0.1), ln.losses.DoubleWell(), [-1.2, 0.8])
    assert main([*words, "--json"]) == main(words) == 0
    answer, _, text = capsys.readouterr().out.partition("\n")
    answer = json.loads(answer)
    assert answer["action"] == pytest.approx(path.action, rel=1e-12) and answer["is_minimum"] is True
    for name, of in (("theta", path), ("velocity", path.velocity)):
        printed = np.transpose([answer[f"{name}_1"], answer[f"{name}_2"]])
        np.testing.assert_allclose(printed, of(np.linspace(0, 4, 5)), rtol=1e-10)
    assert "certified minimum" in text and len(text.split("theta_1")[1].splitlines()) == 6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--start=1,1", "--points", "1000000000"], "--points = 1000000000, but .* >= 2 and <= 1000000"),
        (["--start=1,1", "--points", "1"], "--points = 1, but it must be a whole number >= 2"),
        (["--start=1e308,1"], r"loss\.value\(theta0\) = inf"),
    ],
)
def test_what_cannot_be_printed_or_priced_is_one_line(words, said, capsys, recwarn):
    assert main(["solve", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and re.match(f"lossnav: {said}", err) and not recwarn.list


@pytest.mark.parametrize("word", ["-1.2,0.8", "-.5,-1", "-1e-3,2"])
def test_a_vector_may_begin_with_a_minus(word, capsys):
    outs = []
    for words in (["--start", word], [f"--start={word}"]):
        assert main(["solve", "--gamma", "0.1", *words, "--endpoint", "-1,0", "--horizon", "2", "--json"]) == 0
        outs.append(capsys.readouterr().out)
    assert outs[0] == outs[1] and "theta_2" in outs[0]


def test_the_derived_rule_of_the_help_learns(tmp_path, capsys):
    (example,) = re.findall(r"lossnav (train .*derive:.*)", train.__doc__)
    assert main([*shlex.split(example), "--epochs", "2", "--quiet", "--output", str(tmp_path / "run.json")]) == 0
    first, last = records.load(tmp_path / "run.json").results[0]["train_loss"]
    assert last < first / 2 < np.log(10) / 2
    out = capsys.readouterr().out
    assert "epoch 2" in out and "epoch 1" not in out, "quiet, and each epoch is told"


def test_solve_with_an_endpoint_and_a_quadratic(capsys):
    words = ["--loss", "quadratic", "--hessian", "[[2, 0], [0, 1]]", "--minimum", "1,0", "--start", "0,0"]
    assert main(["solve", *words, "--horizon", "3", "--endpoint", "0.5,0.5", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose([answer["theta_1"][-1], answer["theta_2"][-1]], [0.5, 0.5], atol=1e-8)
    assert answer["t"][-1] == 3


@pytest.mark.slow
def test_torchrun_shares_a_run(tmp_path):
    """Here where the gradient is taken at a draw of the weights: all processes draw the same."""
    rule = ["--optimizer", "uncertain", "--lr", "0.01", "--option", "sample=true"]
    words = ["train", *SMALL, *rule, "--epochs", "2", "--quiet", "--device", "cpu"]
    torchrun = ["--standalone", "--nproc-per-node", "2", "-m", "lossnav", *words, "--output", "pair.json"]
    pair = fresh.run(
        "from torch.distributed.run import main\nmain()", *torchrun, cwd=tmp_path
    )  # it starts Python twice
    assert pair.returncode == 0 and pair.stdout.count("epoch 2") == 1, pair.stderr
    assert fresh.lossnav(*words, "--output", "one.json", cwd=tmp_path).returncode == 0
    shared, single = (records.load(tmp_path / name).results[0] for name in ("pair.json", "one.json"))
    assert shared["settings"]["processes"] == 2
    assert shared["train_loss"] == pytest.approx(single["train_loss"], rel=1e-3)


TRAINED = {
    "hutchinson": ["--optimizer", "navigator", "--lr", ".1", "--option", "curvature=hutchinson", "--option", "every=3"],
    "drawn weights": ["--optimizer", "uncertain", "--lr", "0.01", "--option", "sample=true"],
    "SGD as a belief": ["--optimizer", "belief", "--lr", "0.1", "--option", "discount=inf", "--option", "betas=(0,.9)"],
    "SGD": ["--optimizer", "sgd", "--lr", "0.1"],
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two epochs of each of these rules, with checkpoints; and the same in two parts."""
    folder, results = tmp_path_factory.mktemp("trained"), {}
    for name, words in TRAINED.items():
        whole, parts = folder / f"{name}.json", folder / f"{name} parts.json"
        common = ["train", *SMALL, *words, "--quiet", "--batch-size", "30"]
        assert main([*common, "--epochs", "2", "--output", str(whole)]) == 0
        for epochs in ("1", "2"):
            state = ["--checkpoint", str(folder / f"{name}.ckpt"), "--resume", "--epochs", epochs]
            assert main([*common, *state, "--output", str(parts)]) == 0
        results[name] = [records.load(path).results[0] for path in (whole, parts)]
    return results


@pytest.mark.parametrize("name", TRAINED)
def test_rules_that_ask_more_of_the_loop_train_and_resume(trained, name):
    """Hutchinson's estimate and sampled weights were errors in the first step; SGD as a belief had no spelling."""
    whole, parts = trained[name]
    assert whole["train_loss"][-1] < 0.9 * whole["train_loss"][0]
    assert whole["train_loss"] == parts["train_loss"] and whole["test_accuracy"] == parts["test_accuracy"]


def test_sgd_as_a_belief_is_sgd(trained):
    np.testing.assert_allclose(trained["SGD as a belief"][0]["train_loss"], trained["SGD"][0]["train_loss"], rtol=1e-5)


def test_the_loop_takes_hutchinson_s_curvature_and_no_other():
    """Step by step with ``observe`` in a loop written out here: the same weights, bit for bit."""
    import torch
    from torch.nn.functional import cross_entropy

    from lossnav import data, models, optim, training

    digits = data.load("digits").head(120, 30)
    twins = [models.mlp(digits.inputs, (8,), seed=0) for _ in range(2)]
    rules = [optim.Navigator(m.parameters(), lr=0.05, gamma=1.0, curvature="hutchinson", every=2) for m in twins]
    training.train(twins[0], digits, rules[0], epochs=2, batch_size=40, seed=3, progress=False, device="cpu", clip=1.0)
    generator = torch.Generator().manual_seed(3)
    for _ in range(2):
        for index in torch.randperm(120, generator=generator).split(40):
            x, y = digits.train.batch(index)
            loss = cross_entropy(twins[1](x), y)
            rules[1].zero_grad()
            if rules[1].curvature_due():
                rules[1].observe(loss)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(twins[1].parameters(), 1.0)
            rules[1].step()
    for p, q in zip(twins[0].parameters(), twins[1].parameters(), strict=True):
        assert torch.equal(p, q)
        assert rules[0].state[p]["seen"] == rules[1].state[q]["seen"] == 3
        assert torch.equal(rules[0].state[p]["h"], rules[1].state[q]["h"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--option", "lr=1"], "options has 'lr', but that is a setting of its own: lr=…, or --lr"),
        (["--model-option", "seed=1"], "model_options has 'seed', but that is a setting of its own: seed=…, or --seed"),
        (["--root", "nowhere"], "root = 'nowhere', but it must be None for \"digits\""),
        (["--optimizer", "navigator", "--option", "curvature=hutchinson", "--compile"], "compile = True, but it must"),
        (["--optimizer", "navigator", "--option", "curvature=lanczos"], "curvature = 'lanczos', but it must be"),
        (["--optimizer", "belief", "--option", "bias_correction=nein"], "bias_correction = 'nein', but it must be"),
    ],
)
def test_what_cannot_train_is_refused_before_it_does(capsys, words, message):
    assert main(["train", *SMALL, "--quiet", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("lossnav: ") and message in err


def test_a_sweep_refuses_the_rate_among_the_options_at_once(tmp_path, capsys):
    assert main(["sweep", "--data", "digits", "--grid", "option.lr=1,2", "--output", str(tmp_path / "x")]) == 2
    assert "options has 'lr'" in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_commas_within_brackets_part_no_values():
    assert sweep._axis("option.betas=(0,.9), (.9,[1,2]),3") == ("option.betas", [(0, 0.9), (0.9, [1, 2]), 3])


def test_defaults_are_told_where_there_are_some(capsys):
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "times to print (default: 11)" in told and "last time to print --json" in told and "print JSON" in told


def test_a_name_that_a_grid_has_twice_has_the_values_of_both(tmp_path, capsys):
    grids = ["--grid", "lr=0.01", "--grid", "optimizer=sgd,adam", "--grid", "lr=0.1,0.01"]
    assert main(["sweep", *SMALL, "--quiet", "--workers", "1", *grids, "--output", str(tmp_path)]) == 0
    table = [line.split() for line in capsys.readouterr().out.partition("test accuracy")[2].splitlines()[1:]]
    assert [row[:2] for row in table] == [[name, rate] for rate in ("0.01", "0.1") for name in ("sgd", "adam")]
