"""A Dask cluster of two worker processes on this machine."""

from __future__ import annotations

import pytest


@pytest.fixture
def cluster():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as started:
        yield started
