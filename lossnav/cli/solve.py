"""solve the control problem and print the optimal path

The path minimises J = ∫ exp(−γt) (|dθ/dt|²/2η + k L(θ)) dt. Write a vector that begins with a minus as --start=-1,2.

examples:
  lossnav solve --loss double-well --gamma 0.1 --start=-1.2,0.8
  lossnav solve --loss quadratic --hessian "[[2, 0], [0, 0.5]]" --minimum 1,1 --start 0,0 --json
  lossnav solve --loss rosenbrock --gamma 1 --start 0,1 --points 200 --output path.npz
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from lossnav._checks import finite
from lossnav._writing import check_place, replacing
from lossnav.cli.values import pair, table, value, vector

NAME = "solve"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``lossnav solve``."""
    parser.add_argument("--loss", choices=("double-well", "quadratic", "rosenbrock"), default="double-well", help="L")
    parser.add_argument("--loss-option", metavar="NAME=VALUE", type=pair, action="append", default=[],
                        help="of the double well (a, b, c, d) or of Rosenbrock's function (a, b)")  # fmt: skip
    parser.add_argument("--hessian", metavar="MATRIX", type=value, help="of the quadratic loss")
    parser.add_argument("--minimum", metavar="A,B,…", type=vector, help="of the quadratic loss")
    parser.add_argument("--start", metavar="A,B,…", type=vector, required=True, help="θ at t = 0")
    for name, default, what in (("eta", 1.0, "learning rate η"), ("k", 1.0, "weight of the loss"),
                                ("gamma", 0.0, "discount rate γ")):  # fmt: skip
        parser.add_argument(f"--{name}", metavar="X", type=float, default=default, help=what)
    parser.add_argument("--horizon", metavar="T", type=float, default=math.inf, help="deadline, with a free end")
    parser.add_argument("--endpoint", metavar="A,B,…", type=vector, help="θ at the deadline")
    parser.add_argument("--method", default="auto", choices=("auto", "closed_form", "riccati", "action", "bvp"),
                        help="solver")  # fmt: skip
    parser.add_argument("--points", metavar="N", type=int, default=11, help="times to print or store")
    parser.add_argument("--until", metavar="T", type=float, help="last time to print or store")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--output", metavar="FILE", type=Path, help="store times, path and velocity (.npz)")


def run(parsed: argparse.Namespace) -> int:
    """Solve and print; the exit code is 3 (by an exception) if there is no minimiser or no convergence."""
    import lossnav as ln

    if parsed.points < 2:
        raise ValueError(f"--points = {parsed.points}, but it must be >= 2")
    if parsed.endpoint is not None and not math.isfinite(parsed.horizon):
        raise ValueError("--endpoint needs a deadline: --horizon T")
    if parsed.output is not None:
        if parsed.output.suffix != ".npz":
            raise ValueError(f"--output = {str(parsed.output)!r}, but its name must end in .npz")
        check_place(parsed.output)
    if parsed.until is not None:
        finite("--until", parsed.until, low=0.0, high=parsed.horizon, open_low=True)
    deadline = math.inf if parsed.endpoint is not None else parsed.horizon
    objective = ln.Objective(eta=parsed.eta, k=parsed.k, gamma=parsed.gamma, horizon=deadline)
    ends = {} if parsed.endpoint is None else {"horizon": parsed.horizon, "endpoint": parsed.endpoint}
    path = ln.solve(objective, _loss(parsed), parsed.start, method=parsed.method, **ends)
    last = min(float(path.times[-1]), path.end) if parsed.until is None else parsed.until
    times = np.linspace(0.0, last, parsed.points)
    found = {"times": times, "path": path(times), "velocity": path.velocity(times)}
    if parsed.output is not None:
        _store(parsed.output, found)
    print(_json(path, found) if parsed.json else _text(path, found))
    return 0


def _loss(parsed: argparse.Namespace) -> Any:
    from lossnav.problem.losses import DoubleWell, Quadratic, Rosenbrock

    options = dict(parsed.loss_option)
    if parsed.loss == "quadratic":
        if options or parsed.hessian is None:
            raise ValueError("--loss quadratic takes --hessian MATRIX and --minimum A,B,…, and no --loss-option")
        minimum = np.zeros(len(parsed.start)) if parsed.minimum is None else parsed.minimum
        return Quadratic(parsed.hessian, minimum=minimum)
    if parsed.hessian is not None or parsed.minimum is not None:
        raise ValueError(f"--hessian and --minimum belong to --loss quadratic, but the loss is {parsed.loss}")
    maker, allowed = (DoubleWell, "abcd") if parsed.loss == "double-well" else (Rosenbrock, "ab")
    for name in options:
        if name not in allowed:
            raise ValueError(f"--loss-option has {name!r}, but {parsed.loss} takes {', '.join(allowed)}")
    return maker(**options)


def _facts(path: Any) -> dict[str, Any]:
    return {
        "method": path.method, "action": path.action, "asymptote": path.asymptote.tolist(),
        "is_minimum": path.is_minimum, "residual": path.residual, "compared": len(path.candidates),
    }  # fmt: skip


def _text(path: Any, found: dict[str, Any]) -> str:
    facts = _facts(path)
    certified = {True: "certified minimum", False: "not a minimum", None: "not certified"}[path.is_minimum]
    place = ", ".join(f"{x:.6g}" for x in facts["asymptote"])
    head = (
        f"method         {path.method}\naction J       {path.action:.10g}\nends at        {place}\n"
        f"certificate    {certified}; residual {path.residual:.1e}; extremals compared: {facts['compared']}\n\n"
    )
    columns = ["t", *(f"theta_{d + 1}" for d in range(found["path"].shape[1]))]
    rows = np.column_stack([found["times"], found["path"]])
    return head + table([columns, *([f"{x:.6g}" for x in row] for row in rows)])


def _json(path: Any, found: dict[str, Any]) -> str:
    """Return strict JSON: what is not finite becomes null."""

    def plain(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: plain(entry) for key, entry in item.items()}
        if isinstance(item, list):
            return [plain(entry) for entry in item]
        return None if isinstance(item, float) and not math.isfinite(item) else item

    arrays = {name: array.tolist() for name, array in found.items()}
    return json.dumps(plain({**_facts(path), **arrays}), allow_nan=False)


def _store(target: Path, found: dict[str, Any]) -> None:
    with replacing(target) as stream:
        np.savez(stream, **found)
