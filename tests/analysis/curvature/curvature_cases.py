"""Models, losses and data of every kind, and their curvature from finite differences of gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from lossnav import models


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[], nn.Module]
    loss: Callable[[Tensor, Tensor], Tensor]
    batches: list[tuple[Tensor, Tensor]]

    def model(self) -> nn.Module:
        return self.build().double()


def labelled(shape: tuple[int, ...], sizes: tuple[int, ...], classes: int = 3) -> list[tuple[Tensor, Tensor]]:
    """Return batches of different lengths."""
    draw = torch.Generator().manual_seed(5)
    return [
        (torch.randn(n, *shape, generator=draw).double(), torch.randint(0, classes, (n,), generator=draw))
        for n in sizes
    ]


def regression(inputs: int, outputs: int, sizes: tuple[int, ...]) -> list[tuple[Tensor, Tensor]]:
    draw = torch.Generator().manual_seed(6)
    return [
        (torch.randn(n, inputs, generator=draw).double(), torch.randn(n, outputs, generator=draw).double())
        for n in sizes
    ]


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)
        self.two.weight = self.one.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.two(torch.tanh(self.one(x)))


def _seeded(build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    def built() -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            return build()

    return built


def _normalised() -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Dropout(0.5), nn.Linear(6, 3))
    model(torch.randn(50, 4))  # statistics that are not 0 and 1
    return model.eval()


CASES = [
    Case("tanh", _seeded(lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))), cross_entropy,
         labelled((4,), (7, 3, 5))),
    Case("linear", _seeded(lambda: nn.Linear(4, 3)), mse_loss, regression(4, 3, (9, 4))),
    Case("tied", _seeded(Tied), mse_loss, regression(4, 4, (6,))),
    Case("convolutions", _seeded(lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.Softplus(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 3)
    )), cross_entropy, labelled((1, 4, 4), (4, 3))),
    Case("evaluated", _seeded(_normalised), cross_entropy, labelled((4,), (6, 2))),
    Case("transformer", lambda: models.vit(1, 4, 3, patch=2, width=4, depth=1, heads=2, seed=0), cross_entropy,
         labelled((1, 4, 4), (5, 2))),
    Case("torch's transformer", _seeded(lambda: nn.Sequential(
        nn.TransformerEncoderLayer(4, 2, 4, dropout=0.0, activation="gelu", batch_first=True), nn.Flatten(),
        nn.Linear(8, 3),
    )), cross_entropy, labelled((2, 4), (5, 2))),
]  # fmt: skip


def gradients(case: Case, model: nn.Module) -> Tensor:
    """Return the gradient of each example's loss, (N, D), by one backward pass for each."""
    rows = []
    for x, y in case.batches:
        for k in range(len(x)):
            model.zero_grad()
            case.loss(model(x[k : k + 1]), y[k : k + 1]).backward()
            rows.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    return torch.stack(rows)


def differences(case: Case, step: float = 1e-4) -> Tensor:
    """Return the Hessian of the mean loss, (D, D), from central differences of gradients, error O(step⁴)."""
    if case.name not in _FOUND:
        _FOUND[case.name] = _differences(case, step)
    return _FOUND[case.name]


_FOUND: dict[str, Tensor] = {}


def _differences(case: Case, step: float) -> Tensor:
    model = case.model()
    params = list(model.parameters())
    x, y = (torch.cat(part) for part in zip(*case.batches, strict=True))

    def slope() -> Tensor:
        model.zero_grad()
        case.loss(model(x), y).backward()
        return torch.cat([p.grad.flatten() for p in params])

    columns = []
    for p in params:
        flat = p.data.view(-1)
        for i in range(p.numel()):
            at, value = {}, flat[i].item()
            for k in (-2, -1, 1, 2):
                flat[i] = value + k * step
                at[k] = slope()
            flat[i] = value
            columns.append((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step))
    return torch.stack(columns, dim=1)
