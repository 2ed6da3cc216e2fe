"""Table and map of the atlas of optimizers, from rows of its record."""

from html import escape
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from lossnav.figures import COLOURS

KINDS = {
    "filters": "a filter of the gradient", "roots": "over a power of squares", "signs": "signs", "matrices": "matrices",
    "unlisted": "none of the listed laws", "refused": "refused",
}  # fmt: skip
SHADES = {
    "filters": "gradient descent", "roots": "adam", "signs": "newton", "matrices": "ballistic", "unlisted": "quiet",
}  # fmt: skip
LINEAR = ("the gradient", "a filter", "a filter and the gradient")
SAME = 1e-3
DIFFERENT = ("apart", "unmeasured", "misread")


def kind(row):
    """Return which of ``KINDS`` the measured law is."""
    if row["failed"] or row["fingerprint"]["refused"]:
        return "refused"
    law = row["fingerprint"]["law"]
    if not law:
        return "unlisted"
    if "sign" in law:
        return "signs"
    if "singular" in law or "⊗" in law:
        return "matrices"
    return "roots" if "power" in law or "squared" in law else "filters"


def verdict(row):
    """Return a word for what explanation and measurement have to do with each other, and the sentence."""
    if row["failed"] or not row["explain"]["listed"]:
        return "unlisted", "not in its table"
    reading, law = row["explain"], row["fingerprint"]["law"]
    if reading["apart"] is not None:
        if reading["apart"] < SAME:
            return "same", f"the same steps from: {reading['assumptions']}"
        away = f"{100 * reading['apart']:.2g} %"
        return "apart", f"Differs: its rule's steps are {away} away. {reading['assumptions']}. {reading['why']}"
    if reading["assumptions"]:
        if law or row["fingerprint"]["refused"]:
            return "read", f"no rule to play; {reading['assumptions']}"
        return "unmeasured", f"Differs: read as {reading['assumptions']}; no listed law was measured"
    if law in LINEAR:
        return "misread", f"Differs: the steps are those of a listed law. Said: none; {reading['why']}"
    return "outside", f"none of its assumptions: {reading['why']}"


def table(rows):
    """Return the table as HTML: complete by itself, and with a script that filters and sorts it."""
    lands = list(next(row["landscapes"] for row in rows if row.get("landscapes")))
    heads = ("optimizer", "what its steps are", "what explain says", "regret", "bytes", "cost")
    body = "\n".join(_line(row, heads, lands) for row in rows)
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    options = "".join(f'<option value="{name}">{escape(text)}</option>' for name, text in KINDS.items())
    controls = (
        '<form class="ln-atlas-controls" hidden>'
        '<label>Search <input type="search" name="words"></label>'
        f'<label>Law <select name="kind"><option value="">all</option>{options}</select></label>'
        '<label>Sort by <select name="by"><option value="">name</option><option value="regret">regret</option>'
        '<option value="bytes">bytes</option><option value="cost">cost</option></select></label>'
        '<label><input type="checkbox" name="different"> where explain differs</label>'
        '<output aria-live="polite"></output></form>'
    )
    return (
        f'<div class="ln-atlas">{controls}'
        f"<table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table><script>{script}</script></div>"
    )


def _line(row, heads, lands):
    word, sentence = verdict(row)
    traits = row.get("fingerprint") or {}
    why = row["failed"] or traits["refused"]
    family = f"refused: {why.rpartition('with a closure: ')[2].rstrip(': ')}" if why else traits["family"]
    regrets = [(row.get("landscapes") or {}).get(land, {"regret": None})["regret"] for land in lands]
    arrived = [value for value in regrets if value is not None]
    regret = ", ".join(map(_plain, regrets)) if arrived else "–"
    small = "torch" if row["place"].startswith("torch.") else "collection"
    cells = (
        f'<a href="{escape(row["link"])}">{escape(row["name"])}</a> <small>{small}</small>',
        escape(family), escape(sentence), regret,
        _number(traits.get("state_bytes"), "{:.3g}"), _number(traits.get("cost"), "{:.2g}"),
    )  # fmt: skip
    data = {
        "kind": kind(row), "different": "yes" if word in DIFFERENT else "",
        "regret": f"{np.median(arrived):.4g}" if len(arrived) == len(lands) else "",
        "bytes": _number(traits.get("state_bytes"), "{:.4g}", ""), "cost": _number(traits.get("cost"), "{:.4g}", ""),
    }  # fmt: skip
    inside = "".join(f'<td data-label="{escape(head)}">{cell}</td>' for head, cell in zip(heads, cells, strict=True))
    about = " ".join(f'data-{name}="{value}"' for name, value in data.items())
    return f"<tr {about}>{inside}</tr>"


def _number(value, form, none="–"):
    return none if value is None else form.format(value)


def _plain(value):
    return "–" if value is None else np.format_float_positional(value, 2, unique=False, fractional=False, trim="-")


def places(rows, alike=0.05):
    """Return the rows by what their steps turn with and by the power of the gradient's scale in them.

    Without those of which that is not known beside what they draw at random.
    """
    cells = {}
    for row in rows:
        if kind(row) == "refused":
            continue
        traits = row["fingerprint"]
        if None in (traits["keeps_left"], traits["keeps_right"], traits["keeps_turn"]):
            continue
        sides = traits["keeps_left"] < alike and traits["keeps_right"] < alike
        turns = "all weights" if sides and traits["keeps_turn"] < alike else "rows and\ncolumns" if sides else "nothing"
        power = traits["gradient_degree"]
        scale = "neither" if power is None or min(abs(power), abs(power - 1)) > alike else f"{round(power)}"
        cells.setdefault((turns, scale), []).append(row)
    return cells


def chart(rows):
    """Draw a dot for each optimizer in the place of two measured properties, in the colour of its law."""
    columns, lines = ("nothing", "rows and\ncolumns", "all weights"), ("0", "neither", "1")
    cells = places(rows)
    figure, ax = plt.subplots(figsize=(5.8, 5.4))
    for x, turns in enumerate(columns):
        for y, scale in enumerate(lines):
            here = sorted(cells.get((turns, scale), []), key=lambda row: list(KINDS).index(kind(row)))
            for at, row in enumerate(here):
                shade = COLOURS[SHADES[kind(row)]]
                ax.plot(x - 0.36 + 0.09 * (at % 9), y + 0.24 - 0.09 * (at // 9), "o", color=shade, ms=6)
            ax.text(x + 0.44, y + 0.38, str(len(here)), ha="right", va="center")
    ax.set(xlim=(-0.5, 2.5), ylim=(-0.5, 2.5), xticks=range(3), yticks=range(3), xlabel="steps turn with …",
           ylabel="power of the gradient's scale in a step")  # fmt: skip
    ax.set_xticklabels(columns)
    ax.set_yticklabels(lines)
    for edge in (0.5, 1.5):
        ax.axhline(edge, color=COLOURS["quiet"], lw=0.8)
        ax.axvline(edge, color=COLOURS["quiet"], lw=0.8)
    ax.grid(visible=False)
    handles = [plt.Line2D([], [], ls="", marker="o", color=COLOURS[shade]) for shade in SHADES.values()]
    names = [KINDS[name] for name in SHADES]
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    return figure
