import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest
from readable import problems

from lossnav import figures


@pytest.fixture(autouse=True)
def style():
    """The book's look, whatever the machine's own settings. What a test draws can be read."""
    with plt.style.context("default"):
        figures.use_style()
        yield
        try:
            for number in plt.get_fignums():
                assert list(problems(plt.figure(number))) == []
        finally:
            plt.close("all")
