"""``MetricEllipse`` in Python: its constants declare it."""

from lossnav.explore.base import declared

MetricEllipse = declared(__file__)
