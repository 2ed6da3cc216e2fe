"""The explorable of the chapter *Momentum and the ballistic rule*: one optimal step and its three limits."""
