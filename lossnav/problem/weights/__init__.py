"""Weights that know how uncertain they are (Sec. 6, App. I): the assumptions, and losses averaged over the weights.

``lossnav.uncertainty`` has the public names, and what follows from them.
"""
