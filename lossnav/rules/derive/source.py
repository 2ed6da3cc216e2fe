"""The text of a derived rule's step, in torch's foreach operations or in C, from the operations of ``program``.

Every number in it is the rule's own and every line is written here: no string of a user's gets into the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from lossnav.problem.drifts import Linear
from lossnav.rules import assume
from lossnav.rules.derive import coordinate
from lossnav.rules.derive.program import Number, Operation, Product, Program, Stream, decayed, root

if TYPE_CHECKING:
    from lossnav.rules.derive.rule import LearningRule

_ZERO = Number.of(0.0)


class Written(NamedTuple):
    """A step as text.

    Attributes:
        memory: the averages it keeps, in the order of its arguments: m (gradient), w (its slope over a step), v
            (curvature), u (metric).
        python: ``step(theta, g, *memory, n, lr)`` with torch's foreach operations, for lists of tensors that stand in
            the same step n.
        kernel: the body of a loop in C, for one number of each tensor.
    """

    memory: tuple[str, ...]
    python: str
    kernel: str


def written(rule: LearningRule) -> Written:
    """Return the step of a rule as text.

    Raises:
        ValueError: the rule is not of one coordinate with numbers, or it needs more than gradients.
    """
    _refuse(rule)
    program = Program()
    corrections: dict[str, str] = {}
    streams = _believe(rule, program, corrections)
    _move(rule, program, streams)
    memory = tuple(name for name in "mwvu" if name in streams)
    head = [f"def step({', '.join(('theta', 'g', *memory, 'n', 'lr'))}):"]
    head += [f"    {name} = {text}  # what an average from zero has seen" for name, text in corrections.items()]
    body = [_torch(line, memory) for line in program.lines]
    return Written(memory, "\n".join(head + body) + "\n", _c(program.lines, corrections, memory))


def _believe(rule: LearningRule, program: Program, corrections: dict[str, str]) -> dict[str, Stream]:
    """Write how averages move, and return what is believed after it, by name; ``mean`` and ``slope`` beside them."""

    def share(name: str, beta: float, corrected: bool) -> Number:
        """Return the share of the whole that an average has seen."""
        if not corrected or beta == 0:
            return Number.of(1.0)
        corrections[name] = f"1 - {beta!r} ** n"
        return Number.named(name)

    def fresh(beta: float) -> Number:
        """Return 1 − β as it is read; it stands alone."""
        return Number.named(f"1 - {beta!r}")

    def squares(name: str, datum: str, believed: Any, words: str) -> Stream:
        if believed.beta == 0:
            program.do("mul", name, datum, datum, words=words)
        else:
            program.do("mul", name, name, Number.of(believed.beta), words=words)
            program.do("addcmul", name, name, datum, datum, fresh(believed.beta))
        return Stream(name, program) / share(f"seen_{name}", believed.beta, believed.corrected)

    belief, curvature = rule.belief, rule.curvature
    streams = {"mean": Stream("g", program)}
    if belief.trend is not None:
        _follow(rule, program)
        streams |= {name: Stream(name, program) for name in "mw"}
        streams |= {"mean": streams["m"], "slope": streams["w"] / Number.of(rule.dt)}
    elif belief.beta > 0:
        program.do("lerp", "m", "m", "g", fresh(belief.beta), words="belief in the mean gradient")
        streams["m"] = Stream("m", program)
        streams["mean"] = streams["m"] / share("seen_m", belief.beta, belief.corrected)
    if belief.share and streams["mean"].name != "g":
        name, factor = streams["mean"].made()
        whole = program.do("mul", program.new(), name, factor)
        signal = program.do("lerp", program.new(), whole, "g", Number.of(belief.share), words="and a share of the rest")
        streams["mean"] = Stream(signal, program)
    if isinstance(curvature, assume.SecondMoment):
        if curvature.signal:
            datum, factor = streams["mean"].made()
            if factor.text != "1.0":
                datum = program.do("mul", program.new(), datum, factor)
                streams["mean"] = Stream(datum, program)
        else:
            datum = program.do("sub", program.new(), "g", "m") if curvature.centred else "g"
        streams["v"] = squares("v", datum, curvature, "belief in the curvature")
    if rule.metric is not None:
        streams["u"] = squares("u", "g", rule.metric, "belief in the metric").root() + Number.of(rule.metric.eps)
    return streams


def _follow(rule: LearningRule, program: Program) -> None:
    """Write Holt's recursion, in which w is the slope over a step; in step 1, m = g and w = 0."""
    beta, trend = Number.of(rule.belief.beta), Number.of(rule.belief.trend)
    begun = Number.named("min(n - 1.0, 1.0)")  # 0 in step 1
    forecast = program.do("add", program.new(), "m", "w", Number.of(1.0), words="the belief's forecast")
    level = program.do("lerp", program.new(), "g", forecast, beta * begun, words="belief in the mean gradient")
    moved = program.do("sub", program.new(), level, "m")
    program.do("lerp", "w", moved, "w", trend, words="belief in its slope")
    program.do("mul", "w", "w", begun)
    program.do("mul", "m", level, Number.of(1.0))


def _move(rule: LearningRule, program: Program, streams: dict[str, Stream]) -> None:
    """Write how θ moves."""
    stiffness, gamma = Number.of(rule.objective.eta * rule.objective.k), Number.of(rule.objective.gamma)
    decay, fading = Number.of(decay_of(rule)), Number.of(float(rule.belief.fading))
    curvature: Any = _ZERO
    if isinstance(rule.curvature, assume.SecondMoment):
        curvature = (streams["v"] + Number.of(rule.curvature.floor)) * Number.of(rule.curvature.scale)
    case = coordinate.Case(streams.get("u", Number.of(1.0)), curvature, decay, fading)
    found = coordinate.gains(stiffness, gamma, case, root)
    lr = Number.named("lr")
    faded: Any = Number.of(1.0)
    loop: Any = Number.of(1.0)
    if rule.exact:
        rate = coordinate.slow(stiffness, gamma, case, found.fast)
        rate = rate.stream() if isinstance(rate, Product) else rate
        if not decay.zero or fading.zero:
            loop = faded = _mean(rate, _ZERO, lr)
        if not fading.zero:
            faded = _mean(rate, fading, lr)
    if not decay.zero:
        drift = _times(_times(found.drift * (-decay), Stream("theta", program)), loop)
        drift.add_to("theta", lr, words="the drift")
    _times(_times(-found.belief, streams["mean"]), faded).add_to("theta", lr)
    if "slope" in streams:
        _times(-found.trend, streams["slope"]).add_to("theta", lr, words="the trend")


def _times(left: Any, right: Any) -> Any:
    """Return a product as a Product, whatever the two are."""
    if isinstance(left, Number) and isinstance(right, Stream):
        return Product(left, [right], [], right.program)
    return left * right


def _mean(rate: Any, fading: Number, time: Number) -> Any:
    """Return what a belief that fades does on average over a step, e^{−αΔt}𝓔((r − α)Δt); r may be a number."""
    left = Number.named(f"math.exp({(-fading * time).text})") if not fading.zero else Number.of(1.0)
    if isinstance(rate, Number):
        gap = (rate - fading) * time
        return left if gap.zero else left * Number.named(f"math.expm1({(-gap).text})") / (-gap)
    return decayed((rate - fading) * time) * left


def decay_of(rule: LearningRule) -> float:
    """Return j of the drift −jθ."""
    drift = rule.objective.drift
    return -float(drift.matrix(1)[0, 0]) if isinstance(drift, Linear) and drift.dim is None else 0.0


def _refuse(rule: LearningRule) -> None:
    """Raise unless the rule is one of a coordinate whose numbers are the same in all of them, made from gradients."""
    objective, drift = rule.objective, rule.objective.drift
    arrays = "its entries belong to coordinates, and tensors of a network have none of that number"
    reasons = {
        "dt = None": (rule.dt is None, "a step takes a time"),
        "objective.metric is set": (objective.metric is not None, arrays),
        "objective.drift is no decay by one number": (
            drift is not None and (not isinstance(drift, Linear) or drift.dim is not None), arrays
        ),
        "objective.drift grows": (decay_of(rule) < 0, "weights would leave every bound"),
        "belief.fading is an array": (rule.belief.fading.ndim > 0, arrays),
        "belief.trend is set and exact = True": (
            rule.belief.trend is not None and rule.exact, "the flow along a trend is a quadrature"
        ),
        "curvature is a Known": (isinstance(rule.curvature, assume.Known), arrays),
        "curvature is a Hutchinson": (
            isinstance(rule.curvature, assume.Hutchinson),
            "z ⊙ Hz comes from the loss and not from gradients (ln.optim.Navigator takes it)",
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
    target, first, *others = line.target, *line.parts
    given = [part.text if isinstance(part, Number) else part for part in others]
    name = f"torch._foreach_{line.name}"
    if line.name == "add" and len(given) == 2:
        given = [given[0]] if given[1] == "1.0" else [given[0], f"alpha={given[1]}"]
    call = f"{name}_({', '.join([first, *given])})" if target == first else f"{name}({', '.join([first, *given])})"
    if target != first and target in memory:  # an average, which must stay the list that it is
        call = f"torch._foreach_copy_({target}, {call})"
        if line.name == "mul" and given == ["1.0"]:
            call = f"torch._foreach_copy_({target}, {first})"
    elif target != first:
        call = f"{target} = {call}"
    return f"    {call}" + (f"  # {line.words}" if line.words else "")


_C = {
    "mul": "{a} * {b}", "div": "{a} / {b}", "sub": "{a} - {b}", "neg": "-{a}", "sqrt": "sqrt({a})",
    "expm1": "exp_minus_one({a})", "lerp": "{a} + {c} * ({b} - {a})", "addcmul": "{a} + {d} * {b} * {c}",
    "addcdiv": "{a} + {d} * {b} / {c}",
}  # fmt: skip


def _c(lines: list[Operation], corrections: dict[str, str], memory: tuple[str, ...]) -> str:
    """Return a function in C that does the operations, its numbers computed before its loop."""
    known = [f"const double {name} = {_c_number(text)};" for name, text in corrections.items()]
    numbers: dict[str, str] = {}
    streams = ["theta", "g", *memory]
    body = [f"real {name}_i = {'sign * ' if name == 'g' else ''}{name}[i];" for name in streams]
    made: set[str] = set()
    for line in lines:
        parts = [_c_part(part, numbers) for part in line.parts]
        form = _C.get(line.name, "{a} + {b}" if len(parts) == 2 else "{a} + {c} * {b}")
        old = line.target in (*streams, *made)
        value = form.format(**dict(zip("abcd", parts, strict=False)))
        body.append(f"{'' if old else 'real '}{_c_part(line.target, numbers)} = {value};")
        made.add(line.target)
    body += [f"{name}[i] = {name}_i;" for name in ("theta", *memory)]
    known += [f"const real {name} = {_c_number(text)};" for text, name in numbers.items()]
    unpacked = [f"real *restrict {name} = at[{i}];" for i, name in enumerate(streams)]
    return "\n".join(
        [
            "static void derived_move(int64_t count, real *const *at, const double *option, const double *each) {",
            "    const double lr = option[0], sign = option[1], n = each[0];",
            "    (void)n;",
            *(f"    {line}" for line in (*unpacked, *known)),
            "    for (int64_t i = 0; i < count; i++) {",
            *(f"        {line}" for line in body),
            "    }",
            "}",
            "EXPORT(derived)",
            "",
        ]
    )


def _c_part(part: Any, numbers: dict[str, str]) -> str:
    if isinstance(part, Number):
        return numbers.setdefault(part.text, f"k{len(numbers)}")
    return str(part) if re.fullmatch(r"x\d+", part) else f"{part}_i"


def _c_number(text: str) -> str:
    """Return the text of a number in C: powers and functions have other names, everything else is the same."""
    text = re.sub(r"([\d.]+e-\d+|[\w.]+) \*\* ([\w.]+)", r"pow(\1, \2)", text)
    return text.replace("math.", "").replace("min(", "fmin(")
