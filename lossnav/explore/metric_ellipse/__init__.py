"""The explorable of the chapter *Parameter-space geometry*: a metric drawn as its ellipse, and the steps it turns."""

from __future__ import annotations

from lossnav.explore.metric_ellipse.widget import MetricEllipse

__all__ = ["MetricEllipse"]
