"""The images that most tests of the laboratory train on."""

from __future__ import annotations

import pytest

from lossnav import data


@pytest.fixture(scope="session")
def digits() -> data.Dataset:
    """Read once: nobody writes into them."""
    return data.load("digits")
