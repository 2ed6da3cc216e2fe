"""Grids of experiments times seeds: in local processes or on a Dask cluster, each result kept as it comes."""

from lossnav.lab.sweep.drive import run
from lossnav.lab.sweep.grids import grid, read_grids
from lossnav.lab.sweep.results import Finished, summarise

__all__ = ["Finished", "grid", "read_grids", "run", "summarise"]
