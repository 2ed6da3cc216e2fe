"""The text of a step, in torch's foreach operations or in C, from the operations of ``program``.

A ``Statement`` says what the step is: the numbers of a plan and what is believed, each of them a constant of one rule,
or a name that gets its value in every step (the optimizers with a class of their own, whose options move). Every line
is written here: of a user's strings only the names of averages get into the text, and those are checked.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from lossnav.problem.drifts import Linear
from lossnav.rules.assume import Filter
from lossnav.rules.assumption import Curvature, Look, Metric, absent
from lossnav.rules.derive import charged, coordinate
from lossnav.rules.derive.numbers import PYTHON, C, Number
from lossnav.rules.derive.program import Operation, Product, Program, Stream, as_stream, decayed, root
from lossnav.rules.derive.state import look

if TYPE_CHECKING:
    from lossnav.rules.derive.rule import LearningRule

_ZERO = Number.of(0.0)
_SMALLEST = {  # numbers of a precision, which kernels.h has for C
    "tiny": "    tiny = torch.finfo(theta[0].dtype).tiny",
    "lost": "    lost = torch.finfo(theta[0].dtype).tiny**0.5",
}
LR = Number.named("lr")


@dataclass(frozen=True)
class Statement:
    """What a step is.

    Attributes:
        belief, curvature, metric: what is believed; their numbers may be ``Number``.
        control_gain, gamma, decay, fading: ηk, γ, j of a drift −jθ, and α.
        exact: whether it is the exact flow over Δt.
        held: whether what is believed stands still within a step, whatever is forecast beyond.
        dt: Δt where a slope in time is believed.
        shrinks: a decay of the weights beside the plan, per unit of ``lr``.
        root: (half, pull) → √(half² + pull).
        names: the numbers that have a name, in the order in which a step is given them.
        keys: names of averages that are kept under another.
        moves: whether the averages move; False where they are given as they are to be believed, and V is used up.
        price: what else is charged for motion: it heeds the mean, and keeps a step within its limit.
        averaging: the rate at which the weights are averaged, 0 where they are not.
    """

    belief: Filter
    curvature: Curvature | None = None
    metric: Metric | None = None
    control_gain: Any = 1.0
    gamma: Any = 0.0
    decay: Any = 0.0
    fading: Any = 0.0
    exact: bool = False
    held: bool = False
    dt: Any = None
    shrinks: Any = 0.0
    root: Callable[[Any, Any], Any] = root
    names: tuple[str, ...] = ()
    keys: dict[str, str] = field(default_factory=dict)
    moves: bool = True
    price: Any = None
    averaging: float = 0.0


class Written(NamedTuple):
    """A step as text.

    Attributes:
        memory: the averages it keeps, in the order of its arguments.
        python: ``step(theta, g, *memory, n, lr)`` with torch's foreach operations, for lists of tensors that stand in
            the same step n; behind n the number of curvatures that it was told, if it is told any, and behind lr the
            numbers that have names.
        kernel: the body of a loop in C, for one number of each tensor.
        told: whether it is told a curvature.
    """

    memory: tuple[str, ...]
    python: str
    kernel: str
    told: bool


def written(rule: LearningRule) -> Written:
    """Return the step of a rule as text.

    Raises:
        ValueError: the rule is not of one coordinate with numbers, or it needs more than gradients, or an assumption
            uses what only arrays have.
    """
    _refuse(rule)
    try:
        return write(Statement(
            rule.belief, rule.curvature, rule.metric, rule.objective.eta * rule.objective.k, rule.objective.gamma,
            decay_of(rule), float(rule.belief.fading), rule.exact, dt=rule.dt,
            price=None if rule.averaging else rule.price, averaging=rule.averaging,
        ))  # fmt: skip
    except (TypeError, AttributeError, ZeroDivisionError) as error:
        raise ValueError(
            f"an assumption has an operation of which no step is generated ({error}), but it must be one of +, -, *, "
            "/, **, abs, ln.assume.root and the methods of Look; rule(gradient, state, theta) on arrays takes others"
        ) from error


def of_names(kind: type[Any], **values: Any) -> Any:
    """Return an assumption whose numbers may be ``Number``, or True and False; the others are its defaults."""
    assumption = object.__new__(kind)
    for option in fields(kind):
        object.__setattr__(assumption, option.name, values.get(option.name, option.default))
    return assumption


def write(what: Statement) -> Written:
    """Return a step as text."""
    program = Program(frozenset(what.names))
    if not what.moves:  # V is nobody's memory: what is computed of it may take its place
        program.offsets["v"] = _ZERO
    if not absent(what.shrinks):
        program.do("mul", "theta", "theta", 1.0 + -(LR * what.shrinks), words="decay")
    # The assumptions move their averages and say what is believed; the operations for that are written on the way.
    view = ListLook(program, what)
    mean, variance, metric_variance = look(view, what.belief, what.curvature, what.metric)
    curvature = _ZERO if what.curvature is None else what.curvature.term(variance)
    metric = Number.of(1.0) if what.metric is None else what.metric.price(metric_variance)
    # The one formula of a coordinate, on names in place of numbers.
    case = coordinate.Case(metric, curvature, Number.of(what.decay), Number.of(what.fading))
    assumptions = (what.belief, what.curvature, what.metric)
    memory = tuple(what.keys.get(name, name) for part in assumptions if part is not None for name in part.memory)
    if what.averaging:
        memory = (*memory, "average")
        first = 1.0 + -view.begun()  # an average begins where the walker does
        program.do("lerp", "average", "average", "theta", first, words="the average of the walker's weights")
    if what.price is not None and what.price.order == 2:
        memory = (*memory, "velocity")
        _push(what, program, case, mean)
    elif what.price is not None:
        _clip(what, case, mean)
    else:
        _move(what, program, case, mean)
    if what.averaging:
        program.do("lerp", "average", "average", "theta", -Number.made("expm1", -(LR * what.averaging)))
    probed = what.curvature is not None and what.curvature.told
    arguments = ("n", *(("told",) if probed else ()), "lr", *what.names)
    # As Python: what is known when the step begins first, then the operations on lists.
    lines = [f"def step({', '.join(('theta', 'g', *memory, *arguments))}):"]
    lines += [
        f"    {name} = {number.written(PYTHON)}  # what an average from zero has seen"
        for name, number in view.known.items()
    ]
    operations = program.reused()
    asked = {name for line in operations for part in line.parts if isinstance(part, Number) for name in part.names}
    lines += [text for name, text in _SMALLEST.items() if name in asked]
    lines += [_torch(line, memory) for line in operations]
    return Written(memory, "\n".join(lines) + "\n", _c(operations, view.known, memory, what.names, probed), probed)


def check_names(rule: LearningRule) -> None:
    """Raise unless the names of averages are a tuple each, and can stand in the text beside its own."""
    for part in (rule.curvature, rule.metric):
        if part is not None and isinstance(part.memory, str):
            raise ValueError(f"memory = {part.memory!r}, but it must be a tuple of names: ({part.memory!r},)")
    own = {"theta", "g", "n", "lr", "told", "torch", "math", "min", *_SMALLEST}
    shares = {f"seen_{name}" for name in rule.memory}
    for name in rule.memory:
        odd = keyword.iskeyword(name) or not re.fullmatch(r"[a-z][a-z_]*", name)
        if odd or name in own | shares or rule.memory.count(name) > 1:
            raise ValueError(
                f"memory has the name {name!r}, but it must be of small letters, no other average's, nor seen_ and "
                f"another's, no word of Python, and none of {', '.join(sorted(own))}"
            )


class ListLook(Look):
    """A look at a gradient that is not there yet: it writes the operations."""

    def __init__(self, program: Program, what: Statement) -> None:
        self.gradient, self.n = Stream("g", program), Number.named("n")
        self.known: dict[str, Number] = {}
        self._program, self._what = program, what

    def kept(self, name: str) -> Any:
        self._check(name)
        return Stream(self._what.keys.get(name, name), self._program)

    def keep(self, name: str, value: Any, words: str = "") -> Any:
        new, target = as_stream(value).whole(), self.kept(name).name
        self._program.move(target)
        self._program.do("mul", target, new, Number.of(1.0), words=words)
        return self.kept(name)

    def average(self, name: str, datum: Any, beta: Any, corrected: bool = True, words: str = "") -> Any:
        past, factor = Number.of(beta), Number.of(1.0)
        if self._what.moves:
            factor = self._moved(self.kept(name).name, datum, past, words)
        stream = self.kept(name) * factor
        return stream / self._share(name, past, self.n) if corrected and not past.zero else stream

    def _moved(self, name: str, datum: Any, past: Number, words: str) -> Number:
        """Write how a list moves; return what it lacks to be the average."""
        do, fresh, unit = self._program.do, Number.made("fresh", past), Number.of(1.0)
        if not isinstance(datum, Product) or datum.below or len(datum.above) != 2:
            new = as_stream(datum).whole()
            self._program.move(name)
            if past.zero:
                do("mul", name, new, unit, words=words)
            else:
                do("lerp", name, name, new, fresh, words=words)
            return unit
        (x, a), (y, b) = (part.made(datum.above) for part in datum.above)
        factor = datum.factor * a * b
        self._program.move(name)
        if past.zero:
            do("mul", name, x, y, words=words)
            return factor
        do("mul", name, name, past, words=words)
        do("addcmul", name, name, x, y, fresh * factor)
        return unit

    def told(self, name: str, beta: Any, corrected: bool) -> Any:
        """Return the list of that name, which moves elsewhere."""
        stream = self.kept(name)
        return stream / self._share(name, Number.of(beta), Number.named("told")) if corrected else stream

    def _share(self, name: str, beta: Number, n: Number) -> Number:
        self.known[f"seen_{name}"] = self.seen(beta, n)
        return Number.named(f"seen_{name}")

    def blend(self, a: Any, b: Any, weight: Any) -> Any:
        x, y = as_stream(a), as_stream(b)
        parts = x.whole([y]), y.whole([x])
        return Stream(self._program.do("lerp", self._program.new(), *parts, Number.of(weight)), self._program)

    def seen(self, beta: Any, n: Any) -> Number:
        return Number.made("seen", beta, n)

    def begun(self) -> Number:
        return Number.made("begun", self.n)


def _move(what: Statement, program: Program, case: coordinate.Case, mean: Any) -> None:
    """Write how θ moves."""
    control_gain, gamma = Number.of(what.control_gain), Number.of(what.gamma)
    decay, fading = case.decay, case.fading
    gains = coordinate.gains(control_gain, gamma, case, what.root)
    faded: Any = Number.of(1.0)
    loop: Any = Number.of(1.0)
    if what.held:
        faded = _mean(as_stream(gains.belief * case.curvature), _ZERO)
    elif what.exact:
        rate = as_stream(coordinate.slow(control_gain, gamma, case, gains.fast))
        if not decay.zero or fading.zero:
            loop = faded = _mean(rate, _ZERO)
        if not fading.zero:
            faded = _mean(rate, fading)
    if not decay.zero:
        drift = _times(_times(gains.drift * (-decay), Stream("theta", program)), loop)
        drift.add_to("theta", LR, words="the drift")
    _times(_times(-gains.belief, mean.signal), faded).add_to("theta", LR)
    if mean.slope is not None:
        _times(-gains.trend, mean.slope / Number.of(what.dt)).add_to("theta", LR, words="the trend")


def _clip(what: Statement, case: coordinate.Case, mean: Any) -> None:
    """Write how θ moves under a price of speed: the free step on what is heeded, kept within the limit."""
    price, gamma, signal = what.price, Number.of(what.gamma), as_stream(mean.signal)
    bound = None if math.isinf(price.cap) else LR * price.cap
    if price.bare and what.curvature is None and bound is not None:
        _times(-bound, signal / abs(signal)).add_to("theta", Number.of(1.0), words="at full speed")
        return
    if price.bare:  # Newton's step, of a learner whom speed costs nothing
        free = signal / as_stream(case.curvature)
    else:
        gains = coordinate.gains(Number.of(what.control_gain), gamma, case, what.root)
        heeded = charged.soft(signal, price.zone(what.control_gain / price.eta, what.gamma))
        free = _times(gains.belief, as_stream(heeded)) * LR
        if what.exact:
            rate = as_stream(coordinate.slow(Number.of(what.control_gain), gamma, case, gains.fast))
            free = _times(free, _mean(rate, _ZERO))
    if bound is not None:
        free = _times(Number.of(1.0), charged.clipped(as_stream(free), bound))
    free.add_to("theta", Number.of(-1.0), words="within the limit of speed" if bound is not None else "")


def _push(what: Statement, program: Program, case: coordinate.Case, mean: Any) -> None:
    """Write how the velocity moves, and θ with it, where acceleration is charged and nothing is discounted (W9)."""
    price, unit = what.price, Number.of(1.0)
    pull = as_stream(case.curvature * (what.control_gain / price.m)).sqrt()  # K₁ = √(kh/m), K₂ = √(c/m + 2K₁)
    friction = (pull * 2.0 + price.speed / price.m).sqrt()
    gone = program.do("expm1", program.new(), (friction * -LR).whole())
    aim = Product(Number.of(what.control_gain / price.m), [as_stream(mean.signal)], [pull, friction], program)
    pair = [Stream(gone, program), aim + Stream("velocity", program)]
    Product(unit, pair, [], program).add_to("velocity", unit, words="momentum, with the β of each curvature")
    program.do("add", "theta", "theta", "velocity", LR)


def _times(left: Any, right: Any) -> Any:
    """Return a product as a Product, whatever the two are."""
    if isinstance(left, Number) and isinstance(right, Stream):
        return Product(left, [right], [], right.program)
    return left * right


def _mean(rate: Any, fading: Number) -> Any:
    """Return what a belief that fades does on average over a step, e^{−αΔt}𝓔((r − α)Δt); r may be a number."""
    left = Number.made("exp", -fading * LR) if not fading.zero else Number.of(1.0)
    if isinstance(rate, Number):
        gap = (rate - fading) * LR
        return left if gap.zero else left * Number.made("expm1", -gap) / (-gap)
    return decayed((rate - fading) * LR) * left


def decay_of(rule: LearningRule) -> float:
    """Return j of the drift −jθ."""
    drift = rule.objective.drift
    return -float(drift.matrix(1)[0, 0]) if isinstance(drift, Linear) and drift.dim is None else 0.0


def _refuse(rule: LearningRule) -> None:
    """Raise unless the rule is one of a coordinate whose numbers are the same in all of them, made from gradients."""
    if rule.dt is None:
        raise ValueError("dt = None, but it must be a number > 0 for a step: derive(..., dt=...)")
    objective, drift = rule.objective, rule.objective.drift
    arrays = "its entries belong to coordinates, and tensors of a network have none of that number"
    reasons = {
        "objective.metric is set": (objective.metric is not None, arrays),
        "objective.drift is no decay by one number": (
            drift is not None and (not isinstance(drift, Linear) or drift.dim is not None), arrays
        ),
        "objective.drift grows": (decay_of(rule) < 0, "weights would leave every bound"),
        "belief.fading is an array": (rule.belief.fading.ndim > 0, arrays),
        f"{type(rule.matrices).__name__} knows rows and columns": (
            rule.matrices is not None, "it is in bases, and its optimizer is optim.BallisticMatrix"
        ),
        "belief.trend is set and exact = True": (
            rule.belief.trend is not None and rule.exact, "the flow along a trend is a quadrature"
        ),
        f"price is {rule.price!r}": (
            rule._priced and not charged.generated(rule), "its step has none yet"
        ),
        f"curvature is a {type(rule.curvature).__name__}": (
            bool(rule.curvature and rule.curvature.needs), rule.curvature and rule.curvature.needs
        ),
    }  # fmt: skip
    for words, (wrong, why) in reasons.items():
        if wrong:
            raise ValueError(
                f"{words}, but a generated optimizer must have a rule of one coordinate, with numbers, on gradients: "
                f"{why}; use rule(gradient, state, theta) on arrays"
            )


# ------------------------------------------------------------------------------------------------------- two languages


def _torch(line: Operation, memory: tuple[str, ...]) -> str:
    """Return a line of Python: in place where the target is the first part."""
    target, first, *remaining = line.target, *line.parts
    args = [part.text if isinstance(part, Number) else part for part in remaining]
    name = f"torch._foreach_{line.name}"
    if line.name == "add" and len(args) == 2:
        args = [args[0]] if args[1] == "1.0" else [args[0], f"alpha={args[1]}"]
    call = f"{name}_({', '.join([first, *args])})" if target == first else f"{name}({', '.join([first, *args])})"
    if target != first and target in memory:  # an average, which must stay the list that it is
        call = f"torch._foreach_copy_({target}, {call})"
        if line.name == "mul" and args == ["1.0"]:
            call = f"torch._foreach_copy_({target}, {first})"
    elif target != first:
        call = f"{target} = {call}"
    return f"    {call}" + (f"  # {line.words}" if line.words else "")


_C = {
    "mul": "{a} * {b}", "div": "{a} / {b}", "sub": "{a} - {b}", "neg": "-{a}", "sqrt": "sqrt({a})", "abs": "fabs({a})",
    "expm1": "exp_minus_one({a})", "lerp": "{a} + {c} * ({b} - {a})", "addcmul": "{a} + {d} * {b} * {c}",
    "addcdiv": "{a} + {d} * {b} / {c}", "clamp_min": "{a} < {b} ? {b} : {a}", "pow": "pow({a}, {b})",
}  # fmt: skip


def _c(
    lines: list[Operation], known: dict[str, Number], memory: tuple[str, ...], names: tuple[str, ...], probed: bool
) -> str:
    """Return a function in C that does the operations, its numbers computed before its loop."""
    options = ["const double lr = option[0], sign = option[1];"]
    options += [f"const double {name} = option[{i}];" for i, name in enumerate(names, start=2)]
    options += ["const double told = each[0];"] if probed else ["(void)each;"]
    numbers: dict[str, str] = {}
    streams = ["theta", "g", *memory]
    # One loop over the weights: load what is kept, do the operations, store it. Digits and ends that no name of an
    # average has keep words of C apart from them.
    places = {name: f"at{i}" for i, name in enumerate(streams)}
    body = [f"real {name}_i = {'sign * ' if name == 'g' else ''}{place}[i];" for name, place in places.items()]
    declared: set[str] = set()
    for line in lines:
        parts = [_c_part(part, numbers) for part in line.parts]
        form = _C.get(line.name, "{a} + {b}" if len(parts) == 2 else "{a} + {c} * {b}")
        old = line.target in (*streams, *declared)
        value = form.format(**dict(zip("abcd", parts, strict=False)))
        body.append(f"{'' if old else 'real '}{_c_part(line.target, numbers)} = {value};")
        declared.add(line.target)
    body += [f"{places[name]}[i] = {name}_i;" for name in ("theta", *memory)]
    # Numbers are computed once, in front of the loop.
    constants = [f"const double {name} = {number.written(C)};" for name, number in known.items()]
    constants += [f"const real {name} = {text};" for text, name in numbers.items()]
    unpacked = [f"real *restrict {place} = at[{i}];" for i, place in enumerate(places.values())]
    return "\n".join(
        [
            "static void move(int64_t count, real *const *at, const double *option, const double *each, double n) {",
            *(f"    {line}" for line in (*options, "(void)n;", *unpacked, *constants)),
            "    for (int64_t i = 0; i < count; i++) {",
            *(f"        {line}" for line in body),
            "    }",
            "}",
            "",
        ]
    )


def _c_part(part: Any, numbers: dict[str, str]) -> str:
    if isinstance(part, Number):
        return numbers.setdefault(part.written(C), f"k{len(numbers)}")
    return str(part) if re.fullmatch(r"x\d+", part) else f"{part}_i"
