"""The examples in the docstrings, run."""

import doctest
import importlib
import linecache
import pkgutil

import pytest

import lossnav

MODULES = sorted(m.name for m in pkgutil.walk_packages(lossnav.__path__, "lossnav."))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    linecache.clearcache()  # for each docstring, doctest's debugger asks whether files changed whose lines are kept
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    doctests = [t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples]
    assert len(doctests) >= 5
