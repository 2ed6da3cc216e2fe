"""The symbolic part against sympy's own Euler–Lagrange operator, hand-written physics and finite differences."""

from __future__ import annotations

import math

import fresh
import numpy as np
import pytest
import sympy
from sympy.calculus.euler import euler_equations

import lossnav as ln
from lossnav.euler_lagrange import derive

ETA, K, GAMMA = sympy.symbols("eta k gamma", positive=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        "import lossnav; lossnav.euler_lagrange",
        "import lossnav.trajectory.result",
        "from lossnav.euler_lagrange import derive",
        "from lossnav import euler_lagrange",
    ],
)
def test_name_is_function_and_module_in_every_import_order(first: str) -> None:
    program = f"""
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "lossnav"]:
    del sys.modules[name]
{first}
import lossnav as ln
loss = ln.losses.Quadratic([[2.0]], minimum=[0.0])
assert len(ln.euler_lagrange(ln.Objective(), loss).equations) == 1
import lossnav.euler_lagrange
import lossnav.euler_lagrange as module
assert module.derive(1).dim == 1
assert len(ln.euler_lagrange(ln.Objective(), loss).equations) == 1
assert len(module(objective=ln.Objective(), loss=loss).equations) == 1
from lossnav.euler_lagrange import euler_lagrange
assert len(euler_lagrange(ln.Objective(), loss).equations) == 1
assert isinstance(module(ln.Objective(), loss), ln.EulerLagrange)
"""
    done = fresh.run(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("metric", [None, "constant", "general"])
@pytest.mark.parametrize("drift", [None, "general"])
def test_balance_equals_sympys_variational_derivative(dim: int, metric: str | None, drift: str | None) -> None:
    steps = derive(dim, metric=metric, drift=drift)
    paths = [steps.in_time(x) for x in steps.theta]
    for path, row in zip(paths, steps.balance, strict=True):
        [oracle] = euler_equations(steps.in_time(steps.lagrangian), [path], [steps.t])
        scaled = -steps.eta * sympy.exp(steps.gamma * steps.t) * oracle.lhs.doit()
        assert sympy.simplify(sympy.expand(scaled - steps.in_time(row))) == 0


@pytest.mark.parametrize("metric", [None, "constant", "general"])
def test_sides_carry_the_same_content_as_the_balance(metric: str | None) -> None:
    steps = derive(2, metric=metric, drift="general")
    solved = sympy.solve([a - b for a, b in steps.sides], steps.acceleration, dict=True)[0]
    oracle = sympy.solve(steps.balance, steps.acceleration, dict=True)[0]
    for a in steps.acceleration:
        assert sympy.simplify(solved[a] - oracle[a]) == 0


def test_sides_separate_motion_from_rest() -> None:
    steps = derive(2, drift="general")
    moving = {*steps.velocity, *steps.acceleration}
    for left, right in steps.sides:
        assert left.subs(dict.fromkeys(moving, 0)) == 0
        assert not right.free_symbols & moving


def test_momenta_and_forces_are_the_derivatives_of_the_lagrangian() -> None:
    steps = derive(2, metric="general", drift="general")
    for v, momentum in zip(steps.velocity, steps.momenta, strict=True):
        assert sympy.simplify(momentum - sympy.diff(steps.lagrangian, v)) == 0
    for x, force in zip(steps.theta, steps.forces, strict=True):
        assert sympy.simplify(force - sympy.diff(steps.lagrangian, x)) == 0


def test_equations_can_be_solved_by_dsolve() -> None:
    steps = derive(1, loss=lambda theta: theta[0] ** 2 / 2, eta=1, k=2, gamma=1)
    [solution] = [sympy.dsolve(equation) for equation in steps.equations]
    rates = {term.args[0].coeff(steps.t) for term in solution.rhs.atoms(sympy.exp)}
    assert rates == {-1, 2}  # γ/2 ± √(γ²/4 + ηkh)


def test_latex_reads_like_the_paper() -> None:
    assert derive(1).latex == (
        r"\begin{aligned}\ddot{\theta} - \gamma \dot{\theta} &= \eta k \frac{dL}{d\theta}\end{aligned}"
    )
    text = derive(2, metric="general", drift="general").latex
    loss_partial = r"\frac{\partial L}{\partial \theta_{1}}"
    for piece in (r"\ddot{\theta}_{1}", r"\partial_{1}f_{2}", r"\partial_{2}G_{12}", loss_partial):
        assert piece in text
    assert "(" not in derive(2).latex  # no arguments on L
    shown = dict(derive(1, drift="general").steps)
    assert shown["Lagrangian"].startswith(r"\mathcal{L} =")
    assert r"e^{- \gamma t}" in shown["momentum"]


def test_latex_of_an_objective_has_no_trailing_point_zeros() -> None:
    text = ln.euler_lagrange(ln.Objective(eta=1 / 3, gamma=0.1), ln.losses.DoubleWell()).latex
    assert text == (
        r"\begin{aligned}\ddot{\theta}_{1} - \frac{\dot{\theta}_{1}}{10} &= "
        r"\frac{4 \theta_{1}^{3}}{3} - \frac{4 \theta_{1}}{3} - \frac{1}{6} \\ "
        r"\ddot{\theta}_{2} - \frac{\dot{\theta}_{2}}{10} &= \frac{2 \theta_{2}}{3}\end{aligned}"
    )
    for equations in (ln.euler_lagrange(ln.Objective(), ln.losses.DoubleWell()), derive(1)):
        assert equations._repr_latex_().startswith("$$")


def test_irrational_numbers_keep_every_digit() -> None:
    loss = ln.losses.Quadratic([[math.pi]], minimum=[0.0])
    [equation] = ln.euler_lagrange(ln.Objective(), loss).equations
    assert math.pi in [float(x) for x in equation.rhs.atoms(sympy.Float)]
    assert ln.euler_lagrange(ln.Objective(), loss).acceleration([1.0], [0.0])[0] == math.pi


WELL = ln.losses.DoubleWell()
METRIC = np.array([[2.0, 0.3], [0.3, 1.0]])
DRIFT = ln.drifts.Linear([[0.2, -1.0], [0.4, -0.3]], offset=[0.1, -0.2])


@pytest.mark.parametrize("loss", [ln.losses.DoubleWell(), ln.losses.Rosenbrock(b=2.0)])
@pytest.mark.parametrize("metric", [None, METRIC])
@pytest.mark.parametrize("drift", [None, DRIFT])
def test_acceleration_is_the_matrix_form_of_eq_99(loss: ln.losses.Loss, metric: object, drift: object) -> None:
    objective = ln.Objective(eta=0.7, k=1.3, gamma=0.4, metric=metric, drift=drift)
    rng = np.random.default_rng(1)
    theta, velocity = rng.normal(size=(2, 3, 4, 2))
    g = np.eye(2) if metric is None else METRIC
    j, f = (np.zeros((2, 2)), np.zeros_like(theta)) if drift is None else (DRIFT.matrix(2), DRIFT(theta))
    turned = np.linalg.solve(g, j.T @ g)
    force = 0.7 * 1.3 * np.linalg.solve(g, loss.gradient(theta)[..., None])[..., 0]
    expected = velocity @ (0.4 * np.eye(2) + j - turned).T + force + f @ (turned - 0.4 * np.eye(2)).T
    found = ln.euler_lagrange(objective, loss).acceleration(theta, velocity, 0.3)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def _polar(theta):  # a plane in polar coordinates: symbols and numbers alike
    return np.array([[1, 0], [0, theta[0] ** 2]], dtype=object if theta.dtype == object else float)


def _polar_numeric(theta):
    return np.diag([1.0, math.pow(theta[0], 2)])  # math.pow refuses symbols


@pytest.mark.parametrize("metric", [_polar, _polar_numeric])
def test_metric_of_theta_bends_straight_lines_into_polar_coordinates(metric: object) -> None:
    """A straight line x(t) = x₀ + u(e^{γt}−1)/γ is the extremal of a flat loss, in whatever coordinates."""
    gamma, start, u = 0.3, np.array([1.0, 0.4]), np.array([-0.2, 0.9])
    t = np.linspace(0.0, 2.0, 7)
    growth = np.exp(gamma * t)[:, None]
    x, v, a = start + u * (growth - 1) / gamma, u * growth, gamma * u * growth
    r = np.hypot(*x.T)
    dr, dphi = (x * v).sum(-1) / r, (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]) / r**2
    ddr = ((v * v).sum(-1) + (x * a).sum(-1) - dr**2) / r
    ddphi = (x[:, 0] * a[:, 1] - x[:, 1] * a[:, 0]) / r**2 - 2 * dr * dphi / r
    flat = ln.losses.Function(lambda theta: 0.0, dim=2)
    equations = ln.euler_lagrange(ln.Objective(gamma=gamma, metric=metric), flat)
    polar = np.stack([r, np.arctan2(x[:, 1], x[:, 0])], axis=-1)
    acceleration = equations.acceleration(polar, np.stack([dr, dphi], axis=-1), t)
    np.testing.assert_allclose(acceleration, np.stack([ddr, ddphi], axis=-1), rtol=1e-9, atol=1e-10)
    dropped = gamma * np.stack([dr, dphi], axis=-1)  # Eq. 9 beside G(θ): without the connection terms
    assert np.max(np.abs(dropped - acceleration)) > 0.1


def test_loss_without_a_formula_stays_a_function_and_is_differenced() -> None:
    opaque = ln.losses.Function(lambda theta: math.sin(theta[0]) * math.exp(theta[1]), dim=2)
    clear = ln.losses.Function(
        lambda theta: sympy.sin(theta[0]) * sympy.exp(theta[1]), gradient=lambda theta: np.zeros(2), dim=2
    )
    hidden, visible = (ln.euler_lagrange(ln.Objective(gamma=0.2), loss) for loss in (opaque, clear))
    atoms = set().union(*(equation.atoms(sympy.core.function.AppliedUndef) for equation in hidden.equations))
    assert "L" in {atom.func.__name__ for atom in atoms}
    theta, velocity = np.random.default_rng(2).normal(size=(2, 5, 2))
    np.testing.assert_allclose(
        hidden.acceleration(theta, velocity), visible.acceleration(theta, velocity), rtol=1e-9, atol=1e-9
    )


def test_drift_without_a_formula_uses_its_jacobian() -> None:
    def swirl(x):
        return np.array([math.sin(x[1]), math.cos(x[0])])

    def jacobian(x):
        return np.array([[0.0, math.cos(x[1])], [-math.sin(x[0]), 0.0]])

    loss = ln.losses.Rosenbrock(b=3.0)
    numeric = ln.drifts.Function(swirl, jacobian, dim=2)
    symbolic = ln.drifts.Function(lambda x: [sympy.sin(x[1]), sympy.cos(x[0])], jacobian, dim=2)
    theta, velocity = np.random.default_rng(3).normal(size=(2, 6, 2))
    results = [
        ln.euler_lagrange(ln.Objective(gamma=0.5, drift=drift), loss).acceleration(theta, velocity)
        for drift in (numeric, symbolic)
    ]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12)


@pytest.mark.slow
def test_many_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    dim = 10  # indices of two digits, and past the size up to which the formula is compiled
    monkeypatch.setattr("lossnav.euler_lagrange.equations._READABLE", 9)
    hessian = np.diag(np.arange(1.0, dim + 1)) + 0.1
    metric = np.diag(np.linspace(1.0, 2.0, dim))
    drift = ln.drifts.Function(lambda x: np.array([math.sin(s) for s in x]), lambda x: np.diag(np.cos(x)), dim=dim)
    loss = ln.losses.Quadratic(hessian, minimum=np.ones(dim))
    theta, velocity = np.random.default_rng(4).normal(size=(2, dim))
    found = ln.euler_lagrange(ln.Objective(gamma=0.1, metric=metric, drift=drift), loss).acceleration(theta, velocity)
    f, j = np.sin(theta), np.cos(theta)  # everything diagonal but the Hessian
    expected = 0.1 * velocity + (hessian @ (theta - 1)) / np.diag(metric) + (j - 0.1) * f
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("gamma", "drift"), [(0.0, None), (0.6, None), (0.6, ln.drifts.rotation(1.5))])
def test_residual_vanishes_on_solutions_only(gamma: float, drift: object) -> None:
    loss = ln.losses.Quadratic([[2.0, 0.5], [0.5, 1.0]], minimum=[0.0, 0.0])
    objective = ln.Objective(gamma=gamma, drift=drift)
    traj = ln.solve(objective, loss, [1.0, -2.0])
    equations = ln.euler_lagrange(objective, loss)
    assert equations.residual(traj) < 1e-7
    assert equations.residual(traj, times=[0.01, 0.5]) < 1e-7
    perturbed = ln.euler_lagrange(ln.Objective(gamma=gamma + 0.1, drift=drift), loss)
    assert perturbed.residual(traj) > 1e-2


def test_residual_of_a_computed_path_falls_with_the_square_of_its_step() -> None:
    class Chain:
        """The exact discrete optimum θ_n = mⁿ of step Δt, linear between its nodes."""

        method, end = "action", 5.0

        def __init__(self, count: int):
            self.times = np.linspace(0.0, self.end, count + 1)
            dt = self.times[1]
            rho, stiff = math.exp(-0.3 * dt), dt**2
            b = 1 + rho + stiff
            self.nodes = ((b - math.sqrt(b * b - 4 * rho)) / (2 * rho)) ** np.arange(count + 1)

        def __call__(self, t):
            return np.interp(t, self.times, self.nodes)[:, None]

    equations = ln.euler_lagrange(ln.Objective(gamma=0.3), ln.losses.Quadratic([[1.0]], minimum=[0.0]))
    coarse, fine = (equations.residual(Chain(n)) for n in (200, 400))
    assert 1.8 < coarse / fine < 4.4
    assert fine < 0.02


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ln.euler_lagrange(None, WELL), "objective = None"),
        (lambda: ln.euler_lagrange(ln.Objective(), lambda theta: 0.0), r"loss = <function.*Function\(f, dim=D\)"),
        (lambda: ln.solve(ln.Objective(), "x**2", [1.0]), r"loss = 'x\*\*2'.*of a function or of a sympy expression"),
        (lambda: ln.euler_lagrange(ln.Objective(metric=np.eye(3)), WELL), r"metric has shape \(3, 3\)"),
        (lambda: ln.euler_lagrange(ln.Objective(), WELL).acceleration([1.0], [1.0, 2.0]), "theta has shape"),
        (lambda: ln.euler_lagrange(ln.Objective(), WELL).acceleration([1.0, 2.0], 3.0), "velocity has shape"),
        (lambda: derive(0), "dim = 0"),
        (lambda: derive(1.5), "dim = 1.5"),
        (lambda: derive(2, metric="euclidean"), "metric = 'euclidean'"),
        (lambda: derive(2, metric=[[1, 2], [3, 4]]), "symmetric"),
        (lambda: derive(2, metric=[[1]]), r"metric has shape \(1, 1\)"),
        (lambda: derive(2, drift=[1]), "drift has 1 entries"),
    ],
)
def test_errors_name_the_argument(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_formula_is_a_loss() -> None:
    x_10, x_2 = sympy.symbols("x_10 x_2")
    equations = ln.euler_lagrange(ln.Objective(gamma=0.1), x_2**2 / 2 + 4 * x_10**2 * x_2)
    np.testing.assert_allclose(equations.acceleration([1.0, 2.0], [0.5, -1.0]), [0.05 + 17, -0.1 + 16], rtol=1e-14)


@pytest.mark.parametrize("price", [None, ln.prices.Power(3.0)])
def test_equations_say_of_what_they_are(price) -> None:
    objective = ln.Objective(gamma=0.1, price=price)
    kind = "EulerLagrange" if price is None else "Charged"
    assert repr(ln.euler_lagrange(objective, WELL)) == f"{kind}({objective!r}, {WELL!r})"


@pytest.mark.parametrize("metric", [lambda x: np.diag([x[0], x[0]]), lambda x: np.diag([math.cos(x[0]) - 2, 1.0])])
def test_metric_that_is_not_positive_definite_at_a_point_is_refused(metric) -> None:
    equations = ln.euler_lagrange(ln.Objective(metric=metric), ln.losses.DoubleWell())
    with pytest.raises(ValueError, match=r"metric\(theta\) .*positive definite"):
        equations.acceleration([-1.0, 0.0], [1.0, 1.0])


def test_residual_refuses_times_outside_the_path() -> None:
    loss = ln.losses.Quadratic([[1.0]], minimum=[0.0])
    traj = ln.solve(ln.Objective(gamma=1.0), loss, [1.0])
    with pytest.raises(ValueError, match="times"):
        ln.euler_lagrange(ln.Objective(gamma=1.0), loss).residual(traj, times=[0.0])
