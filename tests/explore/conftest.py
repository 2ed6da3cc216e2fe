from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from javascript import Script
from node import node_command

from lossnav import explore
from lossnav.explore.base import Explorable

pytest.register_assert_rewrite("twins")  # its comparisons say then what was compared


def script(tmp_path_factory: pytest.TempPathFactory, widget: type[Explorable]) -> Script:
    """The very module that the widget carries into a page."""
    command = node_command()
    if command is None:
        pytest.skip("no node here; `make book` installs one where the machine has none")
    return Script(command, tmp_path_factory.mktemp("script"), widget()._esm)


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Callable[[type[Explorable]], Script]:
    """The script of any explorable; each is written once."""
    return functools.cache(functools.partial(script, tmp_path_factory))


@pytest.fixture(scope="session")
def acceleration(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.Acceleration)


@pytest.fixture(scope="session")
def belief_filter(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.BeliefFilter)


@pytest.fixture(scope="session")
def board_script(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.Board)


@pytest.fixture(scope="session")
def broken_charge(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.BrokenCharge)


@pytest.fixture(scope="session")
def double_well(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.DoubleWell)


@pytest.fixture(scope="session")
def drift_field(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.DriftField)


@pytest.fixture(scope="session")
def horizon(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.Horizon)


@pytest.fixture(scope="session")
def metric_ellipse(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.MetricEllipse)


@pytest.fixture(scope="session")
def moving_network(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.MovingNetwork)


@pytest.fixture(scope="session")
def noise_spectrum(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.NoiseSpectrum)


@pytest.fixture(scope="session")
def noisy_oscillator(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.NoisyOscillator)


@pytest.fixture(scope="session")
def noisy_valley(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.NoisyValley)


@pytest.fixture(scope="session")
def scale_cone(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.ScaleCone)


@pytest.fixture(scope="session")
def race(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.Race)


@pytest.fixture(scope="session")
def task_switch(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, explore.TaskSwitch)
