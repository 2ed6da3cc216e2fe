from __future__ import annotations

import pytest
from javascript import Script, node_command

from lossnav.explore import base


def script(tmp_path_factory: pytest.TempPathFactory, *files: str) -> Script:
    command = node_command()
    if command is None:
        pytest.skip("no node here; `make book` installs one where the machine has none")
    return Script(command, tmp_path_factory.mktemp("script"), base.bundle(*files))


@pytest.fixture(scope="session")
def double_well(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, "kit.js", "double_well_model.js", "double_well.js")


@pytest.fixture(scope="session")
def drift_field(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, "kit.js", "drift_field_model.js", "drift_field.js")


@pytest.fixture(scope="session")
def horizon(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, "kit.js", "horizon_model.js", "regime_plane.js", "horizon.js")


@pytest.fixture(scope="session")
def metric_ellipse(tmp_path_factory: pytest.TempPathFactory) -> Script:
    return script(tmp_path_factory, "kit.js", "metric_ellipse_model.js", "metric_ellipse.js")
