"""``MetricEllipse`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

MetricEllipse: type[Explorable] = declared(__file__)
