"""A small network with a fixed stream of batches; also the other end of the fresh-process test."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from optim_table import ROWS
from torch import Tensor, nn


def network(seed: int = 0, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).to(dtype)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=generator, dtype=torch.float64))
    return model


@cache
def batch(step: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1000 + step)
    x = torch.randn(11, 5, generator=generator, dtype=torch.float64).to(dtype)
    return x, torch.randn(11, 3, generator=generator, dtype=torch.float64).to(dtype)


def loss(model: nn.Module, step: int) -> Tensor:
    x, y = batch(step, next(model.parameters()).dtype)
    return ((model(x) - y) ** 2).mean()


def advance(model: nn.Module, optimizer: Any, steps: Iterable[int]) -> None:
    for step in steps:
        optimizer.zero_grad()
        loss(model, step).backward()
        optimizer.step()


def vector(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def assert_resumes(make: Any, again: Any, walk: Any, first: int, last: int) -> None:
    """A run that is loaded into what ``again`` makes, and a pickled one, go on bit for bit as one that is not cut.

    All of them draw without torch's generator.
    """
    model, twin = network(), network()
    optimizer, resumed, state = make(model.parameters()), again(twin.parameters()), torch.get_rng_state()
    walk(model, optimizer, range(first))
    twin.load_state_dict(model.state_dict())
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    copied, copied_optimizer = pickle.loads(pickle.dumps((model, optimizer)))
    for pair in ((model, optimizer), (twin, resumed), (copied, copied_optimizer)):
        walk(*pair, range(first, last))
    assert torch.equal(vector(model), vector(twin)) and torch.equal(vector(model), vector(copied))
    assert torch.equal(state, torch.get_rng_state())


def resume(checkpoint: Path) -> None:
    """Load a checkpoint made elsewhere, take steps 10 … 19, save weights and state beside it."""
    saved = torch.load(checkpoint, weights_only=True)
    row = next(row for row in ROWS if row.name == saved["row"])
    model = network(seed=99, dtype=saved["dtype"])
    model.load_state_dict(saved["model"])
    optimizer = row.make(model.parameters(), **row.code)  # its options come with the state
    optimizer.load_state_dict(saved["optimizer"])
    advance(model, optimizer, range(10, 20))
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint.with_suffix(".result"))


def resume_all(folder: str) -> None:
    for checkpoint in sorted(Path(folder).glob("*.checkpoint")):
        resume(checkpoint)
