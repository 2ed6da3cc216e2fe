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
LANDS = {"κ = 1": "κ\xa0=\xa01", "κ = 10": "κ\xa0=\xa010", "κ = 100": "κ\xa0=\xa0100", "five curvatures": "five",
         "two wells": "wells", "Rosenbrock": "valley"}  # fmt: skip


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
    """Return what explanation and measurement have to do with each other, in a word and in a few, and what is said."""
    if row["failed"] or not row["explain"]["listed"]:
        return "unlisted", "", ""
    reading, law = row["explain"], row["fingerprint"]["law"]
    if reading["apart"] is not None:
        if reading["apart"] < SAME:
            return "same", "explained, by the same steps", reading["assumptions"]
        away = f"{100 * reading['apart']:.2g}\xa0%"
        said = f"{reading['assumptions']}. {reading['why']}"
        return "apart", f"Differs: explained, by steps that are {away} away", said
    if reading["assumptions"]:
        if law or row["fingerprint"]["refused"]:
            return "read", "explained, without steps to compare", reading["assumptions"]
        return "unmeasured", "Differs: explained, but no listed law was measured", reading["assumptions"]
    if law in LINEAR:
        return "misread", "Differs: explained by no assumption, but a listed law", reading["why"]
    return "outside", "explained by none of the assumptions", reading["why"]


def table(rows):
    """Return the table as HTML: complete by itself, and with a script that filters and sorts it."""
    body = "\n".join(map(_line, rows))
    script = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
    columns = f'<col class="name"><col>{(len(LANDS) + 2) * "<col>"}'
    lands = "".join(f'<th scope="col">{escape(land)}</th>' for land in LANDS.values())
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
        f'<div class="ln-atlas">{controls}<table>{columns}<thead><tr><th scope="col" rowspan="2">optimizer</th>'
        f'<th scope="col" rowspan="2">what its steps are</th><th scope="colgroup" colspan="{len(LANDS)}">regret</th>'
        f'<th scope="col" rowspan="2">bytes</th><th scope="col" rowspan="2">cost</th></tr><tr>{lands}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table><script>{script}</script></div>"
    )


def _line(row):
    word, short, said = verdict(row)
    traits = row.get("fingerprint") or {}
    why = row["failed"] or traits["refused"]
    family = f"refused: {why.rpartition('with a closure: ')[2].rstrip(': ')}" if why else traits["family"]
    measured = row.get("landscapes")
    regrets = [measured[land]["regret"] if measured else None for land in LANDS]
    arrived = [value for value in regrets if value is not None]
    small = "torch" if row["place"].startswith("torch.") else "collection"
    fold = f"<details><summary>{escape(short)}</summary>{escape(said)}</details>" if short else ""
    family = family.replace(" = ", "\xa0=\xa0")
    cells = (
        f'<td><a href="{escape(row["link"])}">{escape(row["name"])}</a> <small>{small}</small></td>',
        f"<td>{escape(family)}{fold}</td>",
        *map(_cell, LANDS.values(), map(_regret, regrets)),
        _cell("bytes", _number(traits.get("state_bytes"), "{:.3g}")),
        _cell("cost", _number(traits.get("cost"), "{:.2g}")),
    )
    data = {
        "kind": kind(row), "different": "yes" if word in DIFFERENT else "",
        "regret": f"{np.median(arrived):.4g}" if len(arrived) == len(LANDS) else "",
        "bytes": _number(traits.get("state_bytes"), "{:.4g}", ""), "cost": _number(traits.get("cost"), "{:.4g}", ""),
    }  # fmt: skip
    about = " ".join(f'data-{name}="{value}"' for name, value in data.items())
    return f"<tr {about}>{''.join(cells)}</tr>"


def _cell(label, number):
    return f'<td data-label="{escape(label)}">{number}</td>'


def _regret(value):
    if value is not None and value < 0.005:
        return "&lt;\xa0.01"
    return _number(value, "{:.2f}" if value is None or value < 100 else "{:.0f}")


def _number(value, form, none="–"):
    return none if value is None else form.format(value)


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
