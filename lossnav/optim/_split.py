"""The parameters of a network in two groups: weight matrices, and what has no use for rows and columns."""

from __future__ import annotations

from collections.abc import Collection, Set
from typing import Any

from torch import nn

from lossnav._checks import sequence
from lossnav._tensors import module

_TABLES = (nn.Embedding, nn.EmbeddingBag)


def split(model: nn.Module, *, leave: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the parameters of a network as two groups for ``BallisticMatrix``: matrices, and all else.

    A rule for matrices takes every row of a gradient for one of a sample. In an embedding most rows of a batch's
    gradient are zero, and the few others would be moved by all the length that the table may go; the head's rows are
    classes, most of them rare. Both are left to a belief about each weight by itself, as users of Muon do by hand, with
    vectors and numbers (biases, gains) and what is one row or column (a class token, a table of places of shape
    (1, N, D)).

    Args:
        model: the network.
        leave: names of modules or parameters, as ``named_modules`` and ``named_parameters`` say them, that are left to
            the second group with all that is in them, beside embeddings and vectors. None: the head, which is the last
            module in the order of ``named_modules`` that has a matrix and is no embedding. () leaves no head.

    Returns:
        Two groups of named parameters; the second has ``curvature="diagonal"``. One that is empty is left out. A matrix
        that modules share (a head tied to an embedding) goes where one of them leaves it.

    Raises:
        ValueError: ``model`` is no module with parameters that have shapes, or a name in ``leave`` is none of its.

    Example:
        >>> from torch import nn
        >>> from lossnav import optim
        >>> model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 9))
        >>> [[name for name, _ in group["params"]] for group in optim.split(model)]
        [['1.weight'], ['0.weight', '1.bias', '3.weight', '3.bias']]
        >>> optimizer = optim.BallisticMatrix(optim.split(model), weight_decay=0.01)
    """
    module("model", model)
    modules = dict(model.named_modules())
    named = dict(model.named_parameters(remove_duplicate=False))
    if leave is None:
        matrices = [key for key, part in modules.items() if not isinstance(part, _TABLES) and _has_matrix(part)]
        leave = matrices[-1:]
    listed = list(leave) if isinstance(leave, Set) else leave
    for index, name in enumerate(sequence("leave", listed, "names of modules or parameters")):
        if not isinstance(name, str) or (name not in modules and name not in named):
            raise ValueError(
                f"leave[{index}] = {name!r}, but it must be the name of a module or parameter of the model"
            )
    left = {id(p) for part in modules.values() if isinstance(part, _TABLES) for p in part.parameters()}
    left |= {id(p) for name in leave for p in (modules[name].parameters() if name in modules else (named[name],))}
    named_groups: tuple[list[Any], list[Any]] = ([], [])
    for name, p in model.named_parameters():
        if nn.parameter.is_lazy(p):
            raise ValueError(f"model has no shape for {name!r} yet, but it must have: show the network a batch first")
        named_groups[_is_line(p) or id(p) in left].append((name, p))
    groups: list[dict[str, Any]] = [{"params": named_groups[0]}, {"params": named_groups[1], "curvature": "diagonal"}]
    return [group for group in groups if group["params"]]


def _has_matrix(part: nn.Module) -> bool:
    return any(p.ndim > 1 for p in part.parameters(recurse=False))


def _is_line(p: nn.Parameter) -> bool:
    return p.ndim < 2 or 1 in (len(p), p.numel() // max(len(p), 1))
