"""Sizes, speeds and angles of groups of weights, recorded while a model is trained."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from lossnav import _tensors
from lossnav._checks import Array, flag, instance
from lossnav.analysis.noether.networks.blocks import Family


class Recorder:
    """Follows the groups of a family while something else trains the model: call ``update`` after every step.

    Args:
        model: whose parameters the family names.
        family: one of ``find_symmetries``.
        together: whether the groups are followed as one: what scales each scales all of them.

    Attributes, as arrays of shape (T + 1, groups) from the moment it was made on, or (T, groups):
        size: r² = |θ|² of each group; of a pair |θ₁|² − |θ₂|².
        step: |Δθ|² of each step, (T, groups); of a pair the difference. Over η² it is \\|v|².
        along: ⟨θ, Δθ⟩ at the end of each step, (T, groups). Over η it is the charge u.
        angle: between successive directions of each group, (T, groups), in radians; for "scale" only.

    Raises:
        ValueError: an argument is of no such kind, or the model lacks a parameter.
    """

    def __init__(self, model: nn.Module, family: Family, *, together: bool = False) -> None:
        _tensors.module("model", model)
        self._family = instance("family", family, Family, "a Family, which find_symmetries returns")
        values = dict(model.named_parameters())
        missing = {*family.names, *family.partner_names} - set(values)
        if missing:
            raise ValueError(f"model has no parameters {sorted(missing)}, but the family lies in them")
        self._values, self._count = values, 1 if flag("together", together) else len(family.groups)
        self._places = []
        for sign, side in ((1.0, family.groups), (-1.0, family.partners)):
            for index, group in enumerate(side):
                self._places += [(sign, 0 if together else index, block) for block in group]
        self._labels = self._index()
        self._before = self._copies()
        self._sizes = [self._sums(self._before, self._before)[0]]
        self._steps: list[Array] = []
        self._alongs: list[Array] = []

    def update(self) -> None:
        """Take note of the step that was made since the last call."""
        now = self._copies()
        size, step, along = self._sums(now, self._before)
        self._sizes.append(size)
        self._steps.append(step)
        self._alongs.append(along)
        self._before = now

    @property
    def size(self) -> Array:
        """Return r², (T + 1, groups)."""
        return np.array(self._sizes)

    @property
    def step(self) -> Array:
        """Return |Δθ|², (T, groups)."""
        return np.array(self._steps).reshape(-1, self._count)

    @property
    def along(self) -> Array:
        """Return ⟨θ, Δθ⟩ at the end of each step, (T, groups)."""
        return np.array(self._alongs).reshape(-1, self._count)

    @property
    def angle(self) -> Array:
        """Return the angle of each step in radians, (T, groups)."""
        if self._family.kind != "scale":
            raise ValueError(
                f"family is of the kind {self._family.kind!r}, but only a scale-invariant one has an angle"
            )
        size, step = self.size, self.step
        r = np.sqrt(size)
        growth = (2 * self.along - step) / (r[1:] + r[:-1])  # r' − r, without cancellation
        chord = np.sqrt(np.maximum(step - growth**2, 0.0) / (r[1:] * r[:-1]))
        return 2 * np.arcsin(np.minimum(chord / 2, 1.0))

    def _index(self) -> dict[tuple[str, int, float], Tensor]:
        """Return for each parameter, axis and sign which group each of its rows belongs to; ``_count`` is none."""
        labels: dict[tuple[str, int, float], Tensor] = {}
        for sign, index, block in self._places:
            key = (block.name, block.axis, sign)
            if key not in labels:
                value = self._values[block.name]
                labels[key] = torch.full((value.shape[block.axis],), self._count, device=value.device)
            labels[key][block.start : block.stop] = index
        return labels

    def _copies(self) -> dict[tuple[str, int], Tensor]:
        """Return copies of the parameters as matrices, with the groups along the rows."""
        matrices = {}
        for name, axis in {(name, axis) for name, axis, _ in self._labels}:
            rows = self._values[name].detach().movedim(axis, 0)
            matrices[name, axis] = rows.reshape(len(rows), -1).to(torch.float64, copy=True)
        return matrices

    def _sums(self, now: dict[tuple[str, int], Tensor], before: dict[tuple[str, int], Tensor]) -> Array:
        """Return |θ|², |Δθ|² and ⟨θ, Δθ⟩ of each group, (3, groups), at once: what a call costs is calls of torch."""
        total = np.zeros((3, self._count))
        for (name, axis, sign), label in self._labels.items():
            theta = now[name, axis]
            moved = theta - before[name, axis]
            products = torch.stack([theta * theta, moved * moved, theta * moved]).sum(2)
            sums = products.new_zeros(3, self._count + 1).index_add_(1, label, products)
            total += sign * sums[:, :-1].cpu().numpy()
        return total
