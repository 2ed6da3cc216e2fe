"""One of two gloo processes: runs the checks below side by side with the other, and writes down how they went.

    python distributed_worker.py RANK FOLDER [NAME ...]

Both processes do the same checks in the same order. After each one they tell each other how it went through the store;
if it failed in one of them, the messages of the other may be out of step, and the rest is not run.
"""

from __future__ import annotations

import copy
import datetime
import json
import sys
import time
import traceback
import warnings
from dataclasses import astuple
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from optim_table import ROWS, steepness
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from lossnav.optim import Ballistic, BallisticMatrix, Belief, Navigator, Uncertain, _fused
from lossnav.optim.watch import watch

SIZE = 2
TIMEOUT = datetime.timedelta(seconds=600)  # of a message: a machine may be busy
DTYPES = (torch.float64, torch.float32, torch.bfloat16)
SAMPLED = {"lr": 0.02, "temperature": 0.1, "sample": True, "reset": (0.3, 50.0, 1.0), "speed": 1.0, "seed": 3}
MAKERS: dict[str, Any] = {
    "AdamW": torch.optim.AdamW,
    **{row.name: row for row in ROWS if row.shards},
    "uncertain, sampled": lambda params, **more: Uncertain(params, **{**SAMPLED, **more}),
    "belief, SGD": lambda params: Belief(params, lr=float("inf"), lr_overdamped=0.05, betas=(0.5, 0.9)),
    "belief, Newton": lambda params: Belief(params, lr=0.05, curvature_scale=2.0, eps_inside=1e-3),
}

SHARDED = ("ballistic", "belief", "navigator", "uncertain, sampled")  # in every precision
OF_THE_STEP = ("reference", "one at a time", "fused", "older", "centred", "discounted")  # no matter whose gradients


class Net(nn.Module):
    """Seven, three and one rows over two processes: uneven parts, and parameters of which one process has nothing."""

    def __init__(self, dtype: torch.dtype = torch.float64, unused: bool = False) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(5, 7), nn.Linear(7, 3), nn.Linear(3, 1)
        self.switched = nn.Linear(5, 1) if unused else None
        generator = torch.Generator().manual_seed(0)
        for p in self.parameters():
            p.data = torch.randn(p.shape, generator=generator, dtype=torch.float64).to(dtype)
        self.second.bias.data.zero_()  # no spread of its own: it borrows that of the others

    def forward(self, x: Tensor) -> Tensor:
        y = self.third(torch.tanh(self.second(torch.tanh(self.first(x)))))
        return y if self.switched is None or x[0, 0] > 10 else y + self.switched(x)


def data(step: int, dtype: torch.dtype = torch.float64, part: int | None = None) -> tuple[Tensor, Tensor]:
    """Return a batch of twelve, or the half of it that a process has."""
    generator = torch.Generator().manual_seed(1000 + step)
    x, y = torch.randn(12, 5, generator=generator), torch.randn(12, 1, generator=generator)
    rows = slice(None) if part is None else slice(6 * part, 6 * part + 6)
    return x[rows].to(dtype), y[rows].to(dtype)


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return ((model(x) - y) ** 2).mean()


def vector(model: nn.Module) -> Tensor:
    return torch.cat([full(p).flatten() for p in model.parameters()])


def full(tensor: Tensor) -> Tensor:
    tensor = tensor.detach()
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor.clone()


def assert_near(found: Tensor, expected: Tensor, what: str, rtol: float = 0.0, atol: float = 0.0) -> None:
    torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, msg=lambda message: f"{what}: {message}")


def same_everywhere(tensor: Tensor) -> bool:
    rows = [torch.empty_like(tensor) for _ in range(SIZE)]
    dist.all_gather(rows, tensor.contiguous())
    return all(torch.equal(row, rows[0]) for row in rows)


def train(model: nn.Module, optimizer: Any, steps: range, part: int | None = None, how: str = "plain") -> None:
    """Take steps; ``how``: plain, sampled, or observed (where a curvature is due)."""
    dtype = next(model.parameters()).dtype
    for step in steps:
        optimizer.zero_grad()
        x, y = data(step, dtype, part)
        if how == "sampled":
            with optimizer.sampled():
                loss(model, x, y).backward()
        else:
            value = loss(model, x, y)
            if how == "observed" and optimizer.curvature_due():
                optimizer.observe(value)
            value.backward()
        optimizer.step()


def how_of(name: str) -> str:
    return "sampled" if name.endswith("sampled") else "plain"


# DistributedDataParallel


def check_replicas_stay_one(rank: int, folder: Path) -> None:
    """DDP on halves of the batches: replicas equal bit for bit, and near one process with whole batches."""
    data_of_one = True
    looking = {"curvature": "hutchinson", "lr": 0.05, "gamma": 1.0}

    def own_data(p: Tensor, g: Tensor) -> Tensor:
        return torch.full_like(p, 1.5 + (rank - 0.5 if data_of_one else 0.0))

    cases = {
        "observed": (lambda p: Navigator(p, **looking), "observed"),
        "rarely": (lambda p: Navigator(p, **looking, every=3, probes=2, process_group=dist.group.WORLD), "observed"),
        "function": (lambda p: Navigator(p, curvature=steepness, every=2, gamma=1.0), "plain"),
        "sampled": (lambda p: Uncertain(p, **SAMPLED), "sampled"),
        "belief": (lambda p: Belief(p, lr=0.01, variance="innovation"), "plain"),
        "its own data": (lambda p: Navigator(p, curvature=own_data, process_group=dist.group.WORLD), "plain"),
        "matrix": (lambda p: BallisticMatrix(p, lr=0.01, every=3), "plain"),
        "named": (lambda p: Uncertain(p, **{**SAMPLED, "sample": False}), "plain"),
    }
    for name, (make, how) in cases.items():
        inner, joint = Net(), Net()
        replica = DistributedDataParallel(inner)
        optimizers = [make(m.named_parameters() if name == "named" else m.parameters()) for m in (inner, joint)]
        if how == "observed":  # the joint run is one of this process alone
            optimizers[1].process_group = None
        data_of_one = True
        train(replica, optimizers[0], range(10), part=rank, how=how)
        data_of_one = False
        train(joint, optimizers[1], range(10), how=how)
        assert same_everywhere(vector(inner)), f"{name}: replicas differ"
        near = (1e-6, 1e-8) if name == "matrix" else (1e-9, 1e-11)  # small directions of a basis enlarge rounding
        assert_near(vector(inner), vector(joint), name, *near)


def check_a_parameter_that_one_process_uses(rank: int, folder: Path) -> None:
    """find_unused_parameters: a curvature that one process sees is half a curvature, as its gradient is half of one."""
    inner = Net(unused=True)
    replica = DistributedDataParallel(inner, find_unused_parameters=True)
    optimizer = Navigator(inner.parameters(), curvature="hutchinson", gamma=1.0)
    for step in range(4):
        optimizer.zero_grad()
        x, y = data(step, part=rank)
        x[0, 0] = 20.0 if rank == 1 else 0.0
        value = loss(replica, x, y)
        optimizer.observe(value)
        value.backward()
        optimizer.step()
    assert inner.switched is not None and optimizer.state[inner.switched.weight]["seen"] == 4
    assert same_everywhere(vector(inner))
    halves = []
    for part in (*range(SIZE), None):  # the first look again: each half alone, then both together
        model, group = Net(unused=True), "auto" if part is None else None
        looking = Navigator(model.parameters(), curvature="hutchinson", beta=0.0, process_group=group)
        x, y = data(0, part=rank if part is None else part)
        x[0, 0] = 20.0 if (rank if part is None else part) == 1 else 0.0
        looking.observe(loss(model, x, y))
        halves.append([looking.state.get(p, {"h": torch.zeros_like(p)})["h"] for p in model.parameters()])
    for first, second, shared in zip(*halves, strict=True):
        torch.testing.assert_close(shared, (first + second) / 2, rtol=1e-12, atol=1e-14)


def refusal(act: Any, *args: Any, **options: Any) -> str:
    """Return what an act raises, or nothing."""
    try:
        act(*args, **options)
    except (RuntimeError, ValueError) as error:
        return str(error)
    return ""


def check_what_are_no_replicas_is_said(rank: int, folder: Path) -> None:
    """Runs of different seeds side by side, parts of a model: one mean of their curvatures would be wrong silently."""

    def said(model: nn.Module, **options: Any) -> str:
        optimizer = Navigator(model.parameters(), curvature="hutchinson", **options)
        return refusal(optimizer.observe, loss(model, *data(0)))

    net = Net()
    if rank == 1:
        net.third.bias.data += 1e-9
    assert "hold different weights" in said(net) and "process_group" in said(net)
    assert "hold different parameters" in said(Net(), seed=rank)
    assert "hold different parameters" in said(Net(unused=rank == 1))
    if rank == 1:  # one alone, if it says so
        assert not said(Net(), process_group=None)
    first = dist.new_group([0])
    if rank == 0:
        assert not said(Net(), process_group=first)


def check_a_graph_through_ddp_is_refused(rank: int, folder: Path) -> None:
    """The buckets divide it by the number of processes: with one parameter, where it works, h would be half of h."""
    inner = nn.Linear(5, 1, bias=False).double()
    replica = DistributedDataParallel(inner)
    optimizer = Navigator(inner.parameters(), curvature="hutchinson")
    loss(replica, *data(0, part=rank)).backward(create_graph=True)
    assert "call optimizer.observe(loss) before loss.backward()" in refusal(optimizer.step)


# Sharded parameters: FSDP2


def check_every_rule_on_parts_equals_itself_on_wholes(rank: int, folder: Path) -> None:
    """The same gradients, by hand: bit for bit, in all precisions, also with a parameter that lies whole everywhere."""
    mesh = init_device_mesh("cpu", (SIZE,))
    plain = [*SHARDED, "ballistic, fused", "belief, fused", "navigator, fused", "uncertain"]
    shapes = ((7, 5), (3, 7), (3,), (1, 3), (1,), (2, 4, 3))
    places = [[Shard(0)]] * 4 + [[Replicate()], [Shard(2)]]
    for dtype in DTYPES:
        generator = torch.Generator().manual_seed(0)
        drawn = [
            [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype) for s in shapes] for _ in range(5)
        ]  # the weights, and gradients of four steps
        drawn[0][2].fill_(1.0)
        shared = [[distribute_tensor(x.clone(), mesh, y) for x, y in zip(row, places, strict=True)] for row in drawn]
        for name, make in MAKERS.items():
            if dtype != torch.float64 and name not in plain:  # an option takes no heed of the precision
                continue
            wholes, parts = ([nn.Parameter(x.clone()) for x in rows[0]] for rows in (drawn, shared))
            on_wholes, on_parts = make(wholes), make(parts)
            for step in range(1, 5):
                if how_of(name) == "sampled":
                    with on_wholes.sampled(), on_parts.sampled():
                        for w, p in zip(wholes, parts, strict=True):
                            assert torch.equal(w, full(p)), f"{name}, {dtype}: other samples"
                for rows, params in ((drawn, wholes), (shared, parts)):
                    for gradient, p in zip(rows[step], params, strict=True):
                        p.grad = gradient.clone()
                on_wholes.step()
                on_parts.step()
            for w, p in zip(wholes, parts, strict=True):
                assert_near(full(p), w.detach(), f"{name}, {dtype}")
                for key, value in on_wholes.state[w].items():
                    found = on_parts.state[p][key]
                    assert not torch.is_tensor(value) or torch.equal(full(found), value), f"{name}, {dtype}: {key}"
                    assert torch.is_tensor(value) or found == value, f"{name}, {dtype}: {key}"
    assert not any("subclass" in text for text in _fused._said), "fused=True ran unfused on parts"


def sharded(dtype: torch.dtype = torch.float64, **options: Any) -> Net:
    model = Net(dtype)
    for layer in (model.first, model.second, model.third):
        fully_shard(layer, **options)
    fully_shard(model, **options)
    return model


def check_fully_shard_trains_as_one_process(rank: int, folder: Path) -> None:
    tolerance = {torch.float64: (4, 1e-9, 1e-11), torch.float32: (3, 2e-3, 2e-4), torch.bfloat16: (2, 0.03, 0.03)}
    for dtype, (steps, *near) in tolerance.items():
        for name, make in MAKERS.items():
            if name not in SHARDED and (dtype != torch.float64 or any(word in name for word in OF_THE_STEP)):
                continue  # as above
            model, joint = sharded(dtype), Net(dtype)
            optimizers = make(model.parameters()), make(joint.parameters())
            train(model, optimizers[0], range(steps), part=rank, how=how_of(name))
            train(joint, optimizers[1], range(steps), how=how_of(name))
            assert_near(vector(model), vector(joint), f"{name}, {dtype}", *near)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = sharded(torch.float32, mp_policy=policy)
    optimizer = MAKERS["uncertain, sampled"](model.parameters())
    before = vector(model)
    train(model, optimizer, range(2), part=rank, how="sampled")
    assert torch.isfinite(vector(model)).all() and not torch.equal(before, vector(model))


def check_a_root_that_shards_after_its_forward_sees_each_draw(rank: int, folder: Path) -> None:
    """Predictions, without a backward between them."""
    x, found = data(0)[0], []
    for model in (sharded(reshard_after_forward=True), Net(), fully_shard(Net(), reshard_after_forward=True)):
        optimizer = MAKERS["uncertain, sampled"](model.parameters())
        with torch.no_grad():
            for _ in range(3):
                with optimizer.sampled():
                    found.append(model(x))
            found.append(model(x))
    for seen, expected in zip(found[:4] + found[8:], 2 * found[4:8], strict=True):
        torch.testing.assert_close(seen, expected, rtol=1e-9, atol=1e-11)


def check_hutchinson_on_parts_is_refused(rank: int, folder: Path) -> None:
    message = refusal(Navigator, sharded().parameters(), curvature="hutchinson")
    assert "curvature = 'hutchinson', but it must be" in message and "sharded" in message
    message = refusal(Navigator, sharded().parameters(), curvature=steepness, process_group=dist.group.WORLD)
    assert "process_group is a group, but it must be 'auto' or None" in message


def check_matrices_in_parts_are_refused(rank: int, folder: Path) -> None:
    message = refusal(BallisticMatrix, sharded().parameters())
    assert "params holds a sharded tensor of shape (7, 5), but a matrix must lie whole" in message, message


def check_what_one_process_refuses_all_refuse(rank: int, folder: Path) -> None:
    """Whose part has it or not: nothing moves anywhere. One message a step tells, and nothing where one is alone."""

    def counted(model: nn.Module, make: Any, wrong: float, where: int) -> tuple[str, int]:
        optimizer = make(model.parameters())
        train(model, optimizer, range(2), part=rank)
        optimizer.zero_grad()
        loss(model, *data(2, part=rank)).backward()
        for p in model.parameters():
            gradient = p.grad.to_local() if isinstance(p.grad, DTensor) else p.grad
            if where == rank or gradient is p.grad:  # of replicas all have the same gradients
                gradient.view(-1)[:1] = wrong
        before, state = vector(model), copy.deepcopy(getattr(optimizer, "optim", optimizer).state_dict())
        with mock.patch.object(dist, "all_reduce", wraps=dist.all_reduce) as messages:
            said = refusal(optimizer.step)
        assert not said or torch.equal(vector(model), before)
        for entry in getattr(optimizer, "optim", optimizer).state_dict()["state"].items():
            assert not said or repr(entry) == repr((entry[0], state["state"][entry[0]])), "a state has changed"
        return said, messages.call_count

    def zero(rule: Any) -> Any:
        return lambda params: ZeroRedundancyOptimizer(params, rule)

    stacks: dict[str, Any] = {
        "parts": (sharded, MAKERS["belief"], "another process has refused the gradient of its part"),
        "replicas": (lambda: DistributedDataParallel(Net()), Belief, "of parameter 0 of group 0"),
        "one owner": (lambda: DistributedDataParallel(nn.Linear(5, 1, bias=False).double()), zero(Belief), "another"),
    }
    for name, (model, make, elsewhere) in stacks.items():
        for wrong in (float("nan"), float("inf"), 1e200):  # the last is finite, and its square is not
            for where in range(SIZE):
                said, messages = counted(model(), make, wrong, where)
                here = "entries that are inf or NaN" if wrong != 1e200 else "its square must be finite"
                owns = rank == (0 if name == "one owner" else where) or name == "replicas"
                assert (here if owns else elsewhere) in said and "nothing has moved" in said, f"{name}, {wrong}: {said}"
                assert messages == (0 if name == "replicas" else 1), name
        assert counted(model(), make, 0.5, 0) == ("", 0 if name == "replicas" else 1), name
    # Of a sparse gradient the owner says that it is sparse; the other one does not wait.
    table = nn.Embedding(4, 3, sparse=True)
    table(torch.tensor([1])).sum().backward()
    for sparse in (zero(Belief)([table.weight]), zero(BallisticMatrix)([table.weight])):
        assert ("sparse gradient" if rank == 0 else "another process has refused") in refusal(sparse.step)
    # In a mesh of two dimensions each has a message; parts of a curvature are judged as those of a gradient are.
    mesh = init_device_mesh("cpu", (1, SIZE))
    w = nn.Parameter(distribute_tensor(torch.ones(4), mesh, [Replicate(), Shard(0)]))
    own = Navigator([w], curvature=lambda p, g: torch.where(p > 2, torch.inf, p), process_group=None)
    w.grad = distribute_tensor(torch.ones(4), mesh, [Replicate(), Shard(0)])
    own.step()
    with torch.no_grad():
        w.copy_(distribute_tensor(torch.tensor([3.0, 1.0, 1.0, 1.0]), mesh, [Replicate(), Shard(0)]))
    message = refusal(own.step)
    assert ("the curvature of parameter 0" if rank == 0 else "another process has refused the curvature") in message
    net = nn.Linear(5, 1, bias=False).double()  # the first process owns all of it
    dealt = zero(lambda p: Navigator(p, curvature=lambda p, g: torch.full_like(p, torch.inf)))(net.parameters())
    loss(net, *data(0)).backward()
    message = refusal(dealt.step)
    assert ("the curvature of parameter 0" if rank == 0 else "another process has refused the curvature") in message


def check_a_watch_sees_whole_steps(rank: int, folder: Path) -> None:
    def watched(model: nn.Module, rule: Any, part: int | None) -> Any:
        optimizer = rule(model.parameters(), lr=0.01)
        with watch(optimizer) as seen:
            for step in range(6):
                seen.note(loss(model, *data(step)))
                train(model, optimizer, range(step, step + 1), part=part)
        return seen

    for rule in (torch.optim.AdamW, Belief):
        of_parts, alone = watched(sharded(), rule, rank), watched(Net(), rule, None)
        for found, expected in zip(astuple(of_parts.record()), astuple(alone.record()), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert abs(of_parts.timing() / alone.timing() - 1) < 1e-9
    parts = sharded()
    for name, given in (("loss", lambda: None), ("keep", 3)):
        message = refusal(watch(Belief(parts.parameters()), **{name: given}).__enter__)
        assert f"{name} = " in message and "must be None" in message
    assert "sharded alike" in refusal(watch(Belief([*parts.parameters(), *Net().parameters()])).__enter__)


def check_autograd_knows_that_a_step_moved_the_weights(rank: int, folder: Path) -> None:
    mesh = init_device_mesh("cpu", (SIZE,))
    w = nn.Parameter(distribute_tensor(torch.ones(3), mesh, [Shard(0)]))
    optimizer = Ballistic([w])
    value = (w**2).sum()
    w.grad = distribute_tensor(torch.ones(3), mesh, [Shard(0)])
    optimizer.step()
    assert "modified by an inplace operation" in refusal(value.backward)


# torch.distributed.checkpoint

SAVED = {
    "ballistic": "plain", "belief, all options": "plain", "navigator": "plain", "uncertain, sampled": "sampled",
}  # fmt: skip
CHECKPOINTS = [
    *((name, torch.float64) for name in SAVED),
    *((name, torch.bfloat16) for name in ("belief, all options", "uncertain, sampled")),
]


def check_checkpoints_continue(rank: int, folder: Path) -> None:
    """Save, load into fresh objects, go on: bit for bit. The test's own process loads the same files, unsharded."""
    for name, dtype in CHECKPOINTS:
        how = SAVED[name]
        model = sharded(dtype)
        optimizer = MAKERS[name](model.parameters())
        train(model, optimizer, range(4), part=rank, how=how)
        where = folder / f"{name}-{dtype}".replace(" ", "_")
        saved = {"model": get_model_state_dict(model), "optim": get_optimizer_state_dict(model, optimizer)}
        dcp.save(saved, checkpoint_id=where)
        loaded = sharded(dtype)
        with torch.no_grad():
            for p in loaded.parameters():
                p.mul_(0.5)
        fresh = MAKERS[name](loaded.parameters())
        saved = {"model": get_model_state_dict(loaded), "optim": get_optimizer_state_dict(loaded, fresh)}
        dcp.load(saved, checkpoint_id=where)
        set_model_state_dict(loaded, saved["model"])
        set_optimizer_state_dict(loaded, fresh, saved["optim"])
        options = StateDictOptions(full_state_dict=True)
        third = sharded(dtype)
        flat = MAKERS[name](third.parameters())
        set_model_state_dict(third, get_model_state_dict(model, options=options), options=options)
        set_optimizer_state_dict(
            third, flat, copy.deepcopy(get_optimizer_state_dict(model, optimizer, options=options)), options=options
        )
        for m, o in ((model, optimizer), (loaded, fresh), (third, flat)):
            train(m, o, range(4, 7), part=rank, how=how)
        assert torch.equal(vector(model), vector(loaded)), f"{name}, {dtype}"
        assert torch.equal(vector(model), vector(third)), f"{name}, {dtype}: from a full state"
        result = vector(model)
        if rank == 0:
            torch.save(result, where.with_name(where.name + ".result"))


def check_an_unsharded_state_may_be_loaded(rank: int, folder: Path) -> None:
    for name in ("uncertain, sampled", "belief", "navigator, a function"):
        joint, model = Net(), sharded()
        joint_optimizer, optimizer = MAKERS[name](joint.parameters()), MAKERS[name](model.parameters())
        train(joint, joint_optimizer, range(3), how=how_of(name))
        with torch.no_grad():
            for p, w in zip(model.parameters(), joint.parameters(), strict=True):
                p.copy_(distribute_tensor(w.detach(), p.device_mesh, p.placements))
        optimizer.load_state_dict(copy.deepcopy(joint_optimizer.state_dict()))
        train(joint, joint_optimizer, range(3, 6), how=how_of(name))
        train(model, optimizer, range(3, 6), part=rank, how=how_of(name))
        torch.testing.assert_close(vector(model), vector(joint), rtol=1e-9, atol=1e-11)


# ZeroRedundancyOptimizer


def check_zero_equals_ddp(rank: int, folder: Path) -> None:
    """Resets, borrowed priors and all: what one process keeps for another changes nothing, named or not."""
    cases: dict[str, Any] = {
        "resets": (Uncertain, {**SAMPLED, "sample": False}, lambda m: m.parameters()),
        "named": (
            Uncertain, {**SAMPLED, "sample": False},
            lambda m: [{"params": list(m.parameters()), "param_names": [name for name, _ in m.named_parameters()]}],
        ),
        "groups": (
            Uncertain, {**SAMPLED, "sample": False},
            lambda m: [{"params": list(x.parameters())} for x in (m.second, nn.ModuleList((m.third, m.first)))],
        ),
        "function": (Navigator, {"curvature": steepness, "gamma": 1.0}, lambda m: m.parameters()),
        "belief": (Belief, {"lr": 0.01}, lambda m: m.parameters()),
        "AdamW": (torch.optim.AdamW, {}, lambda m: m.parameters()),
    }  # fmt: skip
    for name, (rule, options, groups) in cases.items():
        plain, spread = Net(), Net()
        ddp, zero = DistributedDataParallel(plain), DistributedDataParallel(spread)
        optimizers = rule(groups(plain), **options), ZeroRedundancyOptimizer(groups(spread), rule, **options)
        train(ddp, optimizers[0], range(6), part=rank)
        train(zero, optimizers[1], range(6), part=rank)
        assert torch.equal(vector(plain), vector(spread)), name
        optimizers[1].consolidate_state_dict(to=0)
        resumed = rule(groups(spread), **options)
        if rank == 0:  # the consolidated state is that of the plain optimizer
            resumed.load_state_dict(optimizers[1].state_dict())
            for p, q in zip(plain.parameters(), spread.parameters(), strict=True):
                for key, value in optimizers[0].state[p].items():
                    found = resumed.state[q][key]
                    assert torch.equal(found, value) if torch.is_tensor(value) else found == value, f"{name}: {key}"


def check_zero_refuses_what_it_cannot(rank: int, folder: Path) -> None:
    for rule, options in ((Uncertain, {"sample": True}), (Navigator, {"curvature": "hutchinson"})):
        message = refusal(ZeroRedundancyOptimizer, Net().parameters(), rule, **options)
        assert "ZeroRedundancyOptimizer" in message and "but it must be" in message
    zero = ZeroRedundancyOptimizer(Net().parameters(), Uncertain)
    assert "ZeroRedundancyOptimizer" in refusal(zero.optim.sampled().__enter__)


def check_one_alone_does_not_hang(rank: int, folder: Path) -> None:
    """The last: its messages are never answered. The group has a short patience of its own."""
    group = dist.new_group(timeout=datetime.timedelta(seconds=2))
    if rank == 0:
        model = Net()
        optimizer = Navigator(model.parameters(), curvature="hutchinson", process_group=group)
        message = refusal(optimizer.observe, loss(model, *data(0)))
        assert "if this one trains alone, pass process_group=None" in message, message


def checks() -> dict[str, Any]:
    return {name.removeprefix("check_"): do for name, do in globals().items() if name.startswith("check_")}


def main(rank: int, folder: Path, *names: str) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    store = dist.FileStore(str(folder / "store"), SIZE)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=SIZE, timeout=TIMEOUT)
    report: dict[str, str] = {}
    for name, check in ((n, c) for n, c in checks().items() if not names or n in names):
        start = time.process_time()
        try:
            check(rank, folder)
            report[name] = "ok"
        except Exception:
            report[name] = traceback.format_exc()
        (folder / f"report-{rank}.json").write_text(json.dumps(report))
        print(f"{rank} {name}: {report[name]} ({time.process_time() - start:.1f} s)", flush=True)
        store.set(f"{name}-{rank}", report[name])
        if any(store.get(f"{name}-{process}") != b"ok" for process in range(SIZE)):
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
