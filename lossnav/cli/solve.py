"""solve the control problem and print the optimal path

The path minimises J = ∫ exp(−γt) (|dθ/dt|²/2η + k L(θ)) dt.

examples:
  lossnav solve --loss double-well --gamma 0.1 --start=-1.2,0.8
  lossnav solve --loss quadratic --hessian "[[2, 0], [0, 0.5]]" --minimum 1,1 --start 0,0 --json
  lossnav solve --loss rosenbrock --gamma 1 --start 0,1 --points 200
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np

from lossnav._checks import finite, whole
from lossnav.cli.values import pair, table, value, vector


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
    parser.add_argument("--points", metavar="N", type=int, default=11, help="times to print")
    parser.add_argument("--until", metavar="T", type=float, help="last time to print")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(parsed: argparse.Namespace) -> int:
    """Solve and print; the exit code is 3 (by an exception) if there is no minimiser or no convergence."""
    import lossnav as ln

    whole("--points", parsed.points, low=2, high=10**6)
    if parsed.endpoint is not None and not math.isfinite(parsed.horizon):
        raise ValueError("--endpoint needs a deadline: --horizon T")
    if parsed.until is not None:
        finite("--until", parsed.until, low=0.0, high=parsed.horizon, open_low=True)
    deadline = math.inf if parsed.endpoint is not None else parsed.horizon
    objective = ln.Objective(eta=parsed.eta, k=parsed.k, gamma=parsed.gamma, horizon=deadline)
    ends = {} if parsed.endpoint is None else {"horizon": parsed.horizon, "endpoint": parsed.endpoint}
    path = ln.solve(objective, _loss(parsed), parsed.start, method=parsed.method, **ends)
    last = min(float(path.times[-1]), path.end) if parsed.until is None else parsed.until
    times = np.linspace(0.0, last, parsed.points)
    print(json.dumps(replace(path, times=times).to_dict()) if parsed.json else _text(path, times))
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


def _text(path: Any, times: Any) -> str:
    certified = {True: "certified minimum", False: "not a minimum", None: "not certified"}[path.is_minimum]
    place = ", ".join(f"{x:.6g}" for x in path.asymptote)
    head = (
        f"method         {path.method}\naction J       {path.action:.10g}\nends at        {place}\n"
        f"certificate    {certified}; residual {path.residual:.1e}; extremals compared: {len(path.candidates)}\n\n"
    )
    rows = np.column_stack([times, path(times)])
    columns = ["t", *(f"theta_{d}" for d in range(1, rows.shape[1]))]
    return head + table([columns, *([f"{x:.6g}" for x in row] for row in rows)])
