"""The solvers, in the order in which they are tried."""

from __future__ import annotations

from lossnav.trajectory.action import Action, Curved, Timed
from lossnav.trajectory.boundary_value import Collocation
from lossnav.trajectory.case import Case, Solver
from lossnav.trajectory.charged import OnBowl, OnMesh
from lossnav.trajectory.closed_form import ClosedForm
from lossnav.trajectory.riccati import Riccati

SOLVERS: tuple[Solver, ...] = (ClosedForm(), Riccati(), Action(), Curved(), Collocation(), Timed())
CHARGED: tuple[Solver, ...] = (OnBowl(), OnMesh())  # where something else than |θ̇|²/2η is charged
AUTO = "auto"
METHODS = (AUTO, *(solver.name for solver in SOLVERS))


def _solvers(case: Case) -> tuple[Solver, ...]:
    return SOLVERS if case.objective.price is None else CHARGED


def reasons(case: Case) -> dict[str, str]:
    """Return for each solver, by name, why it declines a case; "" if it solves it."""
    return {solver.name: solver.accepts(case) for solver in _solvers(case)}


def choose(case: Case, method: str) -> Solver:
    """Return the solver of a name, or with "auto" the first that accepts.

    Raises:
        ValueError: with the reason, if that one declines; with all reasons, if every one does.
    """
    declined = reasons(case)
    taken = [name for name, reason in declined.items() if not reason]
    wanted = taken[:1] if method == AUTO else [name for name in taken if name == method]
    if wanted:
        return next(solver for solver in _solvers(case) if solver.name == wanted[0])
    if method != AUTO:
        why = declined.get(method, "is of |θ̇|²/2η alone, and objective.price is set")
        raise ValueError(f"method = {method!r} {why}; use {' or '.join(map(repr, taken)) or 'another problem'}")
    raise ValueError(
        "objective: no method takes this combination of price, metric, drift and deadline: "
        + "; ".join(f"{name!r} {reason}" for name, reason in declined.items())
    )
