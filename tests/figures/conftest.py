import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest

from lossnav import figures


@pytest.fixture(autouse=True)
def style():
    """The book's look, whatever the machine's own settings, and no figure left open."""
    with plt.style.context("default"):
        figures.use_style()
        yield
    plt.close("all")
