"""What was inferred: estimates with intervals, what no such record tells, and whether the family is refuted."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lossnav import _checks
from lossnav._checks import Array
from lossnav._shown import Shown, by_coordinate
from lossnav.analysis.inference.families import Values, place_on_the_line, value_on_the_line
from lossnav.analysis.inference.records import Rates
from lossnav.problem.losses import Loss
from lossnav.problem.objective import Objective
from lossnav.trajectory.solve import optimal_velocity


@dataclass(frozen=True)
class Estimate:
    """A value with the interval that is not excluded; ``low`` = 0 or ``high`` = inf where an edge is not."""

    value: float
    low: float
    high: float
    unit: str

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] {self.unit}"


@dataclass(frozen=True)
class Ambiguity:
    """Assumptions that the record does not tell apart.

    Attributes:
        names: which.
        relation: what is known of them together.
        examples: two objectives for which the same path is optimal, beside the noise; empty where the family has none.
        separated_by: what would tell them apart.
    """

    names: tuple[str, ...]
    relation: str
    examples: tuple[Objective, ...]
    separated_by: str


@dataclass(frozen=True)
class Fit:
    """How well the best member of the family fits.

    Attributes:
        residual: root mean square deviation, in the record's unit (of rates, and of rules: relative).
        expected: what noise alone would leave; NaN where it is not known.
        p_value: of the local test: χ², or where the noise is not known whether deviations hang together in time
            (von Neumann's ratio); 1 where they are rounding.
        refuted: whether the family is, at the level of the intervals, or because its path is not the cheapest.
        because: why, in words; empty if it is not.
        excess: J of the fitted extremal beyond that of the optimum from its start at the same assumptions, unit ℓ;
            NaN where that was not asked.
    """

    residual: float
    expected: float
    p_value: float
    refuted: bool
    because: str
    excess: float = math.nan


@dataclass(frozen=True, eq=False)
class Inference(Shown):
    """What a record says of a learner's assumptions; ``ln.infer`` makes it.

    ``plot()`` draws h/r against r, the assumption plot, or the fitted path where no modes are seen.

    Attributes:
        family: the family that is asked, of a list the one that BIC prefers among those that are not refuted.
        estimates: by name; only what is identified.
        unidentified: what is not.
        fit: of the best member.
        score: logarithm of the likelihood and of what BIC needs: "logL", "parameters", "bic", "p_value".
        members: values that are not excluded, along the interval of γ; the best first.
        rates: of single modes, where the record has such.
        record: times, shape (N,), places and fitted places, (N, D); None for rates.
        warnings: what limits the answer.
        rule: what a recorded optimizer was read as, in words.
        law, loss: the family's equations, and the landscape; others: the inferences of the other families of a list.
        again: makes the record's evidence once more, for ``predict``.
    """

    _drawing: ClassVar[str] = "inference"

    family: str
    estimates: Mapping[str, Estimate]
    unidentified: tuple[Ambiguity, ...]
    fit: Fit
    score: Mapping[str, float]
    members: tuple[Values, ...] = ()
    rates: Rates | None = None
    record: tuple[Array, Array, Array] | None = None
    warnings: tuple[str, ...] = ()
    rule: str = ""
    law: Any = None
    loss: Loss | None = None
    others: tuple[Inference, ...] = field(default=(), repr=False)
    again: Callable[[], Any] | None = field(default=None, repr=False)

    def objective(self) -> Objective:
        """Return the problem at the estimates, with k = 1 and η = a.

        Raises:
            ValueError: if it is not identified, is at an edge (no finite a), or the family has no J.
        """
        if self.law is None or not self.law.plans:
            raise ValueError(f"family = {self.family!r} has no objective of this form")
        if self.unidentified:
            first = self.unidentified[0]
            raise ValueError(
                f"{', '.join(first.names)} are not identified ({first.relation}); see unidentified[0].examples"
            )
        if not math.isfinite(self.members[0]["a"]):
            raise ValueError(
                "the estimate is gradient descent, a = inf: only gamma/a is known, and J has no such limit"
            )
        return self.law.objective(self.members[0])

    def predict(
        self, *, stakes: float | None = None, announced: float | None = None, deadline: float | None = None,
        start: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return lowest and highest of what assumptions that are not excluded predict, shape (2, M).

        Each number has an interval of its own, by the profile likelihood at the level of the estimates.

        Args:
            stakes: κ > 0: the rates of the modes that were seen if the loss counts κ times as much; of a heavy ball
                those of the assumptions by which none swings then.
            announced: t₁ > 0: how far each mode has gone when a move of its minimum comes that was known for a time t₁,
                as a share of the move (book: I5).
            deadline: T > 0: the gains at the start with a free end after T and no charge there.
            start: θ, shape (D,): the velocity there; M = D. It is solved for some hundreds of times: in a second or two
                on a bowl, in a minute or two where no path is known in closed form.

        Raises:
            ValueError: not exactly one is given, it is out of range, or the family does not say it.
        """
        asked = {"stakes": stakes, "announced": announced, "deadline": deadline, "start": start}
        given = {name: value for name, value in asked.items() if value is not None}
        if len(given) != 1:
            raise ValueError("give exactly one of stakes, announced, deadline and start")
        ((name, value),) = given.items()
        says = self.family == "planner" or (name == "stakes" and self.family != "deadline")
        if self.law is None or self.again is None or not says:
            raise ValueError(f"family = {self.family!r} does not say what follows from {name}")
        if start is not None:
            if self.loss is None:
                raise ValueError("start is given, but the record has no loss")
            begin = _checks.array("start", start, shape=(self.loss.dim,))
            return _spread(self.again(), self._velocity(begin))
        if self.rates is None:
            raise ValueError(f"{name} is given, but no single modes were seen")
        number = _checks.positive(name, value)
        return _spread(self.again(), lambda values: self._mode(name, number, values))

    def _velocity(self, start: Array) -> Callable[[Values], Array]:
        """Return the velocity at a place, (..., D), as a function of values; of alike ones it is found once."""
        law, loss = self.law, self.loss
        assert law is not None and loss is not None

        @functools.cache
        def found(**numbers: float) -> Array:
            if math.isfinite(numbers["a"]):
                return optimal_velocity(law.objective(numbers), loss, start)
            return -loss.gradient(start) / numbers["B"]  # without a finite a it is gradient descent's

        def velocity(values: Values) -> Array:
            columns = [np.ravel(value).tolist() for value in values.values()]
            each = [found(**dict(zip(values, row, strict=True))) for row in zip(*columns, strict=True)]
            return np.reshape(each, (*np.shape(values["a"]), loss.dim))

        return velocity

    def _mode(self, name: str, number: float, values: Values) -> Array:
        """Return what is predicted of each mode, shape (..., M)."""
        assert self.law is not None and self.rates is not None
        h = np.asarray(self.rates.h)
        if name == "stakes":
            return np.asarray(self.law.rates(number * h, values))
        r, gamma = self.law.rates(h, values), values["gamma"][..., None]
        faded = np.exp(-(2 * r + gamma) * number)
        if name == "announced":
            return np.asarray(r / (r + (r + gamma + r * faded) / (1 - faded)))
        with np.errstate(invalid="ignore"):
            gains = r * (r + gamma) * (1 - faded) / (r + gamma + r * faded)
        return np.where(np.isinf(gamma), r, gains)  # gradient descent sees no deadline

    def compare(self) -> list[dict[str, Any]]:
        """Return the families that were asked, best BIC first: family, logL, parameters, bic, p_value, refuted."""
        answers = sorted((self, *self.others), key=lambda answer: answer.score["bic"])
        return [{"family": answer.family, **answer.score, "refuted": answer.fit.refuted} for answer in answers]

    def _facts(self) -> dict[str, Any]:
        numbers = {f"{name}_{end}": getattr(estimate, end) for name, estimate in self.estimates.items()
                   for end in ("value", "low", "high")}  # fmt: skip
        return {"family": self.family, **numbers, "refuted": self.fit.refuted, "because": self.fit.because,
                "p_value": self.fit.p_value, "excess": self.fit.excess, "rule": self.rule,
                "unidentified": [", ".join(ambiguity.names) for ambiguity in self.unidentified]}  # fmt: skip

    def _columns(self) -> dict[str, Array]:
        if self.rates is None:
            if self.record is None:
                return {}
            times, places, fitted = self.record
            return {"t": times, **by_coordinate("theta", places), **by_coordinate("fit", fitted)}
        return {"h": np.asarray(self.rates.h), "r": np.asarray(self.rates.r), "error": np.asarray(self.rates.error)}

    def __repr__(self) -> str:
        return f"Inference({self.family}: {'; '.join(self._said())})"

    def __str__(self) -> str:
        return "\n  ".join([self.family, *self._said()])

    def _said(self) -> list[str]:
        parts = [self.rule] if self.rule else []
        parts += [f"{name} = {estimate}" for name, estimate in self.estimates.items()]
        parts += [f"{', '.join(unclear.names)} not identified: {unclear.relation}" for unclear in self.unidentified]
        return parts + [f"refuted: {self.fit.because}"] * self.fit.refuted


def _spread(seen: Any, predicted: Callable[[Values], Array]) -> Array:
    """Return the ends of the profile intervals of what is predicted, shape (2, M)."""
    best = predicted(seen.family.values(seen.likelihood.x, seen.scale))
    if not np.all(np.isfinite(best)):
        raise ValueError("at these stakes a mode swings, so that it has no rate")

    def ends(index: int) -> list[float]:
        size = abs(float(best[index])) or 1.0

        def place(x: Array) -> Array:
            return place_on_the_line(predicted(seen.family.values(x, seen.scale))[..., index], size)

        return [value_on_the_line(end, size) for end in seen.likelihood.interval(place)]

    return np.transpose([ends(index) for index in range(len(best))])
