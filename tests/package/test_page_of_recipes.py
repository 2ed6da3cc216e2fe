"""The page of recipes prints what it says."""

from __future__ import annotations

import doctest

import matplotlib.pyplot as plt
import pytest
from paths import BOOK


@pytest.mark.slow
def test_every_recipe_prints_what_it_says():
    page = BOOK / "recipes.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    plt.close("all")
    assert result.attempted >= 50
    assert result.failed == 0
    assert page.read_text(encoding="utf-8").count("\n### ") >= 18
