r"""What an invariant loss leaves of the update of a charge: exact recursions, without a gradient in them (ours).

Gradient descent is v ← βv − g − kθ, θ ← θ + ηv. With u = ⟨v, ξ(θ)⟩ and ⟨g, ξ⟩ = 0 the gradient drops out of
w = βu − k⟨θ, ξ⟩, and what a step adds is ⟨v, Mv⟩, the source of ``Symmetry``. Initial values are those before the
first step; an optimizer that starts at rest has u = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav.analysis.noether.symmetries import Symmetry


def discrete_radius(
    initial: ArrayLike, charge: ArrayLike, speed_squared: ArrayLike, *, eta: float, beta: float, decay: float
) -> tuple[Array, Array]:
    r"""Return r² = |θ|² and u = ⟨θ, v⟩ of scale-invariant blocks after every step, from the speeds alone; exact.

    .. math:: w = \beta u_n - k r_n^2,\quad r_{n+1}^2 = r_n^2 + 2\eta w + \eta^2|v_{n+1}|^2,\quad
        u_{n+1} = w + \eta|v_{n+1}|^2

    Args:
        initial: r² before the first step, shape (...), >= 0.
        charge: u before the first step, shape (...).
        speed_squared: |v|² of step 1 … T, shape (T, ...), >= 0.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        decay: weight decay k >= 0, added to the gradient; no dampening, no Nesterov.

    Returns:
        (r², u), each of shape (T + 1, ...), from the initial values on.

    Raises:
        ValueError: an argument is out of range, or shapes do not fit together.
    """
    _checks.nonnegatives("initial", initial)
    _checks.nonnegatives("speed_squared", speed_squared)
    return _recursion(initial, charge, "speed_squared", speed_squared, eta, beta, decay)


def discrete_rescale(
    initial: ArrayLike, charge: ArrayLike, speed_difference: ArrayLike, *, eta: float, beta: float, decay: float
) -> tuple[Array, Array]:
    r"""Return N = |θ₁|² − |θ₂|² and u = ⟨θ₁, v₁⟩ − ⟨θ₂, v₂⟩ of rescale-invariant pairs after every step; exact.

    The recursion of ``discrete_radius``, with \|v₁|² − \|v₂|² in the place of \|v|².

    Args:
        initial: N before the first step, shape (...).
        charge: u before the first step, shape (...).
        speed_difference: |v₁|² − |v₂|² of step 1 … T, shape (T, ...).
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        decay: weight decay k >= 0 on both sides.

    Returns:
        (N, u), each of shape (T + 1, ...).

    Raises:
        ValueError: an argument is out of range, or shapes do not fit together.
    """
    return _recursion(initial, charge, "speed_difference", speed_difference, eta, beta, decay)


def discrete_translation(
    initial: ArrayLike, charge: ArrayLike, steps: int, *, eta: float, beta: float, decay: float
) -> tuple[Array, Array]:
    r"""Return p = Σθ_i and u = Σv_i of translation-invariant sums after every step; exact, and nothing enters it.

    .. math:: u_{n+1} = \beta u_n - k p_n,\qquad p_{n+1} = p_n + \eta u_{n+1}

    Args:
        initial: p before the first step, shape (...).
        charge: u before the first step, shape (...).
        steps: T >= 1.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        decay: weight decay k >= 0, added to the gradient.

    Returns:
        (p, u), each of shape (T + 1, ...).

    Raises:
        ValueError: an argument is out of range, or shapes do not fit together.
    """
    still = np.zeros((_checks.whole("steps", steps, low=1), *_checks.array("initial", initial).shape))
    return _recursion(initial, charge, "steps", still, eta, beta, decay, growth=1.0)


def continuous_radius(
    initial: ArrayLike, charge: ArrayLike, speed_squared: ArrayLike, *, eta: float, beta: float, decay: float
) -> tuple[Array, Array]:
    r"""Return r² and ⟨q, q̇⟩ by the differential equation of the scale charge, driven by measured speeds (T22, T27).

    .. math:: \tfrac m2(r^2)^{\cdot\cdot} + \tfrac\mu2(r^2)^{\cdot} = m|\dot q|^2 - kr^2,

    solved without error for a speed that is constant during each step, m = η(1 + β)/2, μ = 1 − β. What separates it
    from ``discrete_radius`` is the passage to continuous time.

    Args:
        initial: r² before the first step, shape (...), >= 0.
        charge: ⟨q, q̇⟩ before the first step, shape (...).
        speed_squared: |v|² of step 1 … T, shape (T, ...), >= 0.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        decay: weight decay k >= 0.

    Returns:
        (r², ⟨q, q̇⟩), each of shape (T + 1, ...).

    Raises:
        ValueError: an argument is out of range, or shapes do not fit together.
    """
    _checks.nonnegatives("initial", initial)
    source = _checks.nonnegatives("speed_squared", speed_squared)
    eta, beta, decay, start, u = _start(initial, charge, eta, beta, decay)
    _fits("speed_squared", source, start)
    if eta * decay > 2 * (1 + beta):
        raise ValueError(
            f"eta * decay = {eta * decay:g}, but it must be <= 2(1 + beta) = {2 * (1 + beta):g}: beyond it no step of "
            "SGD is stable"
        )
    # In units of a step: η⟨q, q̇⟩ and η²|q̇|², beside r².
    m = (1 + beta) / 2
    step = scipy.linalg.expm(np.array([[0.0, 2.0, 0.0], [-eta * decay / m, -(1 - beta) / m, 1.0], [0.0] * 3]))[:2]
    states = np.empty((2, len(source) + 1, *start.shape))
    states[:, 0] = start, eta * u
    for n, drive in enumerate(source):
        states[:, n + 1] = np.tensordot(step, np.stack([*states[:, n], eta**2 * drive]), 1)
    return states[0], states[1] / eta


def _recursion(
    initial: ArrayLike, charge: ArrayLike, name: str, source: ArrayLike, eta: float, beta: float, decay: float,
    growth: float = 2.0,
) -> tuple[Array, Array]:  # fmt: skip
    """Follow a quantity that grows by ``growth``·ηw and what the source, of this name, adds."""
    eta, beta, decay, size, u = _start(initial, charge, eta, beta, decay)
    drive = _checks.array(name, source)
    _fits(name, drive, size)
    states = np.empty((2, len(drive) + 1, *size.shape))
    states[:, 0] = size, u
    for n, speed in enumerate(drive):
        w = beta * u - decay * size
        size, u = size + growth * eta * w + eta**2 * speed, w + eta * speed
        states[:, n + 1] = size, u
    return states[0], states[1]


def _start(
    initial: ArrayLike, charge: ArrayLike, eta: float, beta: float, decay: float
) -> tuple[float, float, float, Array, Array]:
    size, u = _checks.array("initial", initial), _checks.array("charge", charge)
    if size.shape != u.shape:
        raise ValueError(f"charge has shape {u.shape}, but it must have that of initial, {size.shape}")
    return *_rates(eta, beta, decay), size, u


def _rates(eta: float, beta: float, decay: float) -> tuple[float, float, float]:
    return _checks.positive("eta", eta), _checks.weight("beta", beta), _checks.nonnegative("decay", decay)


def _fits(name: str, source: Array, size: Array) -> None:
    if source.ndim == 0 or source.shape[1:] != size.shape or len(source) == 0:
        wanted = "(T" + "".join(f", {n}" for n in size.shape) + ("," if not size.shape else "") + ")"
        raise ValueError(f"{name} has shape {source.shape}, but with this initial it must have shape {wanted}")


@dataclass(frozen=True, eq=False)
class Identity:
    """The balance of one charge along a recorded path, step by step.

    Attributes:
        charge: u = ⟨v, ξ(θ)⟩ after steps 2 … T, shape (T − 1,).
        predicted: the same from the step before, if the loss has the symmetry.
        broken: predicted − charge = ⟨ξ, g⟩, what the gradient adds where the symmetry does not hold.
        error: largest |broken| over the largest of the terms in the balance: rounding, if the loss has the symmetry.
    """

    charge: Array
    predicted: Array
    broken: Array
    error: float


def identity(positions: ArrayLike, symmetry: Symmetry, *, eta: float, beta: float, decay: float = 0.0) -> Identity:
    r"""Check Noether's learning dynamics along a recorded path of gradient descent, in its exact discrete form (ours).

    .. math:: \langle v_{n+1},\xi_{n+1}\rangle = \beta\langle v_n,\xi_n\rangle - k\langle\theta_n,\xi_n\rangle
        + \eta\langle v_{n+1},Mv_{n+1}\rangle - \langle g_n,\xi_n\rangle,

    of which the last term vanishes for a loss with the symmetry. In continuous time this is T22 with h = ½|q|². What
    is left over is therefore the gradient along the symmetry: the symmetry is tested, with no gradient recorded.

    Args:
        positions: θ after successive steps, shape (T + 1, D), T >= 2.
        symmetry: of the D parameters.
        eta: learning rate η > 0.
        beta: momentum β in [0, 1).
        decay: weight decay k >= 0, added to the gradient; no dampening, no Nesterov.

    Returns:
        Both sides, and what they differ by.

    Raises:
        ValueError: an argument is out of range, or shapes do not fit together.

    Example:
        >>> import lossnav as ln
        >>> path = [[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]]  # nothing slows it down, so that something pushes
        >>> identity(path, ln.noether.Translation(2), eta=0.1, beta=0.5).broken
        array([-0.5])

    References:
        Tanaka and Kunin (2021), Eq. 22 of the supplement.
    """
    points = _checks.array("positions", positions, shape=(None, None))
    _checks.instance("symmetry", symmetry, Symmetry, "a symmetry, such as ln.noether.Scale(dim)")
    if len(points) < 3 or points.shape[1] != symmetry.dim:
        raise ValueError(f"positions has shape {points.shape}, but it must have shape (T + 1, {symmetry.dim}), T >= 2")
    eta, beta, decay = _rates(eta, beta, decay)
    speeds = np.diff(points, axis=0) / eta
    charge = symmetry.charge(points[1:], speeds)
    pulled = np.einsum("ti,ti->t", points[1:-1], symmetry(points[1:-1]))
    memory_term, decay_term, source_term = beta * charge[:-1], -decay * pulled, eta * symmetry.source(speeds[1:])
    predicted = memory_term + decay_term + source_term
    reach = np.linalg.norm(speeds[1:], axis=1) * np.linalg.norm(symmetry(points[2:]), axis=1)
    terms: Any = max(float(np.max(np.abs(term))) for term in (memory_term, decay_term, source_term, charge[1:], reach))
    broken = predicted - charge[1:]
    return Identity(charge[1:], predicted, broken, float(np.max(np.abs(broken))) / terms if terms else 0.0)
