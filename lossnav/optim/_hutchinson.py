"""Hutchinson's estimate of the Hessian's diagonal: z ⊙ Hz with random signs z, by Hessian-vector products.

What autograd is asked for, and where it has nothing to say. Whose turn it is, and what is kept of an estimate, is the
optimizer's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lossnav import _random
from lossnav._tensors import tensor
from lossnav.optim import _replicas, _shards

Name = tuple[int, int, int, int]
"""What a draw is named by: seed, parameter, number of the observation, and of its parts that were made before."""


def check_whole(params: Sequence[Tensor], *, dealt: bool) -> None:
    """Raise ``ValueError`` where a process does not see whole parameters; ``dealt``: it has the state of some alone."""
    holder = ""
    if dealt:
        holder = "ZeroRedundancyOptimizer gives each process the state of some parameters alone"
    elif any(_shards.is_sharded(p) or _shards.is_flattened(p) for p in params):
        holder = "a parameter is sharded over processes (FSDP, a DTensor), and autograd does not see its parts"
    if holder:
        raise ValueError(
            f"curvature = 'hutchinson', but it must be 'second_moment' or a function here: {holder} "
            "(DistributedDataParallel keeps them whole)"
        )


def gradients(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor | None]:
    """Return the gradients of a loss with their graphs, None for a parameter on which it does not depend.

    Raises:
        ValueError: the loss is no scalar.
        RuntimeError: the loss has no graph, or depends on no parameter.
    """
    if tensor("loss", loss, "a tensor with one number").numel() != 1:
        raise ValueError(f"loss has shape {tuple(loss.shape)}, but it must be a tensor with one number")
    if not loss.requires_grad:
        raise RuntimeError("loss has no graph: call observe(loss) before loss.backward(), with gradients enabled")
    with torch.enable_grad():
        grads = torch.autograd.grad(loss, params, create_graph=True, allow_unused=True)
    if all(g is None for g in grads):
        raise RuntimeError("loss depends on none of the parameters, so it has no curvature to observe")
    return list(grads)


def left_behind(params: Sequence[Tensor], process_group: Any) -> list[Tensor | None]:
    """Return the gradients that a backward pass has left with their graphs.

    Raises:
        RuntimeError: it has left no graph, or one that replicas could not share.
    """
    if not any(p.grad.requires_grad for p in params if p.grad is not None):
        raise RuntimeError(
            f"Navigator(curvature='hutchinson') has no curvature for a parameter of shape "
            f"{tuple(params[0].shape)}: call optimizer.observe(loss) before loss.backward(), or "
            "loss.backward(create_graph=True); with every > 1, in the steps where optimizer.curvature_due()"
        )
    if _replicas.found(process_group) is not None:  # DDP's buckets scale the graph by 1/processes, or fail
        raise RuntimeError(
            "loss.backward(create_graph=True) shows no curvature that replicas could share (torch does not carry "
            "the graph through DistributedDataParallel): call optimizer.observe(loss) before loss.backward(), or "
            "pass process_group=None if this process trains alone"
        )
    return [p.grad for p in params]


def diagonal(
    params: Sequence[Tensor], grads: Sequence[Tensor | None], names: Sequence[Name | None], probes: Sequence[int]
) -> list[Tensor | None]:
    """Return the mean of z ⊙ Hz over probes, one Hessian-vector product a probe for all parameters that want it.

    Args:
        params: the parameters.
        grads: their gradients with graphs; None for a parameter on which the loss does not depend.
        names: of the draws, one a parameter that has a gradient.
        probes: numbers of sign vectors, one a parameter.

    Returns:
        An estimate for each parameter, None where there is no gradient.
    """
    rows = zip(params, grads, names, probes, strict=True)
    reached = [(p, g, name, count) for p, g, name, count in rows if g is not None and name]
    totals = {id(p): torch.zeros_like(p) for p, *_ in reached}
    for k in range(max((count for *_, count in reached), default=0)):
        probed = [row for row in reached if row[-1] > k]
        z = [_random.signs(p, *draw, k + parts * count) for p, _, (*draw, parts), count in probed]
        graphs = [i for i, (_, g, *_) in enumerate(probed) if g.requires_grad]
        if not graphs:
            break
        with torch.enable_grad():
            products = torch.autograd.grad(
                [probed[i][1] for i in graphs], [p for p, *_ in probed], [z[i] for i in graphs],
                retain_graph=True, allow_unused=True,
            )  # fmt: skip
        for (p, *_, count), sign, product in zip(probed, z, products, strict=True):
            if product is not None:  # a loss that is linear in a parameter has no curvature there
                totals[id(p)].addcmul_(sign, product.detach(), value=1 / count)
    return [totals.get(id(p)) for p in params]
