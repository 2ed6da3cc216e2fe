"""A Dask cluster of two worker processes on this machine, forked from one that has torch."""

from __future__ import annotations

import os
from unittest import mock

import fresh
import pytest


@pytest.fixture
def cluster():
    import dask
    from distributed import LocalCluster

    fresh.run("")  # the server that forks is running, and Dask does not choose what it has
    how = {"distributed.worker.multiprocessing-method": "forkserver" if os.name == "posix" else "spawn"}
    with (
        mock.patch.dict(os.environ),  # Dask leaves how its workers get memory there, for all that comes after
        dask.config.set(how),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1",
            silence_logs=50,
        ) as started,
    ):  # fmt: skip
        yield started
