"""What the prediction needs to know of the place where a network has arrived: curvature, and the noise in each mode."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import vector_to_parameters

from lossnav._checks import finite, function, instance, whole
from lossnav._checks import seed as check_seed
from lossnav._tensors import module, tensor
from lossnav.analysis.curvature import GradientCovariance, Hessian, eigenpairs, quadrature
from lossnav.lab.moving.setting import Setting
from lossnav.lab.moving.walk import Body, Loss, Numbers, Pair, check_data

_CHUNK = 256  # gradients of single examples at a time
_WHOLE, _NUMBERS = 1024, 2**18  # examples of a product with the Hessian at a time, if their inputs are so few numbers


@dataclass(frozen=True, eq=False)
class Basin:
    """Curvature and noise around the points that a run has visited.

    Attributes:
        examples: N, of the data.
        traces: tr Σ at each visited point, (M,).
        values: the largest eigenvalues ρ_l of the Hessian at the mean point, falling, (L,); without λ.
        vectors: their eigenvectors q_l, (L, D).
        along: q_lᵀH(θ)q_l, averaged over the visited points, (L,); ``values`` if the basin is a quadratic.
        noises: Σ_ll = q_lᵀΣq_l, averaged over the visited points, (L,).
        nodes, weights: quadrature of the noise over the whole spectrum, Σ weights·f(nodes) ≈ tr Σf(H), (Q,) each; the
            weights add up to ``trace``. Empty if the loss of an example depends on its batch.
    """

    examples: int
    traces: Numbers
    values: Numbers
    vectors: Tensor
    along: Numbers
    noises: Numbers
    nodes: Numbers
    weights: Numbers

    @property
    def trace(self) -> float:
        """Mean of tr Σ over the visited points."""
        return float(self.traces.mean())

    @property
    def has_curvature(self) -> bool:
        """Whether curvatures were measured."""
        return len(self.nodes) > 0

    def uphill(self, decay: float) -> float:
        """Return the share of the noise along directions in which loss and decay together curve downwards."""
        finite("decay", decay, low=0.0)
        if not self.has_curvature:
            return 0.0
        return float(self.weights[self.nodes + decay < 0].sum() / self.weights.sum())


def measure(
    model: nn.Module,
    data: Pair,
    points: Tensor,
    *,
    mean: Tensor | None = None,
    loss: Loss = cross_entropy,
    modes: int = 20,
    draws: int = 8,
    nodes: int = 40,
    examples: int | None = None,
    seed: int = 0,
) -> Basin:
    """Measure curvature at the mean point, noise and the curvature of the modes at the points visited.

    tr Σ and its part in each of the ``modes`` are exact, from the gradient of every example. How the rest is spread
    over the spectrum comes from ``draws`` random vectors with covariance Σ and ``nodes`` products with the Hessian for
    each, with no eigenvector: the whole spectrum counts, not only the modes that are resolved.

    Args:
        model: as for ``walk``; its own weights do not matter.
        data: inputs (N, …) and targets (N, …).
        points: visited weights, flat, (M, D), e.g. rows of ``Walk.points``.
        mean: where the Hessian is taken, (D,); by default the mean of ``points``.
        loss: (outputs, targets) → scalar, the mean over the batch.
        modes: L, number of eigenpairs, at most D; 0 for none.
        draws: random vectors, spread over the points.
        nodes: products for each.
        examples: take only so many examples, chosen at random; by default all.
        seed: of all that is random.

    Raises:
        ValueError: an argument is out of range; or the loss of an example is random or depends on its batch, so that
            there is no Hessian and no gradient of an example (``measure_batches`` is for those).
        NotConverged: the eigenpairs.
    """
    body = _prepared(model, data, loss, seed)
    points = _points(points, body)
    whole("draws", draws, low=1)
    whole("nodes", nodes, low=1)
    modes = min(whole("modes", modes, low=0), points.shape[1])
    if mean is not None and tensor("mean", mean, "a tensor (D,)", ndim=1, floating=True).shape != points.shape[1:]:
        raise ValueError(f"mean has shape {tuple(mean.shape)}, but it must be ({points.shape[1]},), as the points")
    mean = points.mean(0) if mean is None else mean.to(points)
    count = len(data[0])
    if examples is not None and whole("examples", examples, low=2) < count:
        chosen = torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:examples]
        data = tuple(part[chosen.to(part.device)] for part in data)  # type: ignore[assignment]
    # Curvature at the mean point, and its steepest directions.
    hessian = Hessian(at(body.model, mean), loss, batches(data))
    leading_pairs = eigenpairs(hessian, modes, seed=abs(seed)) if modes else None
    vectors = mean.new_zeros(0, len(mean)) if leading_pairs is None else leading_pairs.vectors
    # At each point that was visited: how these directions curve there, and what noise they get.
    traces, along, noises, samples = [], [], [], []
    for index, point in enumerate(points):
        placed = at(body.model, point)
        if leading_pairs is not None:  # a Hessian passes through the data as soon as it is made
            along.append((Hessian(placed, loss, batches(data)).matvec(vectors) * vectors).sum(1).cpu().double().numpy())
        sigma = GradientCovariance(placed, loss, chunks(data))
        trace, noise = 0.0, torch.zeros(len(vectors), dtype=torch.float64)
        for x, y in chunks(data):
            gradients = sigma.gradients((x, y)) - sigma.mean
            trace += gradients.square().sum().item()
            noise += (gradients @ vectors.T).square().sum(0).cpu().double()
        traces.append(trace / len(data[0]))
        noises.append(noise.numpy() / len(data[0]))
        share = len(range(index, draws, len(points)))
        if share:
            samples.append(sigma.sample(share, seed=abs(seed) + index))
    # How tr Σ is spread over the whole spectrum: of the modes that are resolved it is known, of the rest it is drawn.
    rest = torch.cat(samples)
    rest -= rest @ vectors.T @ vectors
    rest = rest[rest.any(dim=1)]  # none, where these modes are all that there are
    spread = quadrature(hessian, rest, steps=nodes)
    values = np.zeros(0) if leading_pairs is None else leading_pairs.values.numpy()
    known = np.mean(noises, axis=0)
    left = max(float(np.mean(traces) - known.sum()), 0.0) / (spread.weights.sum() if len(rest) else 1.0)
    return Basin(
        count, np.array(traces), values, vectors, np.mean(along, axis=0) if along else np.zeros(0), known,
        np.append(values, spread.nodes), np.append(known, spread.weights * left),
    )  # fmt: skip


def measure_batches(
    model: nn.Module, data: Pair, points: Tensor, setting: Setting, *, loss: Loss = cross_entropy, pairs: int = 100,
    seed: int = 0,
) -> Basin:  # fmt: skip
    """Measure the noise of whole batches, where the loss of an example depends on its batch or on chance.

    For batch normalisation in training mode, or dropout. Half the mean of |g_B − g_B'|² over pairs of independent
    batches is the trace of the covariance of a batch's gradient, whatever makes it random. It is multiplied by S (or
    what takes its place without replacement), so that ``trace`` may be used as if examples had made it; for this S
    alone. Curvatures are not measured: there is no Hessian of an example's loss.

    Args:
        model, data, points, loss: as for ``measure``.
        setting: of the run; S and the way that batches are drawn matter.
        pairs: of batches, at each point.
        seed: of the batches.
    """
    body = _prepared(model, data, loss, seed)
    instance("setting", setting, Setting, "a moving.Setting")
    check_data(data, setting)
    whole("pairs", pairs, low=1)
    generator, count = torch.Generator().manual_seed(seed), len(data[0])
    if (factor := setting.noise_factor(count)) == 0:
        raise ValueError(f"setting = {setting!r} takes all {count} examples in each batch: there is no noise")
    traces = []
    for point in _points(points, body):
        body.theta.copy_(point)
        squares = []
        for _ in range(pairs):
            gradients = []
            for _ in range(2):
                index = setting.draw(count, 1, generator)[0].to(data[0].device)
                body.gradient.zero_()
                loss(body.model(data[0][index]), data[1][index]).backward()
                gradients.append(body.gradient.clone())
            squares.append((gradients[0] - gradients[1]).square().sum().item() / 2)
        traces.append(float(np.mean(squares)) / factor)
    empty = np.zeros(0)
    return Basin(count, np.array(traces), empty, body.theta.new_zeros(0, len(body.theta)), empty, empty, empty, empty)


def per_example(model: nn.Module, data: Pair, loss: Loss = cross_entropy) -> str:
    """Say whether the loss of a batch is the mean of losses of single examples, as the law of SGD's noise needs.

    Args:
        model: as it is to be analysed; batch normalisation in training mode, for one, mixes examples.
        data: inputs and targets, both with N rows; the first 64 are looked at.
        loss: maps outputs and targets to a scalar.

    Returns:
        "" if it is, else why it is not.

    Raises:
        ValueError: naming the argument that is wrong.
    """
    _prepared(model, data, loss, 0)
    try:
        Hessian(model, loss, (data[0][:64], data[1][:64]), memory=0)
    except ValueError as error:
        return str(error)
    return ""


def _prepared(model: nn.Module, data: Pair, loss: Loss, seed: int) -> Body:
    module("model", model)
    check_data(data)
    function("loss", loss)
    check_seed("seed", seed)
    return Body(model)


def _points(points: Tensor, body: Body) -> Tensor:
    points = body.rows("points", points, "M")
    if len(points) == 0:
        raise ValueError(f"points has shape {tuple(points.shape)}, but it must be (M, D) with M >= 1")
    return points


def at(model: nn.Module, point: Tensor) -> nn.Module:
    """Return a copy of the model at flat weights."""
    copied = copy.deepcopy(model)
    vector_to_parameters(point, [p for p in copied.parameters() if p.requires_grad])
    return copied


def chunks(data: Pair, count: int = _CHUNK) -> list[Pair]:
    """Return the data in parts of ``count``, by default so few that gradients of single examples fit into memory."""
    return list(zip(data[0].split(count), data[1].split(count), strict=True))


def batches(data: Pair) -> list[Pair]:
    """Return the data in parts for products with the Hessian: where examples are small, the calls cost most."""
    return chunks(data, min(_WHOLE, max(_CHUNK, _NUMBERS // max(1, data[0][0].numel()))))
