"""The noisy oscillator's script against lossnav.sgd, in all regimes of damping."""

from __future__ import annotations

import numpy as np
import oracles
import pytest

from lossnav import sgd

SETTINGS = [
    {"eta": eta, "beta": beta, "rho": rho}
    for eta in (0.001, 0.05, 0.5) for beta in (0.0, 0.9, 0.99) for rho in (0.1, 2.0)
] + [{"eta": 0.5, "beta": 0.0, "rho": 1.0}]  # the last is critical  # fmt: skip


@pytest.mark.parametrize("t", [0.0, 0.01, 3.0])
def test_oscillator_is_the_librarys(noisy_oscillator, t):
    means = noisy_oscillator("given[0].map((s) => M.oscillator(s, given[1], [1.2, -0.4]))", [SETTINGS, t])
    for setting, values in zip(SETTINGS, means, strict=True):
        expected = sgd.Mode(setting["rho"], eta=setting["eta"], beta=setting["beta"]).mean(t, 1.2, -0.4)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


def test_laws_are_the_librarys(noisy_oscillator):
    rows = noisy_oscillator("given.map((s) => [M.laws(s), M.settles(s), M.rates(s).zeta])", SETTINGS)
    for setting, (laws, settles, zeta) in zip(SETTINGS, rows, strict=True):
        widget = oracles.NoisyOscillator(**setting)
        assert settles == widget.mode().stable and zeta == pytest.approx(widget.mode().zeta, rel=1e-12)
        for key, form in (("exact", "discrete"), ("smooth", "sde")):
            law = [[laws[key]["theta"], laws[key]["both"]], [laws[key]["both"], laws[key]["v"]]]
            np.testing.assert_allclose(law, widget.law(form), rtol=1e-12)


def test_steps_are_sgd_with_the_shared_draws(noisy_oscillator):
    for setting in SETTINGS[3:5]:
        walk = np.array(noisy_oscillator("M.steps(given, [1.0, 0.5])", setting))
        np.testing.assert_allclose(np.diff(walk[:, 0]), setting["eta"] * walk[1:, 1], atol=1e-12)
        kicks = walk[1:, 1] - setting["beta"] * walk[:-1, 1] + setting["rho"] * walk[:-1, 0]
        assert len(kicks) == 300
        # as many standard deviations as a normal variable has, in mean and spread
        size = np.sqrt(0.2 * setting["rho"])
        assert abs(kicks.mean()) < 4 * size / np.sqrt(300) and kicks.std() == pytest.approx(size, rel=0.15)


def test_setting_that_diverges_has_no_law():
    widget = oracles.NoisyOscillator(eta=1.0, beta=0.5, rho=3.5)
    assert widget.law() is None
