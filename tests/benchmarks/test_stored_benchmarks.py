"""The stored tables are whole, what they say was met follows from their numbers, and the book's page shows them."""

from __future__ import annotations

import math

import nbformat
import pytest
from resources import ROOT

from benchmarks.__main__ import BENCHMARKS, ON_DEVICE
from benchmarks.report import FOLDER
from lossnav import explore
from lossnav.figures import tables

STORED = {path.stem: tables.load(path) for path in sorted(FOLDER.glob("*.json"))}
PAGE = ROOT / "book" / "speed.ipynb"


def outputs():
    cells = nbformat.read(PAGE, as_version=4).cells
    return [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]


def test_every_benchmark_has_a_table_and_every_table_a_benchmark():
    text = "\n".join(output.get("text", "") for output in outputs())
    missing = {name for name in BENCHMARKS if f"No table of {name} is stored." in text}
    assert set(BENCHMARKS) - set(STORED) == missing, "write the page again: python book/_tools/notebooks.py write speed"
    assert set(STORED) <= set(BENCHMARKS) | {f"{name}-{device}" for name in ON_DEVICE for device in ("cuda", "mps")}


@pytest.mark.parametrize("name", STORED)
def test_a_table_is_whole(name):
    table = STORED[name]
    record = table.record
    benchmark, _, device = name.partition("-")
    assert record.command.startswith(f"python -m benchmarks {benchmark}")
    assert (f"--device {device}" in record.command) == bool(device)
    assert record.config["load"] and record.device and record.duration > 0
    assert len(table.formats) == len(table.columns) and len(table.rows) == len(record.results["rows"]) > 1
    assert table.checks and all(isinstance(met, bool) for met in table.checks.values())
    for row, cells in table.rows.items():
        assert len(cells) == len(table.columns)
        assert all(math.isfinite(x) for x in cells if isinstance(x, float))
        for column in table.shown[1:]:
            if table.spread(row, column):
                interval = table.interval(row, column)
                assert interval.low <= interval.median <= interval.high


def action(table):
    slow, *_ = table
    yield table.value(slow, "ms") / table.value("ln.solve, steps=49", "ms") >= 5000
    for size in ("49", "400", "3,200"):
        yield table.value(f"ln.solve, steps={size}", "ms") <= table.value(f"CasADi + IPOPT, {size}", "ms")


def data(table):
    for row in table:
        if not row.endswith(": ours"):
            yield table.value(row, "times ours") > 1


def matrices(table):
    ours, of_step, muon = "BallisticMatrix, eigenbasis", "of a step with Adam", "torch Muon, Adam for vectors"
    for row in table:
        place, _, _ = row.partition(": ")
        step, adam = (
            table.value(key, "passes, ms") + table.value(key, "update, ms") for key in (row, f"{place}: torch Adam")
        )
        assert table.value(row, of_step) == pytest.approx(step / adam, rel=0.15)  # that one is a median of ratios
        assert table.value(f"{place}: {muon}", "of Muon's update") == 1
    for place in ("cnn, batch 128", "mlp, batch 128"):
        assert table.value(f"{place}: {ours}", of_step) > table.value(f"{place}: two bases, products alone", of_step)
    for place, most in (("cnn, batch 128", 1.25), ("mlp, batch 128", 3.0)):
        yield table.value(f"{place}: {ours}", of_step) <= most
        yield table.value(f"{place}: {ours}", "of Muon's update") <= 1
        yield table.value(f"{place}: {ours}", "of SOAP's update") <= 1


def optimizers(table):
    ours = "Ballistic, fused"
    size = 20 * 1000 * 1000
    for row in table:
        streams = 3 + 2 * (table.value(row, "state tensors") or 0)
        assert table.value(row, "GB/s") == pytest.approx(streams * 4 * size / table.value(row, "ms") / 1e6)
    yield table.value(ours, "of fused Adam") <= 0.9
    yield table.value(ours, "% of add") >= 75
    yield table.value(ours, "state tensors") == 1


def seeds(table):
    for row in table:
        yield table.value(row, "ratio") >= 3
        yield table.value(row, "curves apart") <= 1e-5


def step(table):
    for network in dict.fromkeys(row.partition(":")[0] for row in table):
        forms = [row for row in table if row.startswith(f"{network}:")]
        (chosen,) = (row for row in forms if table.value(row, "chosen by") == "auto")
        fastest = min(forms, key=lambda row: table.value(row, "ms"))
        assert table.value(forms[0], "times the plain speed") == 1.0
        if chosen == fastest:
            yield True


def test_measured_explorables_exist():
    measured = {row.partition(":")[0] for row in STORED["explorables"]}
    assert len(measured) > 10 and measured <= set(explore.__all__)


def update(table):
    for row in table:
        if table.value(row, "error") is not None:
            yield table.value(row, "error") <= 1e-13
        else:
            yield table.value(row, "ratio") > 1


def eigenpairs(table):
    for row in table:
        task, _, name = row.partition(": ")
        if name == "eigenpairs":
            yield table.value(row, "residual") <= table.record.config["tolerance"]
        elif name.startswith("ARPACK"):
            yield round(table.value(f"{task}: eigenpairs", "products")) <= round(table.value(row, "products"))
            yield table.value(row, "ours is faster") >= 1


def explorables(table):
    for row in table:
        yield table.value(row, "ms") <= 8 and table.value(row, "99 of 100") <= 16


def default(table):
    for rule in ("Belief", "Ballistic", "BallisticMatrix"):
        yield table.value(rule, "above AdamW") <= 0.02


def many(table):
    for label in ("160 small", "transformer"):
        yield table.value(f"{label}: BallisticMatrix", "of Muon") <= 1
        for now, was in (("BallisticMatrix", ", one by one"), ("Uncertain", ", list of operations")):
            yield table.value(f"{label}: {now}", "ms") < table.value(f"{label}: {now}{was}", "ms")


CLAIMS = {
    claims.__name__: claims
    for claims in (
        action,
        data,
        default,
        eigenpairs,
        explorables,
        many,
        matrices,
        optimizers,
        seeds,
        step,
        update,
    )
}


@pytest.mark.parametrize("name", [name for name in STORED if name.partition("-")[0] in CLAIMS])
def test_what_was_met_follows_from_the_numbers(name):
    """Every claim that can be judged from the table alone is judged again; the table must have judged as many alike."""
    table = STORED[name]
    again = list(CLAIMS[name.partition("-")[0]](table))
    assert again
    for verdict in (True, False):
        assert again.count(verdict) <= list(table.checks.values()).count(verdict)


def test_the_page_shows_the_tables_that_are_stored():
    shown = {"".join(output.data["text/html"]) for output in outputs() if "text/html" in output.get("data", {})}
    stale = [name for name, table in STORED.items() if table._repr_html_() not in shown]
    assert stale == [], "write the page again: python book/_tools/notebooks.py write speed"
    assert len(shown) == len(STORED)
