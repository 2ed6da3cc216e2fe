"""A model's loss and its gradients on parts of a batch, at and beside its own weights, under maps of groups of them."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lossnav import _checks, _tensors
from lossnav._checks import Array
from lossnav.analysis.noether.networks.blocks import Block

Group = tuple[Block, ...]
Loss = Callable[[Any, Tensor], Tensor]

_EPSILON = 1e-9  # what is left of the ε of normalisation layers while a symmetry is looked for
_BESIDE = 0.1  # how far from the model's own weights it is looked for, relative to each


class Probe:
    """Copies of a model's loss on random halves of a batch, and of its gradients."""

    random: np.random.Generator

    values: dict[str, Tensor]

    def __init__(self, model: nn.Module, loss: Loss, batch: Any, training: bool, probes: int, seed: int) -> None:
        _tensors.module("model", model)
        _checks.function("loss", loss)
        x, y = _pair(batch)
        _checks.flag("training", training)
        self._loss, self._seed = loss, seed
        self._model = copy.deepcopy(model).cpu().double().requires_grad_(True).train(training)
        self._x, self._y = (part.cpu().double() if part.is_floating_point() else part.cpu() for part in (x, y))
        self.values = {name: value.detach() for name, value in self._model.named_parameters()}
        self._buffers = {name: value.clone() for name, value in self._model.named_buffers()}
        generator = torch.Generator().manual_seed(seed)
        self._halves = [torch.randperm(len(x), generator=generator)[: len(x) // 2] for _ in range(probes)]
        self.random = np.random.default_rng(seed % 2**63)
        self._own = {name: value.clone() for name, value in self.values.items()}
        for value in self.values.values():
            size = value.abs()
            size[size == 0] = size[size > 0].median() if size.any() else _BESIDE
            value.add_(_BESIDE * size * torch.randn(value.shape, generator=generator, dtype=value.dtype))
        self._epsilon: list[tuple[Any, Any]] = [
            (part, part.eps) for part in self._model.modules() if isinstance(getattr(part, "eps", None), float)
        ]
        self._set_epsilon(_EPSILON)

    def restore(self) -> None:
        """Give the weights their own values back, and the normalisation layers their own ε."""
        for name, value in self.values.items():
            value.copy_(self._own[name])
        self._set_epsilon(1.0)

    def _set_epsilon(self, factor: float) -> None:
        for module, epsilon in self._epsilon:
            module.eps = factor * epsilon

    def _value(self, half: Tensor) -> Tensor:
        with torch.no_grad():
            for name, buffer in self._model.named_buffers():
                buffer.copy_(self._buffers[name])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)  # the same dropout every time
            loss = self._loss(self._model(self._x[half]), self._y[half])
        if not torch.is_tensor(loss) or loss.ndim or not loss.isfinite():
            raise ValueError(f"loss returned {_checks.shown(loss)}, but it must return a finite scalar tensor")
        return loss

    def losses(self) -> Array:
        """Return the loss on each half."""
        with torch.no_grad():
            return np.array([float(self._value(half)) for half in self._halves])

    @torch.inference_mode(mode=False)
    @torch.enable_grad()
    def gradients(self) -> dict[str, Array]:
        """Return the gradient on each half by parameter, (probes, *shape)."""
        names, leaves = zip(*self._model.named_parameters(), strict=True)
        rows = []
        for half in self._halves:
            value = self._value(half)
            if not value.requires_grad:
                raise ValueError("loss does not depend on the parameters of model, but it must")
            rows.append(torch.autograd.grad(value, leaves, materialize_grads=True))
        return {name: torch.stack(parts).numpy() for name, *parts in zip(names, *rows, strict=True)}

    def change(self, kind: str, groups: tuple[Group, ...], partners: tuple[Group, ...]) -> float:
        """Return the largest relative change of the losses when each group is mapped by its own random amount."""
        originals = {name: value.clone() for name, value in self.values.items()}
        before = self.losses()
        with torch.no_grad():
            for group, partner in both(groups, partners):
                amount = self.random.uniform(0.2, 1.0) * self.random.choice([-1.0, 1.0])
                for block in group:
                    part = block.of(self.values)
                    if kind != "translation":
                        part.mul_(np.exp(amount))
                        continue
                    part.add_(amount * part.abs().mean())
                for block in partner:
                    block.of(self.values).mul_(np.exp(-amount))
            after = self.losses()
            for name, value in self.values.items():
                value.copy_(originals[name])
        return float(np.max(np.abs(after - before) / np.maximum(np.abs(before), 1e-300)))

    def layers(self) -> Iterator[list[str]]:
        """Yield the names of parameters of one module whose first axes are as long: a weight and its bias.

        What is made of a parametrisation's own parameters belongs to the module that has it.
        """
        layers: dict[tuple[str, int], list[str]] = defaultdict(list)
        for name, value in self._model.named_parameters():
            if name in self.values and value.ndim:
                owner, _, inner = name.partition(".parametrizations.")
                layers[owner if inner else name.rpartition(".")[0], len(value)].append(name)
        yield from layers.values()


def both(groups: tuple[Group, ...], partners: tuple[Group, ...]) -> Iterator[tuple[Group, Group]]:
    """Yield each group with its partner, or with none."""
    return zip(groups, partners or ((),) * len(groups), strict=True)


def _pair(batch: Any) -> tuple[Tensor, Tensor]:
    if not (isinstance(batch, tuple | list) and len(batch) == 2 and all(torch.is_tensor(part) for part in batch)):
        raise ValueError(f"batch = {_checks.shown(batch)}, but it must be a pair of tensors, inputs and targets")
    x, y = batch
    _tensors.examples("batch", x, y, least=4)
    return x, y
