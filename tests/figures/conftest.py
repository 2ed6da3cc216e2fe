import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest
from readable import assert_inside, assert_large_enough

from lossnav import figures


@pytest.fixture(autouse=True)
def style():
    """The book's look, whatever the machine's own settings. What a test draws a phone can show."""
    with plt.style.context("default"):
        figures.use_style()
        yield
        try:
            for number in plt.get_fignums():
                assert_large_enough(plt.figure(number))
                assert_inside(plt.figure(number))
        finally:
            plt.close("all")
