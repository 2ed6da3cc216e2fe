"""Units are a choice: the same problem in other units has the same path and a J that scales, for every solver."""

import math

import numpy as np
import pytest

import lossnav as ln

BIG = 1e20
SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])
SMALL = 1e-20
UNITS = {"loss": "l", "time": "a", "length": "b", "metric": "m", "weight": "w"}
CHANGES = [{name: size} for name in UNITS for size in (SMALL, 1e-7, 1e7, BIG)]
CHANGES += [
    {"loss": 1e12, "time": 1e-9, "length": 1e-6, "metric": 1e5, "weight": 1e-3},
    {"length": BIG, "loss": SMALL},
    {"time": 1e-15, "weight": 1e15},
]


class Restated:
    """A problem and its statement in other units: t → time·t, θ → length·θ, L → loss·L, G → metric·G, k → weight·k."""

    def __init__(
        self,
        hessian=((2.0, 0.3), (0.3, 1.0)),
        minimum=(1.0, 0.2),
        offset=0.4,
        start=(-0.3, 1.0),
        gamma=0.5,
        drift=None,
        shift=(0.0, 0.0),
        metric=((1.5, 0.2), (0.2, 0.8)),
        well=None,
        formula=True,
        deadline=None,
        endpoint=None,
    ):
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def solve(self, method, loss=1.0, time=1.0, length=1.0, metric=1.0, weight=1.0, **options):
        eta, k = 0.7 * length**2 * metric / (time * weight * loss), 1.3 * weight / time
        drift = None
        if self.drift is not None:
            drift = ln.drifts.Linear(np.array(self.drift) / time, np.array(self.shift) * (length / time))
        dense = None if self.metric is None and metric == 1 else metric * np.array(self.metric or np.eye(2))
        horizon = math.inf if self.deadline is None or self.endpoint is not None else self.deadline * time
        objective = ln.Objective(eta, k, self.gamma / time, dense, drift, horizon)
        if self.endpoint is not None:
            options |= {"endpoint": np.array(self.endpoint) * length, "horizon": self.deadline * time}
        start = np.array(self.start) * length
        path = ln.solve(objective, self.landscape(loss, length), start, method=method, **options)
        assert path.objective is objective  # the user's units, and so is all that follows
        t = np.array([0.0, 0.3, 1.1, 1.7])
        ends = {"asymptote": path.asymptote / length, "excess": path.excess / (weight * loss)}
        cost = float(np.mean(path.kinetic(t * time) + path.potential(t * time))) * time / (weight * loss)
        return {
            "path": path(t * time) / length,
            "velocity": path.velocity(t * time) / length * time,
            "cost": cost,
            "action": path.action / (weight * loss),
            "growth": path.growth * time,
            **ends,
            "ends": [c.asymptote / length for c in path.candidates],
            "stop": path.times[-1] / time,
        }

    def landscape(self, loss, length):
        if self.well is None:
            hessian = loss / length**2 * np.array(self.hessian)
            return ln.losses.Quadratic(hessian, minimum=np.array(self.minimum) * length, offset=self.offset * loss)
        a, b, c, d = self.well
        well = ln.losses.DoubleWell(loss * a / length**4, b * length**2, loss * c / length**2, loss * d / length)
        return well if self.formula else ln.losses.Function(well.value, dim=2)


def check(problem, method, changes, tol, **options):
    base = problem.solve(method, **options)
    for change in changes:
        changed = problem.solve(method, **change, **options)
        for name, value in base.items():
            exact = method in ("closed_form", "riccati")
            same = name != "stop" if not exact else True
            if name == "ends":
                same = len(value) == len(changed[name])
            if same:
                np.testing.assert_allclose(changed[name], value, rtol=tol, atol=tol, err_msg=f"{change} {name}")


DRIFT = ((0.1, 0.4), (-0.3, 0.2))
EXACT = {
    "bowl": (Restated(), "closed_form"),
    "bowl by feedback": (Restated(), "riccati"),
    "undiscounted": (Restated(gamma=0.0, offset=0.0), "closed_form"),
    "flat": (Restated(hessian=((1.0, 1.0), (1.0, 1.0))), "closed_form"),
    "deadline": (Restated(deadline=1.7), "closed_form"),
    "endpoint": (Restated(deadline=1.7, endpoint=(0.4, 0.1)), "closed_form"),
    "drift": (Restated(drift=DRIFT, shift=(0.3, -0.2)), "riccati"),
    "growing": (Restated(hessian=((0.05, 0.0), (0.0, 0.3)), drift=((0.8, 0.1), (0.0, 0.4)), gamma=1.0), "riccati"),
    "growing, closed": (Restated(hessian=((0.05, 0.01), (0.01, 0.02)), drift=0.8, gamma=1.0), "closed_form"),
    "unseen": (Restated(hessian=((0.0, 0.0), (0.0, 1.0)), drift=((0.8, 0.1), (0.0, 0.2)), gamma=1.0), "riccati"),
    "falling": (Restated(hessian=((-0.2, 0.0), (0.0, 1.0)), gamma=1.5), "riccati"),
    "drift and deadline": (Restated(drift=DRIFT, shift=(0.3, -0.2), deadline=1.7), "riccati"),
    "weak": (Restated(drift=DRIFT, shift=(0.3, -0.2), deadline=1.7, hessian=((2e-9, 0), (0, 1e-9))), "riccati"),
}


@pytest.mark.parametrize("case", EXACT)
def test_exact_solvers_do_not_feel_the_units(case):
    problem, method = EXACT[case]
    check(problem, method, CHANGES, 1e-10)


NUMERIC = {
    "bowl": Restated(),
    "drift": Restated(drift=DRIFT, shift=(0.3, -0.2)),
    "deadline": Restated(deadline=1.7),
    "wells": Restated(well=(1.0, 1.0, 1.0, -0.5), gamma=0.4, start=(-0.6, 0.4), metric=None),
    "endpoint": Restated(well=(1.0, 1.0, 1.0, -0.5), start=(-0.6, 0.4), deadline=2.0, endpoint=(1.06, 0.0)),
}


@pytest.mark.parametrize("method", ["action", "bvp"])
@pytest.mark.parametrize("case", NUMERIC)
def test_numeric_solvers_do_not_feel_the_units(case, method):
    changes = [change for change in CHANGES if 1e-7 not in change.values() and 1e7 not in change.values()]
    check(NUMERIC[case], method, changes[:: 1 if method == "action" else 3], 1e-8 if method == "action" else 1e-6)


@pytest.mark.parametrize("change", [{"loss": BIG}, {"length": SMALL, "time": BIG}], ids=str)
def test_a_landscape_without_formula_does_not_feel_the_units(change):
    """Its derivatives are differences, so that this is about their steps, too."""
    problem = Restated(well=(1.0, 1.0, 1.0, -0.5), formula=False, start=(0.6, 0.4), metric=None)
    check(problem, "action", [change], 1e-5, rtol=1e-6)


def test_parameters_in_units_of_their_own_under_a_drift_without_formula():
    """θ₂ → 2⁻³⁰θ₂: the metric's diagonal spans 60 binary orders, and a drift that couples both has to be scaled."""
    results = []
    for size in (1.0, 2.0**-30):
        units = np.array([1.0, size])
        drift = ln.drifts.Function(
            lambda x, u=units: u * np.sin(x / u)[::-1], lambda x, u=units: np.outer(u, np.cos(x / u) / u) * SWAP, dim=2
        )
        loss = ln.losses.Quadratic(np.array([[2.0, 0.3], [0.3, 1.0]]) / np.multiply.outer(units, units), [0.0, 0.0])
        objective = ln.Objective(gamma=0.5, metric=np.diag(units**-2.0), drift=drift, horizon=1.7)
        path = ln.solve(objective, loss, [1.0, 0.5 * size])
        results.append(np.append(path([0.4, 1.7]) / units, path.action))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)


def test_a_drift_whose_slopes_are_differences_does_not_feel_the_units():
    """Differences reach 7e-4 far from θ ≤ 1, which is a hundred turns of a drift that bends over 7e-6."""
    results = []
    for size in (1.0, 7e-6):
        drift = ln.drifts.Function(lambda x, u=size: u * np.stack([np.sin(x[..., 1] / u), -np.tanh(x[..., 0] / u)], -1))
        loss = ln.losses.Quadratic(np.array([[2.0, 0.3], [0.3, 1.0]]) / size**2, [0.0, 0.0])
        path = ln.solve(ln.Objective(eta=size**2, gamma=1.0, drift=drift, horizon=4.0), loss, [1.0 * size, 0.5 * size])
        results.append(np.append(path([0.4, 1.7]) / size, path.action))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)


def test_messages_and_reports_say_their_units():
    loss = ln.losses.Quadratic([[-1e14]], minimum=[0.0])
    with pytest.raises(ln.NoMinimiser, match=r"natural units: time 1\.19e-07"):
        ln.solve(ln.Objective(gamma=1.0), loss, [1.0])
    with pytest.raises(ValueError, match=r"eta = 1e-300.*other units"):
        ln.solve(ln.Objective(eta=1e-300, k=1e-300), ln.losses.Quadratic([[1e-300]], minimum=[0.0]), [1.0])
    ordinary = ln.solve(ln.Objective(gamma=1.0), ln.losses.Quadratic([[2.0]], minimum=[0.0]), [1.0])
    assert ordinary.action == 0.5  # nothing is converted where nothing is gained
