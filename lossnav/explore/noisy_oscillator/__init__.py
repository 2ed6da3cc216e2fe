"""One mode of SGD in phase space, with its noise."""
