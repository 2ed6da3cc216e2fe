"""Every optimizer and every loop on a device that is not the CPU: ``second_device.py`` says how one is had.

A check runs in a process of its own. Where tensors of two devices met it would raise; what it reads back is counted.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import second_device as second
import torch
from optim_problem import advance, batch, network, vector
from optim_table import ROWS
from torch.nn.functional import mse_loss

import lossnav as ln
from lossnav import data, ensemble, models, moving, optim, training
from lossnav.lab.streams import Permuted, networks
from lossnav.lab.streams import run as run_stream
from lossnav.lab.training import loop

CPU = torch.device("cpu")
SEEN = 8  # steps; in the sixth and seventh no bases turn by eigenvectors, of which flags are read


def derived(params: Any, **options: Any) -> torch.optim.Optimizer:
    rule = ln.derive(
        ln.Objective(gamma=1e-3), belief=ln.assume.Filter(0.9), curvature=ln.assume.SecondMoment(0.999), dt=0.01
    )
    return rule.optimizer(params, **options)


# a fused step of another device than the CPU is torch.compile's, which knows this one not
RULES: dict[str, Callable[..., Any]] = {
    "derived": derived,
    "hutchinson": lambda p, **more: optim.Navigator(p, curvature="hutchinson", **more),
    "uncertain, sampled": lambda p, **more: optim.Uncertain(p, temperature=0.1, sample=True, **more),
    **{row.name: row for row in ROWS if "fused" not in row.options and "reference" not in row.name},
    "matrix, polar": lambda p, **more: optim.BallisticMatrix(p, root="iterated", **more),  # as "auto" is in float32
}


def step(model: torch.nn.Module, optimizer: Any, number: int, place: torch.device) -> None:
    """Take a step on a batch, in a way that any rule goes."""
    x, y = (part.to(place) for part in batch(number, torch.float64))
    optimizer.zero_grad()
    sampled = any(group.get("sample") for group in optimizer.param_groups)
    with optimizer.sampled() if sampled else warnings.catch_warnings():
        loss = mse_loss(model(x), y)
        if getattr(optimizer, "curvature", None) == "hutchinson":
            optimizer.observe(loss)
        loss.backward()
    optimizer.step()


def near(found: torch.Tensor, expected: torch.Tensor, name: str) -> None:
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-9, atol=1e-9, msg=lambda message: f"{name}: {message}")


def on_device(optimizer: Any, place: torch.device, name: str) -> None:
    for parameter, state in optimizer.state.items():
        for key, value in state.items():
            if torch.is_tensor(value) and key != "step":
                assert value.device == parameter.device == place, f"{name}: {key} on {value.device}"


def steps(place: torch.device, foreach: str) -> None:
    for name, make in RULES.items():
        ends = []
        for where in (CPU, place):
            model = network().to(where)
            optimizer = make(model.parameters(), foreach=foreach == "foreach")
            for number in range(SEEN):
                with second.reads() as read:
                    step(model, optimizer, number, where)
                assert not read or number not in (5, 6), f"{name}: {read}"
            on_device(optimizer, where, name)
            ends.append(vector(model))
        near(ends[1], ends[0], name)


def states(place: torch.device) -> None:
    """Two groups, a schedule, and a state that goes from the device to the CPU and back, beside a run on the CPU."""
    for name, make in RULES.items():

        def made(where: torch.device, make: Any = make) -> tuple[Any, Any, Any]:
            model = network().to(where)
            groups = [{"params": model[0].parameters(), "lr": 0.003}, {"params": model[2].parameters()}]
            optimizer = make(groups)
            return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

        stays = made(CPU)
        goes = made(place)
        for first, where in ((0, place), (3, CPU), (6, place)):
            if first:
                before, goes = goes, made(where)
                for old, new in zip(before, goes, strict=True):
                    new.load_state_dict(copy.deepcopy(old.state_dict()))
                if hasattr(before[1], "curvature") and callable(before[1].curvature):
                    goes[1].curvature = before[1].curvature
                on_device(goes[1], where, name)
            for (model, optimizer, schedule), at in ((goes, where), (stays, CPU)):
                for number in range(first, first + 3):
                    step(model, optimizer, number, at)
                    schedule.step()
            near(vector(goes[0]), vector(stays[0]), name)


def trains(place: torch.device, name: str) -> None:
    """The host waits once in so many steps, and as often in an epoch's end whatever its length."""
    dataset = data.load(name)
    loop._CHECK_EVERY = 2
    augment = data.CropFlip() if name == "cifar10" else None

    def run(where: torch.device, examples: int) -> tuple[Any, torch.Tensor, list[str]]:
        part = dataset.head(examples, 32)
        model = models.cnn(3, 32, 10, seed=0) if name == "cifar10" else models.mlp(part.inputs, (16,), seed=0)
        rule = optim.Ballistic(model.to(where).parameters(), lr=1e-3)
        with second.reads() as read:
            history = training.train(
                model, part, rule, epochs=1, batch_size=8, seed=0, device=where, progress=False, augment=augment,
                precision="float32",
            )  # fmt: skip
        return history, vector(model).cpu(), read

    (here, expected, _), (there, weights, read), (_, _, more) = run(CPU, 32), run(place, 32), run(place, 64)
    torch.testing.assert_close(weights, expected, rtol=1e-4, atol=1e-5)
    assert there.step_loss == pytest.approx(here.step_loss, rel=1e-4)
    assert there.test_loss == pytest.approx(here.test_loss, rel=1e-4)
    assert len(more) - len(read) == 2, f"{read} in 4 steps, {more} in 8"  # two more intervals of two steps


def members(place: torch.device) -> None:
    digits, ends = data.load("digits").head(128, 64), []
    for where in (CPU, place):
        nets = [models.mlp(digits.inputs, (8,), seed=s) for s in range(2)]
        histories = ensemble.train(
            nets, digits, optim.Ballistic, epochs=1, batch_size=32, seeds=[0, 1], device=where, progress=False
        )
        ends.append([history.test_loss[-1] for history in histories])
    assert ends[1] == pytest.approx(ends[0], rel=1e-5)


def streams(place: torch.device) -> None:
    digits, ends = data.load("digits"), []
    for where in (CPU, place):
        stream = Permuted(digits, (0, 1), examples=64)
        net = networks.perceptrons(stream.inputs, (8,), 10, seeds=(0, 1)).to(where)
        ends.append(run_stream(net, optim.Belief(net.parameters()), stream, tasks=2, clip=1.0, progress=False))
    torch.testing.assert_close(ends[1].scores, ends[0].scores, rtol=0, atol=0.04)  # of 64 examples, two at most
    assert ends[1].finite.all()


def watches(place: torch.device) -> None:
    ends = []
    for where in (CPU, place):
        net = network().to(where)
        x, y = (part.to(where) for part in batch(0, torch.float64))

        def value(net: Any = net, x: Any = x, y: Any = y) -> torch.Tensor:
            return mse_loss(net(x), y)

        optimizer = optim.Ballistic(net.parameters(), lr=0.01)
        with ln.watch(optimizer, value, every=2, lanczos=8) as watch:
            for _ in range(6):
                optimizer.zero_grad()
                loss = value()
                loss.backward()
                watch.note(loss)
                optimizer.step()
        ends.append([*watch.losses, *watch.lengths, watch.regret(), watch.timing()])
    assert ends[1] == pytest.approx(ends[0], rel=1e-6)


def analyses(place: torch.device) -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(200, 2, generator=draw).double() * torch.tensor([1.0, 0.5]).double()
    y = torch.randn(200, 1, generator=draw).double()
    best, ends = torch.linalg.lstsq(x, y).solution.T.contiguous(), []
    for where in (CPU, place):
        model = torch.nn.Linear(2, 1, bias=False).double()
        model.weight.data = best.clone()
        analysis = moving.analyse(
            model.to(where), (x.to(where), y.to(where)), moving.Setting(eta=0.02, beta=0.8, batch=16), loss=mse_loss,
            steps=100, burn=64, modes=2, anyway=True,
        )  # fmt: skip
        ends.append([row.ratio for row in analysis.rows])
    assert ends[1] == pytest.approx(ends[0], rel=1e-6, nan_ok=True)


def default_of_matrices(place: torch.device) -> None:
    model = network(dtype=torch.float32).to(place)
    optimizer = optim.BallisticMatrix(optim.split(model, leave=()))
    for number in range(3):
        mse_loss(model(batch(number, torch.float32)[0].to(place)), torch.zeros(11, 3, device=place)).backward()
        with second.reads() as read:
            optimizer.step()
        assert not read


def meets(place: torch.device) -> None:
    with pytest.raises(RuntimeError, match="at least two devices"):
        torch.ones(2, device=place) + torch.ones(2)
    with second.reads() as read:
        float(torch.ones((), device=place))
        torch.ones(2, device=place).cpu()
    assert read == ["a number", "copy to the host"]
    model = network().to(place)
    advance_is_refused = torch.optim.SGD(model.parameters(), 0.1)
    with pytest.raises(RuntimeError):
        advance(model, advance_is_refused, range(1))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["foreach", "one by one"])
def test_every_optimizer_steps_there_and_reads_nothing_back(second_device, way):
    second_device(steps, way)


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", [states, members, streams, watches, analyses, default_of_matrices], ids=lambda check: check.__name__
)
def test_what_runs_on_the_cpu_runs_there(second_device, check):
    second_device(check)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_training_waits_for_the_device_once_an_interval(second_device, name):
    second_device(trains, name)


@pytest.mark.slow
def test_the_device_knows_its_tensors_from_those_of_the_cpu(second_device):
    second_device(meets)
