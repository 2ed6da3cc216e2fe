"""``KappaSteps`` in Python: its constants declare it."""

from lossnav.explore.base import Explorable, declared

KappaSteps: type[Explorable] = declared(__file__)
