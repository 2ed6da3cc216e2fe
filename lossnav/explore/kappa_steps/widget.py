"""``KappaSteps`` in Python: its constants declare it."""

from lossnav.explore.base import declared

KappaSteps = declared(__file__)
