"""A bowl with round hills in it: one place to rest, and several ways round to it."""

import numpy as np

import lossnav as ln


def hills(centres, heights, width):
    """|θ|²/2 + Σ height·exp(−|θ − centre|²/width)."""
    centres, heights = np.array(centres, dtype=float), np.array(heights, dtype=float)

    def parts(x):
        away = x[..., None, :] - centres
        return away, heights * np.exp(-(away**2).sum(-1) / width)

    def value(x):
        return (x**2).sum(-1) / 2 + parts(x)[1].sum(-1)

    def gradient(x):
        away, high = parts(x)
        return x - 2 / width * (away * high[..., None]).sum(-2)

    def hessian(x):
        away, high = parts(x)
        bend = 4 / width**2 * away[..., :, None] * away[..., None, :] - 2 / width * np.eye(2)
        return np.eye(2) + (high[..., None, None] * bend).sum(-3)

    return ln.losses.Function(value, gradient, hessian, dim=2)


def random_problem(seed):
    """Two to six hills, a start outside and a discount between .05 and .8."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    loss = hills(rng.uniform(-2.5, 2.5, (count, 2)), rng.uniform(2, 10, count), rng.uniform(0.3, 1.2))
    angle = rng.uniform(0, 2 * np.pi)
    start = rng.uniform(3, 4) * np.array([np.cos(angle), np.sin(angle)])
    return ln.Objective(gamma=float(np.exp(rng.uniform(np.log(0.05), np.log(0.8))))), loss, start
