"""Seventy problems that say whether the solver still does what it did, and where what it did was wrong.

They are those of the book's chapters, kinds that once went wrong, and problems as users bring them. ``paths`` measures
them, ``tests/trajectory/test_cases.py`` holds today's answers against those that ``reference`` has kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lossnav as ln
from benchmarks import landscapes
from lossnav.problem.task import Phases

START = (-0.6, 0.55)
Problem = tuple[ln.Objective, ln.losses.Loss]


@dataclass(frozen=True)
class Case:
    """One problem.

    Attributes:
        name: what the table calls it.
        make: makes objective and loss, anew each time: a loss counts its calls.
        start: θ₀.
        options: of ``lossnav.solve``.
        wrong: what is known to be wrong with the answer that ``reference`` had to replace by a true one, or "".
        slow: whether it takes more than some seconds of a processor.
    """

    name: str
    make: Callable[[], Problem]
    start: Sequence[float]
    options: dict[str, Any] = field(default_factory=dict)
    wrong: str = ""
    slow: bool = False


def _of(loss: Callable[[], ln.losses.Loss], **assumptions: Any) -> Callable[[], Problem]:
    return lambda: (ln.Objective(**assumptions), loss())


def _section(**constants: float) -> ln.losses.Loss:
    return ln.losses.Section(ln.losses.DoubleWell(**constants))


def _well() -> ln.losses.Loss:
    return ln.losses.DoubleWell()


def _bowl(*curvatures: float) -> Callable[[], ln.losses.Loss]:
    return lambda: ln.losses.Quadratic(np.diag(curvatures), minimum=np.zeros(len(curvatures)))


def _oval() -> ln.losses.Loss:
    return ln.losses.Quadratic([[1.5, 0.5], [0.5, 0.8]], minimum=[0.4, 1.6])


def _function(value: Callable[[Any], Any], dim: int = 1) -> Callable[[], ln.losses.Loss]:
    return lambda: ln.losses.Function(value, dim=dim)


def _tanh_drift(rate: float = 0.5) -> ln.drifts.Function:
    return ln.drifts.Function(
        lambda x: -rate * np.tanh(x), lambda x: -rate / np.cosh(x)[..., None] ** 2 * np.eye(2), dim=2
    )


def _weights(dim: int) -> Callable[[], Problem]:
    problem = ln.uncertainty.Problem(gamma=0.5, entropy=0.8)
    bowls = {1: ([[2.0]], [0.0]), 2: ([[2.0, 0.5], [0.5, 1.0]], [0.0, 1.0])}
    return lambda: (problem.objective(dim), problem.loss(ln.losses.Quadratic(bowls[dim][0], minimum=bowls[dim][1])))


def _belief() -> Problem:
    slow = ln.belief.Prior(decay=0.0, diffusion=0.01)
    model = ln.belief.Beliefs(eta=1.0, gamma=1.0, mean=slow, variance=slow, observation=ln.belief.Simplified(0.1, 0.1))
    return model.objective(math.inf), Phases([(0.0, model.loss(1.0, 1.0))])


def _fisher_of(theta: Any) -> Any:
    return [[1 / theta[1] ** 2, 0], [0, 2 / theta[1] ** 2]]


def _normal() -> ln.losses.Loss:
    """Return the negative log likelihood of a standard normal under one of mean θ₁ and deviation θ₂."""
    return ln.losses.Function(
        lambda x: np.log(x[..., 1]) + (x[..., 0] ** 2 + 1) / (2 * x[..., 1] ** 2) - 0.5,
        lambda x: np.stack(
            [x[..., 0] / x[..., 1] ** 2, 1 / x[..., 1] - (x[..., 0] ** 2 + 1) / x[..., 1] ** 3], axis=-1
        ),
        dim=2,
    )


def _quadratic(dim: int, seed: int) -> tuple[Any, Any, Any]:
    """Return a Hessian and a metric, both positive definite, and a drift's Jacobian, all random."""
    rng = np.random.default_rng(seed)
    a, b, jacobian = rng.normal(size=(3, dim, dim))
    return a @ a.T / dim + 0.1 * np.eye(dim), b @ b.T / dim + 0.5 * np.eye(dim), 0.3 * jacobian


def _affine(dim: int, seed: int) -> Problem:
    hessian, metric, jacobian = _quadratic(dim, seed)
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.4, metric=metric, drift=ln.drifts.Linear(jacobian))
    return objective, ln.losses.Quadratic(hessian, minimum=np.ones(dim))


def _island(gamma: float) -> Problem:
    """Return a ring of no loss about (3, 0) with a current along it; elsewhere resting costs 1 per unit of time."""
    centre, turn = np.array([3.0, 0.0]), np.array([[0.0, -1.0], [1.0, 0.0]])

    def near(x: Any) -> Any:
        return np.exp(-((np.sum((x - centre) ** 2, axis=-1) - 1) ** 2))

    def current(x: Any) -> Any:
        return near(x)[..., None] * ((x - centre) @ turn.T)

    drift = ln.drifts.Function(current, _differences(current), dim=2)
    return ln.Objective(gamma=gamma, drift=drift), ln.losses.Function(
        lambda x: 1 - near(x) + 1e-3 * np.sum(x**2, axis=-1) * (1 - near(x)), dim=2
    )


def _differences(field_: Callable[[Any], Any], step: float = 1e-5) -> Callable[[Any], Any]:
    def jacobian(x: Any) -> Any:
        sides = [(field_(x + e) - field_(x - e)) / (2 * step) for e in step * np.eye(x.shape[-1])]
        return np.stack(sides, axis=-1)

    return jacobian


FIG_1 = {"horizon": 4.0, "endpoint": (1.0625, 0.0)}
BOOK = [
    Case("Fig. 1, both ends fixed", _of(_well, gamma=0.1), START, FIG_1),
    Case("Fig. 1, to a rest", _of(_well, gamma=0.1), START),
    Case("Fig. 1, on 400 intervals", _of(_well, gamma=0.1), START, FIG_1 | {"steps": 400}),
    Case("README, patient", _of(_well, gamma=0.1), (-1.2, 0.8)),
    Case("README, hasty", _of(_well, gamma=2.0), (-1.2, 0.8)),
    Case("bowl, closed form", _of(_bowl(1.0, 4.0), gamma=0.5), (2.0, 1.0)),
    Case("bowl, by minimising", _of(_bowl(1.0, 4.0), gamma=0.5), (2.0, 1.0), {"method": "action"}),
    Case("bowl, by collocation", _of(_bowl(1.0, 4.0), gamma=0.5), (2.0, 1.0), {"method": "bvp"}),
    Case("bowl with a deadline", _of(_bowl(1.0, 4.0), horizon=2.0), (2.0, 1.0)),
    Case("bowl, charged at the deadline", _of(_bowl(1.0, 4.0), gamma=0.3, horizon=2.0, terminal=1.5), (2.0, 1.0)),
    Case("bowl in a metric", _of(_bowl(1.0, 4.0), gamma=0.5, metric=[[2.0, 0.3], [0.3, 1.0]]), (2.0, 1.0)),
    Case("double well, patient for ever", lambda: (ln.Objective(), _shifted_section()), (-0.9304029265558,)),
    Case("slice, left of the barrier", _of(_section, gamma=0.5), (0.0,)),
    Case("slice, near the barrier", _of(_section, gamma=2.0), (0.1,)),
    Case("steep barrier", _of(lambda: _section(d=-1.4), gamma=2.72), (0.45,)),
    Case("double well, hot k", _of(_well, gamma=0.1, k=5.0), START),
    Case("Rosenbrock", _of(lambda: ln.losses.Rosenbrock(1.0, 2.0), gamma=0.5), (-1.0, 1.0)),
    Case("lopsided valleys at γ = 0", _of(_function(
        lambda x: (x**2 * (1 - x) ** 2 * np.exp(2 * x))[..., 0])), (0.61,)),
    Case("rotation of a round bowl", _of(_bowl(1.5, 1.5), gamma=0.9, drift=ln.drifts.rotation(0.8)), (1.0, -0.5)),
    Case("rotation of an oval", _of(_oval, gamma=0.5, drift=ln.drifts.rotation(0.8)), (2.0, -1.0)),
    Case("rotation of an oval, by minimising", _of(_oval, gamma=0.5, drift=ln.drifts.rotation(0.8)), (2.0, -1.0),
         {"method": "action"}),
    Case("rotation with a deadline", _of(_oval, drift=ln.drifts.rotation(0.8), horizon=6.0), (2.0, -1.0)),
    Case("weight decay", _of(_oval, gamma=0.5, drift=ln.drifts.weight_decay(0.3)), (2.0, -1.0)),
    Case("a drift that saturates", lambda: (ln.Objective(gamma=0.4, drift=_tanh_drift()), _oval()), (2.0, -1.0)),
    Case("double well in a current", _of(_well, gamma=0.3, drift=ln.drifts.rotation(0.4)), START),
    Case("ring in a current", _of(landscapes.ring, drift=ln.drifts.rotation(1.0)), (1.5, 0.5)),
    Case("ring in a current, deadline", _of(landscapes.ring, gamma=0.5, drift=ln.drifts.rotation(1.0), horizon=20.0),
         (1.5, 0.5), {"rtol": 1e-6}),
    Case("tilted ring, locked", _of(lambda: landscapes.ring(0.065), drift=ln.drifts.rotation(0.3)), (0.3, 1.3),
         {"rtol": 1e-5}),
    Case("fit of a normal law, Fisher", _of(_normal, gamma=0.5, metric=_fisher_of), (2.0, 0.5)),
    Case("Fisher deviation, fixed end", lambda: (
        ln.Objective(gamma=0.5, metric=ln.metrics.Fisher(spread="log_deviation")), ln.losses.DoubleWell()),
        (1.0, 0.5), {"horizon": 1.0, "endpoint": (-1.0, 0.2)}),
    Case("uncertain weight", _weights(1), (1.0, math.log(0.4))),
    Case("two uncertain weights", _weights(2), (1.0, 0.0, math.log(0.4), 0.0)),
    Case("beliefs move along", _belief, (0.0, 1.0, 1.0), {"method": "timed", "rtol": 1e-6}),
    Case("a task that switches, foreseen", lambda: (ln.Objective(gamma=0.4), Phases([
        (0.0, ln.losses.Quadratic([[1.0]], minimum=[0.0])), (2.0, ln.losses.Quadratic([[2.0]], minimum=[1.0]))])),
        (0.5,)),
    Case("product of two weights, deadline", _of(_function(
        lambda x: (x[..., 0] * x[..., 1] - 1) ** 2, 2), gamma=1.0, horizon=12.0), (2.0, 0.1)),
    Case("soft corner", _of(_function(
        lambda x: np.sum(np.logaddexp(x, -x) - np.log(2) + 0.05 * x**2, axis=-1)), gamma=1.0), (3.0,)),
]  # fmt: skip


def _shifted_section() -> ln.losses.Loss:
    """Return the section of the double well, its lowest value 0: at γ = 0 J is finite."""
    cut = _section()
    places = cut.stationary_points()
    assert places is not None
    lowest = min(cut.value(point) for point in places)
    return ln.losses.Function(lambda x: cut.value(x) - lowest, cut.gradient, cut.hessian, dim=1)


USERS = [
    Case("polynomial with a wave, 1", _of(lambda: landscapes.polynomial(1), gamma=0.5), (2.0, -1.5)),
    Case("polynomial with a wave, 2", _of(lambda: landscapes.polynomial(2), gamma=2.0), (2.0, -1.5)),
    Case("polynomial with a wave, 3", _of(lambda: landscapes.polynomial(3), gamma=0.1), (-2.0, 1.0)),
    Case("Himmelblau", _of(lambda: landscapes.himmelblau(0.02), gamma=1.0), (0.0, 0.0)),
    Case("random quadratic, 5 parameters, drift, metric", lambda: _affine(5, 0), (0.5,) * 5),
    Case("random quadratic, 20 parameters, drift, metric", lambda: _affine(20, 1), (0.5,) * 20),
    Case("logistic, 10 parameters", _of(
        lambda: landscapes.logistic(*landscapes.synthetic(100, 10, 0), 0.05), gamma=1.0), (0.0,) * 10),
    Case("logistic, breast cancer", _of(
        lambda: landscapes.logistic(*landscapes.patients(), 0.01), gamma=1.0), (0.0,) * 30),
    Case("two hills, one way round", _of(
        lambda: landscapes.hills(4.0, 0.5, [[-1.5, 0.6], [-1.5, -0.8]]), gamma=0.3), (-3.0, 0.1)),
    Case("convex quartic, 10 parameters", _of(lambda: landscapes.quartic(10), gamma=1.0), (1.0,) * 10),
    Case("Rastrigin, 3 parameters, near its middle", _of(lambda: landscapes.rastrigin(3), gamma=0.5), (1.1, 2.4, 0.4)),
    Case("Styblinski–Tang, 5 parameters, near its wells", _of(
        lambda: landscapes.styblinski_tang(5), gamma=1.0), (2.0, 2.5, -0.2, 1.5, 0.5)),
    Case("convex quartic, 100 parameters", _of(lambda: landscapes.quartic(100), gamma=1.0), (1.0,) * 100),
    Case("metric diag(1 + x²)", _of(_well, gamma=0.5, metric=lambda x: np.diag(1 + x**2)), (-1.2, 0.8), slow=True),
    Case("logistic, breast cancer, one by one", _of(
        lambda: landscapes.logistic_one_by_one(*landscapes.patients(), 0.01), gamma=1.0), (0.0,) * 30, slow=True),
    Case("hill with a fixed end", _of(
        lambda: ln.losses.Quadratic([[-2.0]], minimum=[0.0]), gamma=0.6), (0.5,), {"horizon": 1.0, "endpoint": (0.2,)}),
    Case("weak hill, gentle enough for γ", _of(
        lambda: ln.losses.Quadratic([[-0.1]], minimum=[0.0]), gamma=1.0), (0.5,)),
]  # fmt: skip
ONCE_WRONG = [
    Case("three hills", _of(
        lambda: landscapes.hills(10.0, 0.405, [[-2.0, 0.1], [-2.0, -1.0], [-2.0, -2.1]]), gamma=0.2), (-4.0, -0.05)),
    Case("Rastrigin, 3 parameters", _of(lambda: landscapes.rastrigin(3), gamma=0.1), (-5.0, 3.2, 4.2),
         {"max_seconds": 30.0}, wrong="wells are missed", slow=True),
    Case("Rastrigin, 4 parameters", _of(lambda: landscapes.rastrigin(4), gamma=0.1), (3.7, -4.8, 2.4, -3.3),
         {"max_seconds": 30.0}, wrong="wells are missed", slow=True),
    Case("Styblinski–Tang, 5 parameters", _of(lambda: landscapes.styblinski_tang(5), gamma=0.1),
         (0.1, 3.2, -2.5, 3.1, -1.3)),
    Case("a ring of no loss, far off, with a current", lambda: _island(0.05), (0.0, 0.0),
         wrong="a path that never rests is not found", slow=True),
    Case("softplus", _of(landscapes.softplus, gamma=1.0), (1.0,)),
    Case("a line", _of(_function(lambda x: x[..., 0]), gamma=1.0), (0.5,),
         wrong="refused, though the optimum exists"),
    Case("|θ| at γ = 0", _of(_function(lambda x: np.abs(x[..., 0]))), (1.0,), wrong="a kink is no place to rest"),
    Case("θ₁⁴ + θ₂²/2 at γ = 0", _of(_function(lambda x: x[..., 0] ** 4 + x[..., 1] ** 2 / 2, 2)), (1.0, 1.0)),
    Case("θ⁴/4 at γ = 0", _of(_function(lambda x: x[..., 0] ** 4 / 4)), (1.0,)),
    Case("θ⁴/4 at γ = 1", _of(_function(lambda x: x[..., 0] ** 4 / 4), gamma=1.0), (1.0,)),
    Case("weak hill, as a function", _of(_function(lambda x: -0.05 * x[..., 0] ** 2), gamma=1.0), (0.5,)),
    Case("no bottom, by e^θ", _of(_function(lambda x: x[..., 0] ** 2 / 2 - 0.01 * np.exp(x[..., 0])), gamma=1.0),
         (0.5,)),
    Case("no bottom, by θ⁴", _of(_function(lambda x: x[..., 0] ** 2 / 2 - 1e-4 * x[..., 0] ** 4), gamma=1.0), (0.5,)),
    Case("strong discount", _of(_well, gamma=100.0), START),
    Case("tanh network", _of(landscapes.tanh_network, gamma=0.5), tuple(np.linspace(-1.0, 1.0, 10)),
         {"max_seconds": 30.0}, wrong="the budget is spent before anything is found", slow=True),
    Case("convex logistic, strong discount", _of(
        lambda: landscapes.logistic_one_by_one(*landscapes.synthetic(200, 30, 1), 0.01), gamma=10.0), (0.5,) * 30,
        {"max_seconds": 30.0}, slow=True),
    Case("Himmelblau in a current", _of(
        lambda: landscapes.himmelblau(0.02), gamma=0.5, drift=ln.drifts.rotation(1.0)), (0.0, 0.0),
        {"max_seconds": 30.0}, wrong="refused, though the optimum comes to rest", slow=True),
]  # fmt: skip
CASES = [*BOOK, *USERS, *ONCE_WRONG]
