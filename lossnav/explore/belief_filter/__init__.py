"""The explorable of the chapter *Beliefs*: what a belief remembers of a stream of noisy gradients."""
