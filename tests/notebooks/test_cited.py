"""Whom the book names, it cites; whom it cites, the references know; and nobody stands there for nothing."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest
from notebooks import chapters, text_path
from paths import BOOK, pages

# What each source is known as in the book.
METHODS = {
    "amari1998": ("natural gradient", "natural gradients"),
    "anil2020": ("ScalableShampoo",),
    "arnold2019": ("implicit gradient transport",),
    "ash2020": ("shrink and perturb", "Shrink and perturb"),
    "balles2018": ("M-SVAG", "MSVAG"),
    "barzilai1988": ("Barzilai",),
    "bernstein2018": ("signSGD", "Signum", "SignSGD"),
    "chen2023": ("Lion",),
    "chen2024fira": ("Fira",),
    "defazio2024": ("schedule-free", "Schedule-free"),
    "defazio2025": ("AdamC",),
    "dohare2024": ("continual backprop", "Continual backprop"),
    "dozat2016": ("NAdam",),
    "duchi2011": ("Adagrad",),
    "foret2021": ("SAM",),
    "golub1969": ("Lanczos quadrature",),
    "gupta2018": ("Shampoo",),
    "hagele2024": ("WSD",),
    "hestenes1952": ("conjugate gradients",),
    "hutchinson1990": ("Hutchinson",),
    "jordan2024muon": ("Muon",),
    "kalman1960": ("Kalman",),
    "kingma2015adam": ("Adam",),
    "lin2025": ("KL-Shampoo",),
    "lanczos1950": ("Lanczos",),
    "liu1989": ("L-BFGS", "LBFGS"),
    "liu2020radam": ("RAdam",),
    "liu2024sophia": ("Sophia",),
    "loshchilov2017": ("cosine", "Cosine"),
    "loshchilov2019": ("AdamW", "SGDW"),
    "marquardt1963": ("Levenberg", "Marquardt"),
    "martens2015": ("K-FAC",),
    "nesterov1983": ("Nesterov",),
    "nutini2015": ("Gauss–Southwell",),
    "pethick2025": ("Scion",),
    "polyak1964": ("heavy ball", "Polyak"),
    "polyak1992": ("ASGD", "averaged SGD"),
    "riedmiller1993": ("Rprop",),
    "robbins1951": ("Robbins",),
    "shazeer2018": ("Adafactor",),
    "shi2026": ("DualAdam",),
    "tieleman2012rmsprop": ("RMSprop",),
    "vyas2025": ("SOAP",),
    "xie2024": ("Adan",),
    "you2017": ("LARS",),
    "you2020": ("LAMB",),
    "zeiler2012": ("Adadelta",),
    "zhao2024": ("GaLore",),
    "zhuang2020": ("AdaBelief",),
}
OF_NO_PAPER = {"SGD", "SparseAdam", "Adamax"}  # Adamax stands in the paper on Adam


@cache
def prose(page: str) -> str:
    """What a page says: without code, formulas and addresses; citations stay."""
    name = page.removeprefix("book/")
    path = text_path(name) if name in chapters() else BOOK / f"{name}.md"
    text = re.sub(r"^(`{3,})\{code-cell\}.*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|\{(?!cite)\w+\}`[^`]*`|```.*?$", " ", text, flags=re.S | re.M)


def named(name: str, page: str) -> int:
    return len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", prose(page)))


def cited(page: str) -> set[str]:
    return {key.strip() for keys in re.findall(r"\{cite:[pt]\}`([^`]*)`", prose(page)) for key in keys.split(",")}


PAGES = [page for page in pages() if "/api/" not in page]


@pytest.mark.parametrize("key", METHODS)
def test_a_method_is_cited_on_the_page_that_names_it_most(key: str) -> None:
    counts = {page: sum(named(name, page) for name in METHODS[key]) for page in PAGES}
    page = max(counts, key=lambda candidate: counts[candidate])
    assert counts[page], "the book does not name it"
    assert key in cited(page), page


@pytest.mark.slow
def test_no_optimizer_is_named_without_its_source() -> None:
    """Those of the atlas: of what torch and a large collection have."""
    record = json.loads((BOOK / "results" / "atlas.json").read_text(encoding="utf-8"))
    known = {name for names in METHODS.values() for name in names} | OF_NO_PAPER
    unknown = {row["name"] for row in record["results"]} - known
    assert {name: mentions for name in unknown if (mentions := [page for page in PAGES if named(name, page)])} == {}


def test_the_references_are_those_that_are_cited() -> None:
    entries = re.findall(r"^@\w+\{([^,]+),", (BOOK / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(set(entries)) == sorted(entries)
    assert set().union(*map(cited, PAGES)) == set(entries)
