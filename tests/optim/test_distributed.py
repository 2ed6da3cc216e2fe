"""Our optimizers where several processes train one model: checks of distributed_worker.py, in two gloo processes."""

from __future__ import annotations

import copy
import json
import signal
import warnings
from pathlib import Path

import fresh
import pytest
import torch
import torch.distributed.checkpoint as dcp
from distributed_worker import CHECKPOINTS, MAKERS, SAVED, Net, checks, train, vector
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from lossnav.optim import Navigator, Uncertain

CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT)
FRESH = {
    **MAKERS,
    "navigator, hutchinson": lambda params, lr=0.05: Navigator(params, lr, gamma=1.0, curvature="hutchinson"),
}
del FRESH["AdamW"]  # counts the step of the preparation


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both processes after all checks: the folder with their reports and checkpoints.

    Where nothing is wrong but that one lost the other, they are started once more, and a warning shows what they said.
    """
    folder = run_pair(tmp_path_factory.mktemp("distributed"))
    if lost_each_other(folder):
        warnings.warn(f"two processes are started again: {logs(folder)}", RuntimeWarning, stacklevel=2)
        folder = run_pair(tmp_path_factory.mktemp("distributed"))
    return folder


def run_pair(folder: Path) -> Path:
    code = "import sys, distributed_worker as w\nw.main(int(sys.argv[1]), w.Path(sys.argv[2]))"
    pair = [fresh.Running(code, rank, folder) for rank in range(2)]
    for rank, process in enumerate(pair):
        result = process.wait()
        (folder / f"log-{rank}").write_text(result.stdout + result.stderr)
        (folder / f"exit-{rank}").write_text(str(result.returncode))
    return folder


def lost_each_other(folder: Path) -> bool:
    """Return whether a connection broke, although no check failed by itself and no process crashed."""
    exits = [int((folder / f"exit-{rank}").read_text()) for rank in range(2)]
    failures = [message for rank in range(2) for message in report(folder, rank).values() if message != "ok"]
    complete = all(report(folder, rank).keys() == checks().keys() for rank in range(2))
    crashed = any(-code in CRASHES for code in exits)
    return not (complete and not failures) and not crashed and all("gloo" in message for message in failures)


def report(folder: Path, rank: int) -> dict[str, str]:
    file = folder / f"report-{rank}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def logs(folder: Path) -> str:
    """Return how both ended: one that fails takes the other along, whose complaint says nothing."""
    return "".join(
        f"\nprocess {rank} ended with {(folder / f'exit-{rank}').read_text()}:\n"
        f"{(folder / f'log-{rank}').read_text()[-3000:]}"
        for rank in reversed(range(2))
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", checks())
def test_in_two_processes(name, done):
    outcomes = [report(done, rank).get(name) for rank in range(2)]
    assert outcomes == ["ok", "ok"], logs(done)


@pytest.mark.parametrize(
    ("reports", "exits", "again"),
    [
        ([1.0, 1.0], (0, 0), False),
        ([0.5, 0.5], (0, 0), True),
        ([0.5, 0.5], (0, -signal.SIGKILL), True),
        ([0.5, 0.5], (0, -signal.SIGSEGV), False),
        (["[gloo/pair.cc] Connection reset by peer", 0.5], (0, 1), True),
        (["[gloo/pair.cc] Connection reset by peer", "AssertionError: 1 != 2"], (0, 0), False),
        (["AssertionError: 1 != 2", 1.0], (0, 0), False),
    ],
)
def test_a_pair_is_started_again_only_where_no_check_failed(reports, exits, again, tmp_path):
    """A number is the share of the checks that went well; a text is how the first one failed."""
    names = list(checks())
    for rank, (entry, code) in enumerate(zip(reports, exits, strict=True)):
        well = {names[0]: entry} if isinstance(entry, str) else dict.fromkeys(names[: int(entry * len(names))], "ok")
        (tmp_path / f"report-{rank}.json").write_text(json.dumps(well))
        (tmp_path / f"exit-{rank}").write_text(str(int(code)))
    assert lost_each_other(tmp_path) is again


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), CHECKPOINTS, ids=str)
def test_a_checkpoint_of_two_processes_continues_in_one(name, dtype, done):
    """What was saved from halves continues unsharded: the same draws; in bfloat16 the gradients are rounded apart."""
    model = Net(dtype)
    optimizer = MAKERS[name](model.parameters())
    saved = {"model": get_model_state_dict(model), "optim": get_optimizer_state_dict(model, optimizer)}
    where = done / f"{name}-{dtype}".replace(" ", "_")
    dcp.load(saved, checkpoint_id=where, no_dist=True)
    set_model_state_dict(model, saved["model"])
    set_optimizer_state_dict(model, optimizer, saved["optim"])
    train(model, optimizer, range(4, 7), how=SAVED[name])
    near = 0.03 if dtype == torch.bfloat16 else 1e-9
    result = torch.load(where.with_name(where.name + ".result"), weights_only=True)
    torch.testing.assert_close(vector(model), result, rtol=near, atol=near)


def how(name: str) -> str:
    return {"uncertain, sampled": "sampled", "navigator, hutchinson": "observed"}.get(name, "plain")


@pytest.mark.parametrize("rate", [0.02, torch.tensor(0.02)], ids=["number", "tensor"])
@pytest.mark.parametrize("name", FRESH)
def test_asking_a_fresh_optimizer_for_its_state_leaves_no_trace(name, rate):
    """get_optimizer_state_dict takes a step without rate and gradient, to see what state there is."""
    asked, left = Net(), Net()
    try:
        queried, untouched = (FRESH[name](model.parameters(), lr=rate) for model in (asked, left))
    except TypeError:  # a form that fixes its own rate
        queried, untouched = (FRESH[name](model.parameters()) for model in (asked, left))
    before = vector(asked)
    state = get_optimizer_state_dict(asked, queried)["state"]
    assert state.keys() == dict(asked.named_parameters()).keys()
    assert all(float(entry["step"]) == 0 for entry in state.values())
    assert torch.equal(vector(asked), before)
    for model, optimizer in ((asked, queried), (left, untouched)):
        train(model, optimizer, range(4), how=how(name))
    assert torch.equal(vector(asked), vector(left))


@pytest.mark.parametrize("flat", [False, True], ids=["nested", "flattened"])
@pytest.mark.parametrize("name", FRESH)
def test_a_state_set_in_a_fresh_optimizer_continues_bit_for_bit(name, flat):
    model, twin = Net(), Net()
    optimizer, fresh = FRESH[name](model.parameters()), FRESH[name](twin.parameters())
    train(model, optimizer, range(4), how=how(name))
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    state = copy.deepcopy(get_optimizer_state_dict(model, optimizer, options=options))
    set_optimizer_state_dict(twin, fresh, state, options=options)
    twin.load_state_dict(model.state_dict())
    for m, o in ((model, optimizer), (twin, fresh)):
        train(m, o, range(4, 8), how=how(name))
    assert torch.equal(vector(model), vector(twin))


def test_a_first_step_with_a_gradient_counts_at_any_rate():
    """Schedules start at zero, too."""
    model = Net()
    optimizer = Navigator(model.parameters(), lr=0.0)
    train(model, optimizer, range(1))
    assert all(state["step"] == 1 and state["h"].any() for state in optimizer.state.values())


# What draws are named by

DRAWING = {
    "uncertain": (
        lambda params: Uncertain(params, 0.02, temperature=0.1, prior_variance=0.5, prior_mean=0.0, sample=True),
        "sampled",
    ),
    "navigator": (lambda params: Navigator(params, curvature="hutchinson", lr=0.05, gamma=1.0), "observed"),
}


@pytest.mark.parametrize("rule", DRAWING)
def test_named_parameters_have_the_same_draws_in_any_order_and_company(rule):
    make, how = DRAWING[rule]
    model, twin = Net(), Net()
    train(model, optimizer := make(model.named_parameters()), range(4), how=how)
    named = dict(twin.named_parameters())
    groups = [{"params": [(name, named[name])]} for name in sorted(named, reverse=True)]
    train(twin, make(groups), range(4), how=how)
    torch.testing.assert_close(vector(model), vector(twin), rtol=1e-11, atol=1e-13)
    assert len({state["index"] for state in optimizer.state.values()}) == len(named)
    unnamed = Net()
    train(unnamed, make(unnamed.parameters()), range(4), how=how)
    assert (vector(unnamed) - vector(model)).abs().max() > 1e-4


@pytest.mark.parametrize("rule", DRAWING)
def test_a_name_that_comes_twice_stands_for_two(rule):
    make, how = DRAWING[rule]
    model, other = Net(), Net()
    optimizer = make([{"params": list(m.named_parameters())} for m in (model, other)])
    models = torch.nn.ModuleList((model, other))
    if how == "observed":
        optimizer.observe(sum((p**3).sum() for p in models.parameters()))
    else:
        with optimizer.sampled():
            assert not torch.equal(vector(model), vector(other))
    assert len({state["index"] for state in optimizer.state.values()}) == len(list(models.parameters()))


@pytest.mark.parametrize("rule", DRAWING)
@pytest.mark.parametrize("named", [False, True])
def test_a_checkpoint_from_before_there_were_names_keeps_its_draws(rule, named):
    """They were named by place; a run that goes on in an optimizer with names goes on as it was."""
    make, how = DRAWING[rule]
    model, twin = Net(), Net()
    optimizer = make(model.parameters())
    train(model, optimizer, range(4), how=how)
    old = copy.deepcopy(optimizer.state_dict())
    assert all(("index" in state) == (rule == "uncertain") for state in old["state"].values())
    resumed = make(twin.named_parameters() if named else twin.parameters())
    resumed.load_state_dict(old)
    twin.load_state_dict(model.state_dict())
    for m, o in ((model, optimizer), (twin, resumed)):
        train(m, o, range(4, 8), how=how)
    assert torch.equal(vector(model), vector(twin))


@pytest.mark.parametrize("wrong", ["world", 1, "None", object()], ids=["word", "number", "the word None", "object"])
def test_a_process_group_that_is_none_is_named(wrong):
    with pytest.raises(ValueError, match=r"process_group = .*, but it must be 'auto', None or a process group"):
        Navigator(Net().parameters(), process_group=wrong)


def test_without_torch_distributed_nothing_is_shared():
    model, alone = Net(), Net()
    for m, group in ((model, "auto"), (alone, None)):
        train(m, Navigator(m.parameters(), curvature="hutchinson", process_group=group), range(3), how="observed")
    assert torch.equal(vector(model), vector(alone))
