from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import pytest
from chrome import Browser
from javascript import FRAME, Node, Script
from node import node_command
from stand import Stand

from lossnav import explore
from lossnav.explore.base import Explorable

STAND = pytest.StashKey[Stand]()
pytest.register_assert_rewrite("twins")  # its comparisons say then what was compared


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """Node, for the scripts of all explorables."""
    command = node_command()
    if command is None:
        pytest.skip("no node here; `make book` installs one where the machine has none")
    running = Node(command)
    yield running
    running.close()


@pytest.fixture(scope="session")
def module(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Callable[[type[Explorable]], Script]:
    """The very module that an explorable carries into a page, and the files it is made of; each is written once."""

    @functools.cache
    def script(widget: type[Explorable]) -> Script:
        folder = widget._folder
        files = [path for path in [*folder.glob("*.js"), *folder.parent.glob("*.js")] if path.name != "bundle.js"]
        return Script(node, tmp_path_factory.mktemp("script"), widget()._esm, files)

    return script


@pytest.fixture(scope="session")
def stand(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """Where explorables are shown in a browser, which all tests of this folder share."""
    standing = request.config.stash[STAND] = Stand(tmp_path_factory.mktemp("stand"))
    yield standing
    standing.close()


@pytest.fixture
def browser(stand: Stand) -> Browser:
    """The same browser, for pages of one's own."""
    return stand.browser()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Close the browser behind the last test here: while its driver runs, nobody else can have an event loop."""
    if nextitem is None or nextitem.path.parent != item.path.parent:
        standing = item.config.stash.get(STAND, None)
        if standing is not None:
            standing.close()


@pytest.fixture(scope="session")
def frame(module: Callable[[type[Explorable]], Script]) -> Callable[..., dict]:
    """What a script draws first: its lines, its words and all that stands in its drawings, and the state that it takes.

    It is drawn in node, on a page of a width, whose address may end in a state.
    """

    def drawn(widget: Explorable, width: int = 1000, hash: str = "") -> dict:
        state = widget.get_state(widget._state_names())
        return module(type(widget))(FRAME, {"state": state, "width": width, "hash": hash})

    return drawn


def of(widget: type[Explorable]) -> Callable[..., Script]:
    """A fixture: the script of one explorable."""
    return pytest.fixture(scope="session")(lambda module: module(widget))


acceleration = of(explore.Acceleration)
belief_filter = of(explore.BeliefFilter)
board_script = of(explore.Board)
broken_charge = of(explore.BrokenCharge)
double_well = of(explore.DoubleWell)
drift_field = of(explore.DriftField)
horizon = of(explore.Horizon)
metric_ellipse = of(explore.MetricEllipse)
moving_network = of(explore.MovingNetwork)
noise_spectrum = of(explore.NoiseSpectrum)
noisy_oscillator = of(explore.NoisyOscillator)
noisy_valley = of(explore.NoisyValley)
scale_cone = of(explore.ScaleCone)
race = of(explore.Race)
task_switch = of(explore.TaskSwitch)
