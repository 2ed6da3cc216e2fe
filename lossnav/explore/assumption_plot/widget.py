"""``AssumptionPlot`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

AssumptionPlot: type[Explorable] = declared(__file__)
