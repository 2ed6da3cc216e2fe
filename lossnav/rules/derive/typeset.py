"""The formulas of a board's settings as trees, which a page sets as MathML and a picture writes as a line of text.

A tree is text, parted by spaces into letters, digits and signs, or a list: ["", …] is a row, ["(", x] has brackets,
["/", above, below] is a fraction, ["√", x], ["^", x, upper], ["_", x, lower], and ["˙", x], ["¨", x] are rates of
change. The trees say with fewer brackets what sympy derives (``LearningRule.equations`` and ``velocity``): tests hold
their numbers equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lossnav.rules.derive.board import NUMBERS, PLACES

Tree = Any  # str | list[Tree]

_RATE = ["_", "s", "+"]


def equation(at: Mapping[str, str]) -> Tree:
    """Return the Euler–Lagrange equation of one coordinate at a setting of the switches."""
    left: Tree = ["", ["¨", "θ"], *(["− γ", ["˙", "θ"]] if _discounted(at) else []), "="]
    mean: list[Tree] = ["m", *([["^", "e", "− α t"]] if _fading(at) else [])]
    if _curved(at):
        mean = [["(", ["", *mean, "+ c V", ["(", ["", "θ −", ["_", "θ", "0"]]]]]]
    decay: list[Tree] = []
    if _decays(at):
        decay = ["+ j", ["(", "γ + j"], "θ"] if _discounted(at) else ["+", ["^", "j", "2"], "θ"]
    return [*left, ["/", "η k", "G"] if _metric(at) else "η k", *mean, *decay]


def rate(at: Mapping[str, str]) -> Tree:
    """Return s₊, the rate at which a plan forgets; with the exact flow also r, at which it closes in."""
    fast: list[Tree] = [_RATE, "=", *_fast(at)]
    if at["time"] == "first":
        return ["", *fast]
    slow: Tree = ["", "r =", _RATE, "− γ"] if _discounted(at) else ["", "r =", _RATE]
    return ["", *fast, ",", slow]


def velocity(at: Mapping[str, str]) -> Tree:
    """Return θ̇ of one coordinate."""
    named = _curved(at) and _decays(at)  # s₊ would stand there twice
    row: list[Tree] = [["˙", "θ"], "="]
    if named:
        pull: Tree = ["", "j", ["(", "γ + j"]] if _discounted(at) else ["^", "j", "2"]
        row += ["−", ["/", pull, _RATE], "θ"]
    elif _decays(at):
        row += ["− j θ"]
    reach = [_RATE] if named else _fast(at)
    if _fading(at):
        reach = ["α"] if reach == ["0"] else [*reach, "+ α"]
    below: Tree = ["", *reach]
    if _metric(at):
        below = ["", "G", below if len(reach) == 1 and " " not in reach[0] else ["(", below]]
    return ["", *row, "−", ["/", "η k", below], "m"]


def step(at: Mapping[str, str]) -> Tree:
    """Return Δθ from θ̇; v_θ and v_m are its two terms."""
    settled = not _curved(at) and not _decays(at)  # r = 0
    left: Tree = ["", "Δ θ", "="]
    if at["time"] == "first" or (settled and not _fading(at)):
        return [*left, "Δ t", ["˙", "θ"]]
    held: Tree = ["/", ["", "1 −", ["^", "e", "− r Δ t"]], "r"]
    if not _fading(at):
        return [*left, held, ["˙", "θ"]]
    gone = ["^", "e", "− α Δ t"]
    faded: Tree = ["/", ["", gone, "−", ["^", "e", "− r Δ t"]], "r − α"]
    if settled:
        faded = ["/", ["", "1 −", gone], "α"]
    if not _decays(at):
        return [*left, faded, ["˙", "θ"]]
    return [*left, held, ["_", "v", "θ"], "+", faded, ["_", "v", "m"]]


def beliefs(at: Mapping[str, str], beta: float, memory: float) -> list[Tree]:
    """Return what m, V and G are."""

    def averaged(name: str, weight: float, datum: Tree) -> Tree:
        return ["", name, "←", f"{weight:g}", name, "+", f"{1 - weight:.6g}", datum]

    trees = ["m = g" if at["belief"] == "exact" else averaged("m", beta, "g")]
    for switch, name in (("curvature", "V"), ("metric", "U")):
        if (switch, at[switch]) not in PLACES:
            continue
        _, place = PLACES[switch, at[switch]]
        square: Tree = ["^", place.squared, "2"]
        weight = place.arguments({**NUMBERS, "memory": memory})["beta"]
        if switch == "metric":
            trees.append(["", "G =", ["√", "U"]])
        trees.append(averaged(name, weight, square) if weight else ["", f"{name} =", square])
    return trees


def plain(tree: Tree) -> str:
    """Return a tree as a line of text.

    Example:
        >>> plain(["", ["^", "θ", "2"], "= −", ["/", "η k", ["", ["√", "c V"], "+ α"]], "m"])
        'θ² = −ηk/(√(cV) + α) m'
    """
    text = ""
    pieces = _pieces(tree)
    for before, piece in zip(["", *pieces], pieces, strict=False):
        if piece in _SIGNS:
            text += f" {piece} " if text and before not in _SIGNS else piece
        else:
            close = not text or before in _SIGNS or (len(before) < 3 and (len(piece) < 3 or piece[0] == "("))
            text += piece if close else f" {piece}"
    return text.replace(" , ", ", ")


_SIGNS = "+−=←,"
_ABOVE = {"˙": "\u0307", "¨": "\u0308"}
_SMALL = {"2": "²", "0": "₀", "+": "₊", "θ": "_θ", "m": "ₘ"}


def _pieces(tree: Tree) -> list[str]:
    """Return the parts of a row, each as text."""
    if isinstance(tree, str):
        return tree.split()
    kind, *parts = tree
    if kind == "":
        return [piece for part in parts for piece in _pieces(part)]
    inner = [plain(part) for part in parts]
    if kind == "/":
        above, below = inner
        return [f"{above if above.isalpha() else _bracketed(above)}/{_bracketed(below)}"]
    if kind == "√":
        return [f"√{_bracketed(inner[0])}"]
    if kind in _ABOVE:
        return [inner[0] + _ABOVE[kind]]
    if kind == "(":
        return [f"({inner[0]})"]
    return [inner[0] + _SMALL.get(inner[1], f"^({inner[1]})")]


def _bracketed(text: str) -> str:
    return text if len(text) == 1 or text in ("ηk", "s₊", "γ²") else f"({text})"


def _fast(at: Mapping[str, str]) -> list[Tree]:
    """Return s₊ as the parts of a row; "0" where it vanishes."""
    if not _curved(at):
        flat = [name for name, here in (("γ", _discounted(at)), ("j", _decays(at))) if here]
        return [" + ".join(flat) or "0"]
    half: list[Tree] = []
    if _discounted(at):
        squared_sum: Tree = ["^", ["(", ["", ["/", "γ", "2"], "+ j"]], "2"]
        half = [squared_sum] if _decays(at) else [["/", ["^", "γ", "2"], "4"]]
    elif _decays(at):
        half = [["^", "j", "2"]]
    pull: Tree = ["/", "η k c V", "G"] if _metric(at) else "η k c V"
    root: Tree = ["√", ["", *half, *(["+"] if half else []), pull]]
    return [root, *(["+", ["/", "γ", "2"]] if _discounted(at) else [])]


def _discounted(at: Mapping[str, str]) -> bool:
    return at["horizon"] == "discounted"


def _metric(at: Mapping[str, str]) -> bool:
    return at["metric"] == "rms"


def _decays(at: Mapping[str, str]) -> bool:
    return at["drift"] == "decay"


def _fading(at: Mapping[str, str]) -> bool:
    return at["belief"] == "fading"


def _curved(at: Mapping[str, str]) -> bool:
    return at["curvature"] != "none"
