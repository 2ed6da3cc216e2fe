"""``ln.solve`` on seventy problems, beside what is known of them: J, how it ended, its time and its calls of the loss.

What is known was kept by ``python -m benchmarks.reference``: where the solver was right, its own answers then, with
their cost; where it was wrong, the true J from elsewhere. Seconds are those of a processor.
"""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import lossnav as ln
from benchmarks.cases import BOOK, CASES, Case
from benchmarks.machine import threads
from benchmarks.report import Report, Settings
from lossnav import records
from lossnav.trajectory.status import Status

KNOWN = Path(__file__).with_name("reference.json")
SAME = 1e-8  # J, relative


@dataclass(frozen=True)
class Outcome:
    """What ``ln.solve`` made of a case.

    Attributes:
        action: J, or its excess over resting where it is infinite; None where it was refused.
        status: a member's name of ``lossnav.trajectory.status.Status``, or that of the error that said no.
        end: where the path comes to rest, or is at a deadline; None where there is no such place.
        seconds: of a processor.
        values, gradients, hessians: calls of the functions that a ``losses.Function`` was given.
    """

    action: float | None
    status: str
    end: list[float] | None
    seconds: float
    values: int
    gradients: int
    hessians: int


def measure(case: Case) -> Outcome:
    """Solve a case, once."""
    objective, loss = case.make()
    begin = time.process_time()
    action, end = None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of calls point by point: they are what is counted
        try:
            path = ln.solve(objective, loss, case.start, throw=False, **case.options)
        except (ln.NoMinimiser, ln.NotConverged) as error:
            status = type(error).__name__
        else:
            action, status = (path.action if math.isfinite(path.action) else path.excess), path.status.name
            end = path.asymptote.tolist() if np.all(np.isfinite(path.asymptote)) else None
    seconds = time.process_time() - begin
    parts = loss._parts() if isinstance(loss, ln.losses.Function) else []
    calls = {part.name: part.calls for part in parts}
    return Outcome(action, status, end, seconds, *(calls.get(name, 0) for name in ("value", "gradient", "hessian")))


def known() -> dict[str, dict[str, Any]]:
    """Return what ``reference`` has kept, by the cases' names."""
    return records.load(KNOWN).results


def agrees(found: Outcome, row: dict[str, Any]) -> bool:
    """Return whether J is what is known to be true, or the case was rightly refused, with the same status.

    The best path of an incomplete search is exact, too; of any other outcome J is no promise.
    """
    solved = {Status.CONVERGED.name, Status.SEARCH_INCOMPLETE.name}
    if found.status != row["status"] or row["status"] not in solved:
        return found.status == row["status"]
    assert found.action is not None
    return math.isclose(found.action, row["action"], rel_tol=row["rtol"], abs_tol=row["rtol"])


def run(settings: Settings) -> Report:
    before = known()
    cases = BOOK[:4] if settings.quick else CASES
    asked = ("values", "gradients", "hessians")
    rows, good = [], {True: [0, 0], False: [0, 0]}
    with threads(settings.threads or 1) as count:
        for case in tqdm(cases, desc="paths", leave=False):
            outcome, row = measure(case), before[case.name]
            right = agrees(outcome, row)
            tally = good[not case.wrong]
            tally[0], tally[1] = tally[0] + right, tally[1] + 1
            now = asdict(outcome)
            rows.append([
                case.name, outcome.action, row["action"], row["action_then"], outcome.status, row["status_then"],
                "yes" if right else "no", outcome.seconds, row["seconds"],
                *(calls[name] or None for name in asked for calls in (now, row)),
            ])  # fmt: skip
    old, new = good[True], good[False]
    return Report(
        columns=["problem", "J", "known", "then", "status", "then", "right", "CPU s", "then", "values", "then",
                 "gradients", "then", "Hessians", "then"],
        formats=[".10g", ".10g", ".10g", "", "", "", ".2f", ".2f", ",d", ",d", ",d", ",d", ",d", ",d"],
        rows=rows,
        checks={
            f"{old[0]} of {old[1]} problems that were solved still are": old[0] == old[1],
            f"{new[0]} of {new[1]} that were not are now": new[0] == new[1],
        },
        config={"cases": len(cases), "threads": count, "same": SAME},
        notes=["then: of the revision that reference.json names; calls: of functions that a user has written",
               "known: the solver's own J where it was right, else the true one by another channel (truth.py)"],
    )  # fmt: skip
