"""A trained network that goes on by SGD with momentum or by AdamW, and what is written down on the way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lossnav._checks import array, function, instance, instances, shown, whole
from lossnav._checks import seed as check_seed
from lossnav._tensors import examples, module, tensor
from lossnav.analysis.noether.networks import Family, Recorder
from lossnav.lab.moving.coordinates import scale_of
from lossnav.lab.moving.setting import Setting

Numbers = NDArray[np.floating[Any]]
Loss = Callable[[Tensor, Tensor], Tensor]
Pair = tuple[Tensor, Tensor]
_CHUNK = 256  # batches of indices that are drawn at a time


class Unstable(ValueError):
    """The weights ran away: the setting is beyond the bound of stability, in the mean or in the variance."""


@dataclass(frozen=True, eq=False)
class Walk:
    """What was measured on K steps of v ← βv − g_B − λθ, θ ← θ + ηv, after the burn-in.

    Of AdamW θ is φ in its coordinates, and v what moves φ, over η.

    Attributes:
        setting: η, β, S, λ and how batches were drawn.
        burn: steps before the first that is recorded.
        loss: loss of each batch before its step, without λ|θ|²/2, (K,).
        velocity_squared: |v_k|² after each step, (K,); the instantaneous speed |δ_k|² is η² times it.
        positions, velocities: q_l·θ_k and q_l·v_k before the first step and after each, (K+1, L).
        lags: numbers of steps n, (J,).
        displacement: |θ_{k+n} − θ_k|² for each start k (row) and lag n, (M, J).
        points: the weights at the M starts, flat, (M, D).
        mean: the average of the weights after the K steps, flat, (D,).
        final: the weights at the end, flat, (D,).
        square: the mean square V of the gradients at the end, flat, (D,), of θ's as they were given; None of SGD.
        radii: names of a scale-invariant family → |θ_A| of its weights before the first step and after each, (K+1,).
        angles: the same names → angle that θ_A turned by in each step, in radians, (K,).
    """

    setting: Setting
    burn: int
    loss: Numbers
    velocity_squared: Numbers
    positions: Numbers
    velocities: Numbers
    lags: NDArray[np.int64]
    displacement: Numbers
    points: Tensor
    mean: Tensor
    final: Tensor
    radii: dict[str, Numbers]
    angles: dict[str, Numbers]
    square: Tensor | None = None

    @property
    def steps(self) -> int:
        """K."""
        return len(self.loss)

    @property
    def speed(self) -> float:
        """Mean of |δ_k|² = η²|v_k|² over the steps."""
        return self.setting.eta**2 * float(self.velocity_squared.mean())

    def equipartition(self, curvatures: ArrayLike) -> Numbers:
        """Return h_l Var(q_l·θ) over (η/2)(1+β) Var(q_l·v), 1 in a stationary state of curvature h_l = ρ_l + λ, (L,).

        The fluctuation–dissipation relation of each mode, exact for a gradient h_l q_l·θ + noise if the noise of a step
        is uncorrelated with θ_k and v_k: noise of any size then gives 1, a wrong curvature does not. In a basin that is
        no quadratic h_l is the mean along the walk, not the curvature at its mean, as far as θ is Gaussian (Stein's
        lemma). Batches of a shuffled epoch remember each other, and need not give 1.
        """
        h = array("curvatures", curvatures, shape=(self.positions.shape[1],))
        half = self.setting.eta * (1 + self.setting.momentum) / 2
        return h * self.positions.var(axis=0) / (half * self.velocities.var(axis=0))


def walk(
    model: nn.Module,
    data: Pair,
    setting: Setting,
    *,
    steps: int,
    burn: int,
    seed: int,
    loss: Loss = cross_entropy,
    directions: Tensor | None = None,
    starts: int = 20,
    longest: int | None = None,
    families: Sequence[Family] = (),
) -> Walk:
    r"""Continue a network by SGD and record how it moves.

    .. math:: v_{k+1} = \beta v_k - g_B(\theta_k) - \lambda\theta_k,\qquad \theta_{k+1} = \theta_k + \eta v_{k+1}

    That is ``torch.optim.SGD(lr=η, momentum=β, weight_decay=λ)`` with v minus its momentum buffer. It begins at rest,
    v = 0, so the first 5/(1−β) steps of the burn-in are needed for v alone. The parameters that require gradients are
    moved. The model is copied in the mode it is in; batch normalisation in training mode sees the batches.

    A setting with ``second`` is walked by AdamW itself, whose V goes on from the model's, if it is in AdamW's
    coordinates, else from nothing; m begins at rest, and is not corrected for that.

    Args:
        model: a trained network; it is not changed.
        data: inputs (N, …) and targets (N, …), on the model's device.
        setting: η, β, S, λ, and how the batches are drawn.
        steps: K, recorded.
        burn: steps before those.
        seed: of the batches.
        loss: (outputs, targets) → scalar, the mean over the batch.
        directions: orthonormal rows q_l to project on, (L, D), in the order of ``named_parameters``; None for none.
        starts: M, number of points from which displacements are measured, evenly over the steps that have ``longest``
            steps after them; each is kept in memory.
        longest: the largest lag; by default half of the steps.
        families: scale-invariant ones of ``ln.noether.find_symmetries``, each followed as one vector. Costs time.

    Returns:
        The record.

    Raises:
        ValueError: an argument is out of range; names it.
        Unstable: the weights stopped being finite.

    References:
        Kunin et al. (2023), Eqs. 1, 2; its data loader draws without replacement, which ``sampling`` names.
    """
    module("model", model)
    instance("setting", setting, Setting, "a moving.Setting")
    check_data(data, setting)
    whole("steps", steps, low=2)
    whole("burn", burn, low=0)
    check_seed("seed", seed)
    function("loss", loss)
    longest = steps // 2 if longest is None else whole("longest", longest, low=1, high=steps)
    starts = min(whole("starts", starts, low=1), steps - longest + 1)
    body = Body(model)
    if directions is not None:
        directions = body.rows("directions", directions, "L")
    instances("families", families, Family, "a Family of find_symmetries", "families")
    for index, family in enumerate(families):
        if family.kind != "scale":
            raise ValueError(f"families[{index}] is of the kind {family.kind!r}, but only 'scale' has an angle")
    return _Recorder(body, data, setting, loss, directions, families).run(steps, burn, seed, starts, longest)


class Body:
    """A copy of a model whose trainable weights, and their gradients, are one flat vector each."""

    model: nn.Module
    theta: Tensor
    gradient: Tensor

    def __init__(self, model: nn.Module) -> None:
        self.model = copy.deepcopy(model)
        named = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        if not named:
            raise ValueError("model has no parameter that requires a gradient, but it must have some to move")
        self.theta = torch.cat([p.detach().reshape(-1) for p in named.values()])
        self.gradient = torch.zeros_like(self.theta)
        start = 0
        for p in named.values():
            place = slice(start, start + p.numel())
            p.data, p.grad = self.theta[place].view_as(p), self.gradient[place].view_as(p)
            start = place.stop

    def rows(self, name: str, value: Any, count: str) -> Tensor:
        """Return vectors over the weights, (``count``, D), in their precision and on their device, or raise."""
        tensor(name, value, f"a tensor ({count}, D) of numbers", ndim=2, floating=True)
        if value.shape[1] != len(self.theta):
            wanted = f"({count}, D) with D = {len(self.theta)} weights"
            raise ValueError(f"{name} has shape {tuple(value.shape)}, but it must be {wanted}")
        return value.to(self.theta)


class _Recorder:
    """One run: the state of the learner, and what has been recorded of it."""

    def __init__(
        self, body: Body, data: Pair, setting: Setting, loss: Loss, directions: Tensor | None,
        families: Sequence[Family],
    ) -> None:  # fmt: skip
        self.body, self.data, self.setting, self.loss, self.families = body, data, setting, loss, families
        self.directions = body.theta.new_zeros(0, len(body.theta)) if directions is None else directions
        self.velocity = torch.zeros_like(body.theta)
        self.memory = torch.zeros_like(body.theta)  # of gradients: −m/(1−β)
        scale, square = scale_of(body.model) or (torch.ones_like(body.theta), torch.zeros_like(body.theta))
        self.scale, self.first = scale, scale**2
        self.square, self.weight = square, float(square.any())  # V, and what its terms add up to

    def run(self, steps: int, burn: int, seed: int, starts: int, longest: int) -> Walk:
        """Burn in, then record."""
        batches = self._batches(torch.Generator().manual_seed(seed))
        for _ in range(burn):
            self._step(next(batches))
        theta, v = self.body.theta, self.velocity
        # Whole numbers up to the longest, evenly spaced on a logarithmic axis: eight a decade.
        lags = np.unique(np.rint(np.geomspace(1, longest, int(8 * np.log10(longest)) + 2)).astype(np.int64))
        begins = np.unique(np.linspace(0, steps - longest, starts).astype(np.int64))
        # From several starts over many lags: each displacement is due at one step, where its start is still kept.
        due: dict[int, list[tuple[int, int]]] = {}  # step → (row, column) of displacements that end there
        for row, begin in enumerate(begins):
            for column, lag in enumerate(lags):
                due.setdefault(int(begin + lag), []).append((row, column))
        rows = {int(begin): row for row, begin in enumerate(begins)}
        points = theta.new_zeros(len(begins), len(theta))
        displacement = np.zeros((len(begins), len(lags)))
        places, speeds = (theta.new_zeros(steps + 1, len(self.directions)) for _ in range(2))
        losses, squares = theta.new_zeros(steps), theta.new_zeros(steps)
        blocks = {" + ".join(f.names): Recorder(self.body.model, f, together=True) for f in self.families}
        total = torch.zeros_like(theta, dtype=torch.float64)
        # Record what is there before a step, and then make it.
        for k in range(steps + 1):
            if len(self.directions):
                places[k], speeds[k] = self.directions @ theta, self.directions @ v
            if k in rows:
                points[rows[k]] = theta
            for row, column in due.get(k, ()):
                displacement[row, column] = _square(theta - points[row])
            if k == steps:
                break
            losses[k] = self._step(next(batches))
            squares[k] = v @ v
            total += theta
            for recorder in blocks.values():
                recorder.update()
            if k % 100 == 99:
                self._check_finite(burn + k + 1)
        self._check_finite(burn + steps)
        return Walk(
            self.setting, burn, _numbers(losses), _numbers(squares), _numbers(places), _numbers(speeds), lags,
            displacement, points, (total / steps).to(theta), theta.clone(),
            {name: np.sqrt(recorder.size[:, 0]) for name, recorder in blocks.items()},
            {name: recorder.angle[:, 0] for name, recorder in blocks.items()},
            None if self.setting.second is None else self.square / self.weight,
        )  # fmt: skip

    def _step(self, index: Tensor) -> Tensor:
        """Take one step with the examples of ``index``; return the loss of the batch before it."""
        theta, v, gradient, setting = self.body.theta, self.velocity, self.body.gradient, self.setting
        gradient.zero_()
        with torch.enable_grad():
            value = self.loss(self.body.model(self.data[0][index]), self.data[1][index])
        value.backward()
        if setting.second is None:
            v.mul_(setting.beta).sub_(gradient)
            if setting.decay:
                v.sub_(theta, alpha=setting.decay)
        else:
            self._adapt(setting.second)
        theta.add_(v, alpha=setting.eta)
        return value.detach()

    def _adapt(self, second: float) -> None:
        """Set v so that φ moves as AdamW moves θ = φ/scale: P₀P⁻¹ of the memory, P₀ the first P, less the decay."""
        setting, theta, gradient = self.setting, self.body.theta, self.body.gradient
        raw_gradient = gradient * self.scale
        self.square.mul_(second).addcmul_(raw_gradient, raw_gradient, value=1 - second)
        self.weight = second * self.weight + 1 - second
        self.memory.mul_(setting.beta).sub_(gradient)
        precision = (self.square / self.weight).sqrt_().add_(setting.eps)
        torch.mul(self.memory, self.first / precision, out=self.velocity)
        self.velocity.sub_(theta, alpha=setting.decay / (1 - setting.beta))

    def _batches(self, generator: torch.Generator) -> Iterator[Tensor]:
        """Draw indices of examples, for ever."""
        while True:
            yield from self.setting.draw(len(self.data[0]), _CHUNK, generator).to(self.data[0].device)

    def _check_finite(self, step: int) -> None:
        if not torch.isfinite(self.body.theta).all():
            raise Unstable(
                f"the weights were not finite after step {step} with {self.setting}: take a smaller η or β, or larger "
                "batches; with batches drawn at random, the variance grows without bound before the mean does"
            )


def _square(vector: Tensor) -> float:
    return float(vector.double().square().sum())


def _numbers(values: Tensor) -> Numbers:
    return np.asarray(values.detach().cpu().double().numpy())


def check_data(data: Pair, setting: Setting | None = None) -> None:
    """Raise unless data are a pair of tensors of the same examples, enough of them for a batch."""
    if not isinstance(data, Sequence) or len(data) != 2 or not all(torch.is_tensor(part) for part in data):
        raise ValueError(f"data = {shown(data)}, but it must be a pair (inputs, targets) of tensors")
    examples("data", *data)
    if setting is not None and setting.sampling != "independent" and setting.batch > len(data[0]):
        raise ValueError(f"setting has batches of {setting.batch}, but data has {len(data[0])} examples to draw from")
