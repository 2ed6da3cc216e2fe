"""The explorable of the chapter *Drift and partial control*: a drift field, and where the optimal path ends."""
