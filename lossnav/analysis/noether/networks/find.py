"""Find symmetries from gradients alone, whatever the model is made of.

A group of weights with generator ξ is a symmetry of the loss only if ⟨∇f, ξ⟩ = 0, for every batch. Both are sums over
entries, so that each row and column of a parameter has one number a batch, Σ g·w, its *pull*: scale-invariant rows pull
0, a rescale pair pulls alike. What agrees so for several random batches is then tried out: it is mapped by random
factors, and the loss has to stay.

All this happens beside the model's own weights, at a random point near them: a symmetry holds everywhere, but biases
that are all 0 and scales that are all 1, as they are before training, agree by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor, nn

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.noether.networks.blocks import Block, Family
from lossnav.analysis.noether.networks.probe import Group, Loss, Probe, both


def find_symmetries(
    model: nn.Module,
    loss: Loss,
    batch: tuple[Tensor, Tensor],
    *,
    training: bool = True,
    probes: int = 4,
    rtol: float = 1e-6,
    seed: int = 0,
) -> tuple[Family, ...]:
    r"""Return the groups of weights of a torch model that can be scaled, rescaled or shifted without a change of loss.

    - scale: the finest runs of rows of a weight (with those of the bias, where only both together can be scaled) that
      precede a normalisation: single rows before BatchNorm, runs before GroupNorm, all before LayerNorm.
    - rescale: rows of one parameter (and its bias) against rows or columns of another, or of the same: ReLU units,
      rows of queries against those of keys, values against the projection.
    - translation: runs of rows of a weight or a bias: all before a softmax or a LayerNorm, some before a GroupNorm.

    The model is copied, in float64 on the CPU, and is not changed. The ε of its normalisation layers is taken away for
    the search (one that is written into a forward pass stays: raise ``rtol``). What the loss does not feel at all on
    this batch (a bias before BatchNorm, a dead unit) is in no group. Symmetries that mix entries, such as the rotations
    of queries and keys, are not looked for, and neither are groups that span more than one layer.

    Args:
        model: a module; as it trains, unless ``training`` is False.
        loss: (outputs, targets) → scalar.
        batch: inputs and targets, at least four examples; random halves of it are probed.
        training: whether normalisation and dropout act as in training. In evaluation BatchNorm is no normalisation.
        probes: how many halves are taken, >= 2.
        rtol: ⟨∇f, ξ⟩ relative to \|∇f|\|ξ| that counts as zero, in (0, 1).
        seed: of the halves, the random maps, and dropout.

    Returns:
        Families of groups, each verified; in the order of the model's parameters.

    Raises:
        ValueError: an argument is out of range, or the loss is no finite scalar that depends on the weights.

    Example:
        >>> block = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, affine=False), nn.Linear(4, 2, bias=False))
        >>> x, y = torch.randn(16, 3, generator=torch.Generator().manual_seed(0)), torch.arange(16) % 2
        >>> [(found.kind, found.names) for found in find_symmetries(block, nn.functional.cross_entropy, (x, y))]
        [('scale', ('0.weight',)), ('translation', ('2.weight',))]

    References:
        Tanaka and Kunin (2021) list the symmetries; the search is ours.
    """
    probe = Probe(model, loss, batch, training, _checks.whole("probes", probes, low=2), _checks.seed("seed", seed))
    _checks.finite("rtol", rtol, low=0.0, high=1.0, open_low=True, open_high=True)
    grads = probe.gradients()
    candidates = [*_scales(probe, grads, rtol), *_rescales(probe, grads, rtol), *_shifts(probe, grads, rtol)]
    probe.restore()
    own_grads = probe.gradients()
    families = []
    for kind, groups, partners, change in candidates:
        pulls = [_pull(kind, probe.values, own_grads, group, partner) for group, partner in both(groups, partners)]
        families.append(Family(kind, groups, partners, max(pulls), change))
    order = {name: place for place, name in enumerate(probe.values)}
    return tuple(sorted(families, key=lambda family: order[family.names[0]]))


def _scales(probe: Probe, gradients: Mapping[str, Array], rtol: float) -> Iterator[tuple[Any, ...]]:
    """Yield what can be scaled: runs of rows of one parameter, or of all parameters of a layer together."""
    for names in probe.layers():
        alone = False
        for name in names:
            groups: tuple[Group, ...]
            groups = tuple((Block(name, 0, a, b),) for a, b in _runs(*_rows(probe, gradients, [name]), rtol))
            found = list(_verified(probe, "scale", groups, (), rtol))
            alone = alone or bool(found)
            yield from found
        felt = [name for name in names if np.any(gradients[name])]
        if len(felt) > 1 and not alone:
            runs = _runs(*_rows(probe, gradients, felt), rtol)
            groups = tuple(tuple(Block(name, 0, a, b) for name in felt) for a, b in runs)
            yield from _verified(probe, "scale", groups, (), rtol)


def _rows(probe: Probe, gradients: Mapping[str, Array], names: list[str]) -> tuple[Array, Array]:
    """Return the pull of each row, (rows, probes), and |g||w|, with which it compares."""
    pulls, sizes = 0.0, 0.0
    for name in names:
        g, w = gradients[name], probe.values[name].numpy()
        g, w = g.reshape(len(g), len(w), -1), w.reshape(len(w), -1)
        pulls = pulls + np.einsum("pij,ij->ip", g, w)
        sizes = sizes + np.linalg.norm(g, axis=2).T * np.linalg.norm(w, axis=1)[:, None]
    return np.asarray(pulls), np.asarray(sizes)


def _runs(pulls: Array, sizes: Array, rtol: float) -> list[tuple[int, int]]:
    """Return the finest runs of consecutive rows whose pulls, (rows, numbers), add up to zero beside their sizes.

    A row whose sizes are zeros is not felt and belongs to no run of its own.
    """
    felt = np.any(sizes > 0, axis=1)
    single = felt & np.all(np.abs(pulls) <= rtol * sizes, axis=1)
    runs, start, total, scale = [], None, 0.0, 0.0
    for row in range(len(pulls)):
        if single[row] or (start is None and not felt[row]):
            runs += [(row, row + 1)] if single[row] else []
            start = None
            continue
        if start is None:
            start, total, scale = row, 0.0, 0.0
        total, scale = total + pulls[row], scale + sizes[row]
        if np.all(np.abs(total) <= rtol * scale):
            runs.append((start, row + 1))
            start = None
    return runs


def _rescales(probe: Probe, gradients: Mapping[str, Array], rtol: float) -> Iterator[tuple[Any, ...]]:
    """Yield pairs of groups that pull alike, by the parameters that they lie in."""
    units, pulls, sizes = _units(probe, gradients)
    strong = np.linalg.norm(pulls, axis=1) > 100 * rtol * np.linalg.norm(sizes, axis=1)
    units, pulls = [unit for unit, keep in zip(units, strong, strict=True) if keep], pulls[strong]
    if not units:
        return
    length = np.linalg.norm(pulls, axis=1, keepdims=True)
    tree = scipy.spatial.cKDTree(np.hstack([pulls / length, np.log(length)]))
    pairs: dict[Any, list[tuple[Group, Group]]] = defaultdict(list)
    taken: set[tuple[int, str]] = set()
    for i, j in sorted(tree.query_pairs(100 * rtol)):
        first, second = units[i], units[j]
        if any(a.overlaps(b) for a in first for b in second) or (i, "first") in taken or (j, "second") in taken:
            continue  # what is alike three times is linked in a chain
        taken |= {(i, "first"), (j, "second")}
        key = (tuple((b.name, b.axis) for b in first), tuple((b.name, b.axis) for b in second))
        pairs[key].append((first, second))
    for matches in pairs.values():
        yield from _verified(probe, "rescale", tuple(a for a, _ in matches), tuple(b for _, b in matches), rtol)


def _units(probe: Probe, gradients: Mapping[str, Array]) -> tuple[list[Group], Array, Array]:
    """Return what may be one side of a pair, with its pull and what that compares with, (units, probes)."""
    units: list[Group] = []
    pulls, sizes = [], []
    counts = {len(value) for value in probe.values.values() if value.ndim}

    def add(groups: list[Group], pull: Array, size: Array) -> None:
        units.extend(groups)
        pulls.append(pull)
        sizes.append(size)

    for names in probe.layers():
        felt = [name for name in names if np.any(gradients[name])]
        # A unit of a layer: one row of all its tensors together, or of one of them alone.
        for chosen in [felt] if len(felt) == 1 else [felt, *([name] for name in felt)]:
            if chosen:
                count = len(probe.values[chosen[0]])
                groups = [tuple(Block(name, 0, i, i + 1) for name in chosen) for i in range(count)]
                add(groups, *_rows(probe, gradients, chosen))
        for name in felt:
            w = probe.values[name].numpy()
            if w.ndim < 2:
                continue
            # What comes from a unit of the layer before: a column, or as many as one of its units has.
            columns = w.shape[1]
            pull, size = _columns(gradients[name], w)
            for width in {1} | {columns // n for n in counts if columns % n == 0 and 1 < columns // n < columns}:
                groups = [(Block(name, 1, i, i + width),) for i in range(0, columns, width)]
                together = (part.reshape(columns // width, width, -1).sum(1) for part in (pull, size))
                add(groups, *together)
    return units, np.concatenate(pulls), np.concatenate(sizes)


def _columns(gradient: Array, weight: Array) -> tuple[Array, Array]:
    g, w = gradient.reshape(*gradient.shape[:3], -1), weight.reshape(*weight.shape[:2], -1)
    size = np.sqrt(np.einsum("pijk,pijk->jp", g, g) * np.einsum("ijk,ijk->j", w, w)[:, None])
    return np.einsum("pijk,ijk->jp", g, w), size


def _shifts(probe: Probe, gradients: Mapping[str, Array], rtol: float) -> Iterator[tuple[Any, ...]]:
    """Yield runs of rows that can be shifted together: the rows of the gradient add up to zero."""
    for name, gradient in gradients.items():
        if gradient.ndim > 1:
            rows = np.moveaxis(gradient, 1, 0).reshape(gradient.shape[1], -1)
            sizes = np.broadcast_to(np.abs(rows).max(axis=1, initial=0.0, keepdims=True), rows.shape)
            groups = tuple((Block(name, 0, a, b),) for a, b in _runs(rows, sizes, rtol))
            yield from _verified(probe, "translation", groups, (), rtol)


def _verified(
    probe: Probe, kind: str, groups: tuple[Group, ...], partners: tuple[Group, ...], rtol: float
) -> Iterator[tuple[Any, ...]]:
    """Yield a candidate with the change of the losses under its maps, without the groups that fail, unless all do."""
    if not groups:
        return
    change = probe.change(kind, groups, partners)
    if not change <= rtol:
        good = [
            (group, partner) for group, partner in both(groups, partners)
            if probe.change(kind, (group,), (partner,) if partner else ()) <= rtol
        ]  # fmt: skip
        if len(good) < len(groups):
            groups = tuple(group for group, _ in good)
            partners = tuple(partner for _, partner in good if partner)
            yield from _verified(probe, kind, groups, partners, rtol)
        return
    yield kind, groups, partners, change


def _pull(kind: str, values: Mapping[str, Tensor], gradients: Mapping[str, Array], group: Group, other: Group) -> float:
    """Return the largest |⟨g, ξ⟩|/|g||ξ| over the probes."""
    along, force, reach = 0.0, 0.0, 0.0
    for block, sign in [*((block, 1.0) for block in group), *((block, -1.0) for block in other)]:
        part = block.of(values).numpy()
        g = block.of({block.name: torch.from_numpy(gradients[block.name]).movedim(0, -1)}).movedim(-1, 0).numpy()
        field = np.ones_like(part) if kind == "translation" else sign * part
        g, field = g.reshape(len(g), -1), field.reshape(-1)
        along, force, reach = along + g @ field, force + (g**2).sum(1), reach + float(field @ field)
    if not reach or not np.any(force):
        return 0.0
    return float(np.max(np.abs(along) / np.sqrt(np.where(force > 0, force, np.inf) * reach)))
