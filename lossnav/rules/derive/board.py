"""Every combination of a few assumptions as plain data: what a board of switches shows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from lossnav import _checks
from lossnav._checks import NoMinimiser
from lossnav.problem import drifts
from lossnav.problem.objective import Objective
from lossnav.rules import assume
from lossnav.rules.derive.derivation import derive
from lossnav.rules.derive.rule import LearningRule

NUMBERS = {
    "eta": 1.0,
    "k": 1.0,
    "gamma": 0.5,
    "j": 0.1,
    "alpha": 0.2,
    "c": 1.0,
    "dt": 0.1,
    "beta": 0.9,
    "memory": 0.999,
}

SWITCHES: dict[str, dict[str, str]] = {
    "horizon": {"far": "γ = 0: the whole future counts", "discounted": "γ > 0"},
    "metric": {"plain": "G = 1", "rms": "G = √V, from an average of g²"},
    "drift": {"none": "f = 0", "decay": "f = −jθ"},
    "belief": {"exact": "m = g", "average": "m is an average of g", "fading": "an average, believed to fade at α"},
    "curvature": {
        "none": "h = 0", "average": "h = cV, V an average of g²", "instant": "h = cg², of this gradient alone",
        "signal": "h = cm², of the mean believed in",
    },
    "time": {"first": "Δθ = Δt·v", "exact": "the flow over all of Δt"},
}  # fmt: skip

NAMES: dict[tuple[str, ...], str] = {  # horizon, metric, drift, belief, curvature, time
    ("discounted", "plain", "none", "exact", "none", "first"): "SGD",
    ("discounted", "plain", "none", "average", "none", "first"): "SGD with momentum",
    ("discounted", "plain", "decay", "exact", "none", "first"): "SGDW",
    ("far", "plain", "none", "exact", "instant", "first"): "signSGD",
    ("far", "plain", "none", "average", "signal", "first"): "Signum",
    ("far", "plain", "none", "exact", "average", "first"): "RMSprop",
    ("far", "plain", "none", "average", "average", "first"): "Adam, ε = 0",
    ("far", "plain", "none", "fading", "average", "first"): "Adam",
    ("discounted", "rms", "none", "average", "none", "first"): "Adam",
    ("discounted", "rms", "decay", "average", "none", "first"): "AdamW",
}


def combinations() -> Iterator[dict[str, str]]:
    """Yield every setting of the switches, as {switch: position}."""
    for positions in itertools.product(*SWITCHES.values()):
        yield dict(zip(SWITCHES, positions, strict=True))


def chosen(positions: Mapping[str, str], **numbers: float) -> LearningRule:
    """Return the rule of a setting of the switches.

    Args:
        positions: {switch: position} for every name in ``SWITCHES``.
        numbers: in place of some in ``NUMBERS``.

    Raises:
        ValueError: a switch or a position does not exist.
        NoMinimiser: there is no plan under these assumptions.
    """
    if set(positions) != set(SWITCHES):
        raise ValueError(f"positions names {sorted(positions)}, but it must name {sorted(SWITCHES)}")
    for switch, position in positions.items():
        _checks.one_of(f"positions[{switch!r}]", position, tuple(SWITCHES[switch]))
    if unknown := sorted(set(numbers) - set(NUMBERS)):
        raise ValueError(f"numbers has {unknown}, but it must be of {sorted(NUMBERS)}")
    x = {**NUMBERS, **numbers}
    drift = drifts.weight_decay(x["j"]) if positions["drift"] == "decay" else None
    gamma = x["gamma"] if positions["horizon"] == "discounted" else 0.0
    belief = {
        "exact": None, "average": assume.Filter(x["beta"]), "fading": assume.Filter(x["beta"], fading=x["alpha"])
    }  # fmt: skip
    curvature = {
        "none": None, "average": assume.SecondMoment(x["memory"], scale=x["c"]),
        "instant": assume.SecondMoment(0.0, scale=x["c"]),
        "signal": assume.SecondMoment(0.0, scale=x["c"], signal=True),
    }  # fmt: skip
    return derive(
        Objective(x["eta"], x["k"], gamma, drift=drift), belief=belief[positions["belief"]],
        curvature=curvature[positions["curvature"]], dt=x["dt"], exact=positions["time"] == "exact",
        metric=assume.RootMeanSquare(x["memory"]) if positions["metric"] == "rms" else None,
    )  # fmt: skip


def corner(positions: Mapping[str, str], **numbers: float) -> dict[str, Any]:
    """Return what a board shows for a setting of the switches, as plain data.

    Args:
        positions: as in ``chosen``.
        numbers: as in ``chosen``.

    Returns:
        ``switches`` and ``name`` (of a published optimizer, or None); then either ``refused``, the reason why there is
        no plan, or ``equation`` and ``velocity`` (LaTeX, of one coordinate), ``law`` (the velocity as an expression of
        JavaScript in eta, k, gamma, G, j, alpha, c, V, m, theta), ``source`` (the torch code of a step) and ``python``
        (a call that makes the rule).

    Raises:
        ValueError: as in ``chosen``.
    """
    made: dict[str, Any] = {"switches": dict(positions), "name": None, "refused": None}
    try:
        rule = chosen(positions, **numbers)
    except NoMinimiser as reason:
        return made | {"refused": str(reason)}
    equation, velocity = rule.latex
    return made | {
        "name": NAMES.get(tuple(positions[switch] for switch in SWITCHES)),
        "equation": equation, "velocity": velocity, "law": rule.javascript, "source": rule.source,
        "python": as_python(positions, **numbers),
    }  # fmt: skip


def corners() -> list[dict[str, Any]]:
    """Return ``corner`` for every combination; takes some seconds."""
    return [corner(positions) for positions in combinations()]


def as_python(positions: Mapping[str, str], **numbers: float) -> str:
    """Return the text of a call that makes the rule of ``chosen``.

    Raises:
        ValueError: a position does not exist.
    """
    for switch, position in positions.items():
        _checks.one_of(f"positions[{switch!r}]", position, tuple(SWITCHES.get(switch, ())))
    x = {**NUMBERS, **numbers}
    wants = [f"{name}={x[name]!r}" for name in ("eta", "k") if x[name] != 1]
    wants += [f"gamma={x['gamma']!r}"] if positions["horizon"] == "discounted" else []
    wants += [f"drift=ln.drifts.weight_decay({x['j']!r})"] if positions["drift"] == "decay" else []
    scale = f", scale={x['c']!r}" if x["c"] != 1 else ""
    belief = {
        "exact": [], "average": [f"belief=ln.assume.Filter({x['beta']!r})"],
        "fading": [f"belief=ln.assume.Filter({x['beta']!r}, fading={x['alpha']!r})"],
    }  # fmt: skip
    curvature = {
        "none": [], "average": [f"curvature=ln.assume.SecondMoment({x['memory']!r}{scale})"],
        "instant": [f"curvature=ln.assume.SecondMoment(0.0{scale})"],
        "signal": [f"curvature=ln.assume.SecondMoment(0.0{scale}, signal=True)"],
    }  # fmt: skip
    metric = [f"metric=ln.assume.RootMeanSquare({x['memory']!r})"] if positions["metric"] == "rms" else []
    parts = [
        f"ln.Objective({', '.join(wants)})", *belief[positions["belief"]], *curvature[positions["curvature"]], *metric,
        f"dt={x['dt']!r}", *(["exact=True"] if positions["time"] == "exact" else []),
    ]  # fmt: skip
    return "import lossnav as ln\n\nrule = ln.derive(\n    " + ",\n    ".join(parts) + ",\n)\n"
