"""M10–M19, M24, M25: what a belief about the shape of a weight matrix's curvature makes of the ballistic step."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
import torch
from scipy.optimize import minimize

import lossnav as ln

M, N = 4, 5
RNG = np.random.default_rng(0)


def definite(size, seed):
    a = np.random.default_rng(seed).normal(size=(size, size))
    return a @ a.T + 0.3 * np.eye(size)


def power(matrix, exponent):
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.maximum(values, 0) ** exponent @ vectors.T


def moments(c):
    """Return E[ggᵀ] and E[gᵀg] of row-major gradients with E[vec g vec gᵀ] = c."""
    four = c.reshape(M, N, M, N)
    return np.einsum("ikjk->ij", four), np.einsum("kikj->ij", four)


def ballistic(hessian, g):
    """Return the velocity −√(ηk) H^{−1/2} g of the planner, by its small step in all weights at once."""
    return ln.update(ln.Objective(), g.ravel(), hessian, 1e-9).reshape(g.shape) / 1e-9


A, B, G = definite(M, 1), definite(N, 2), RNG.normal(size=(M, N))
GENERAL = definite(M * N, 3)


def test_a_kronecker_curvature_is_a_root_on_each_side():
    np.testing.assert_allclose(ballistic(np.kron(A, B), G), -power(A, -0.5) @ G @ power(B, -0.5), rtol=1e-6)


def test_shampoos_factors_need_exponents_of_a_half_and_the_root_of_the_trace():
    left, right = moments(np.kron(A, B))
    expected = ballistic(np.kron(A, B), G)
    found = -np.sqrt(np.trace(left)) * power(left, -0.5) @ G @ power(right, -0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    quarter = -power(left, -0.25) @ G @ power(right, -0.25)  # half-way: the root of the root
    halfway = -(np.trace(left) ** -0.25) * (power(np.kron(A, B), -0.25) @ G.ravel()).reshape(M, N)
    np.testing.assert_allclose(quarter, halfway, rtol=1e-10)


def test_shampoo_as_published_is_the_ballistic_step_of_an_upper_bound():
    u, v = RNG.normal(size=(2, 30, M)), RNG.normal(size=(2, 30, N))
    gradients = np.einsum("rsm,rsn->smn", u, v)  # rank two
    flat = gradients.reshape(30, -1)
    c = flat.T @ flat / 30
    left, right = moments(c)
    bound = 2 * np.kron(power(left, 0.5), power(right, 0.5))
    assert np.linalg.eigvalsh(bound - c).min() > -1e-12 * np.linalg.eigvalsh(bound).max()
    gradient = gradients[0]  # the rank is needed: a single gradient is not below the product of its roots
    roots = np.kron(power(gradient @ gradient.T, 0.5), power(gradient.T @ gradient, 0.5))
    assert np.linalg.eigvalsh(roots - np.outer(gradient, gradient)).min() < -0.1
    expected = -power(left, -0.25) @ G @ power(right, -0.25) / np.sqrt(2)
    np.testing.assert_allclose(ballistic(bound, G), expected, rtol=1e-5)


def surprise(left, right, c):
    """Return the expected −log N(vec g; 0, L ⊗ R) of gradients with second moment c, without its constant."""
    product = torch.kron(left, right)
    return 0.5 * (torch.logdet(product) + torch.trace(torch.linalg.solve(product, c)))


def flip_flop(c, sweeps=400):
    left, right, four = np.eye(M), np.eye(N), c.reshape(M, N, M, N)
    for _ in range(sweeps):
        left = np.einsum("iajb,ab->ij", four, np.linalg.inv(right)) / N
        right = np.einsum("iajb,ij->ab", four, np.linalg.inv(left)) / M
    return left, right


def test_the_flip_flop_of_whitened_factors_is_stationary_in_likelihood():
    left, right = (torch.tensor(x, requires_grad=True) for x in flip_flop(GENERAL))
    gradients = torch.autograd.grad(surprise(left, right, torch.tensor(GENERAL)), (left, right))
    assert max(gradient.abs().max().item() for gradient in gradients) < 1e-9
    shampoo = moments(GENERAL)
    factors = [torch.tensor(shampoo[0] / np.trace(shampoo[0])), torch.tensor(shampoo[1])]
    assert surprise(*factors, torch.tensor(GENERAL)) > surprise(left, right, torch.tensor(GENERAL)) + 1e-3


def test_its_average_is_a_natural_gradient_step():
    """The Fisher matrix is the Hessian of the expected surprise where the model is true."""
    left, right, g = torch.tensor(A), torch.tensor(B), torch.tensor(G)
    true, datum = torch.kron(left, right), torch.outer(g.flatten(), g.flatten())
    gradient = torch.autograd.functional.jacobian(lambda x: surprise(x, right, datum), left).flatten()
    fisher = torch.autograd.functional.hessian(lambda x: surprise(x, right, true), left).reshape(M * M, M * M)
    step = -torch.linalg.lstsq(fisher, gradient).solution.reshape(M, M)
    expected = G @ np.linalg.inv(B) @ G.T / N - A
    np.testing.assert_allclose((step + step.T) / 2, expected, rtol=1e-8, atol=1e-10)


def test_a_family_with_a_scale_fitted_by_likelihood_has_steps_of_one_size():
    d = M * N
    left, right = flip_flop(GENERAL)
    ql, qr = (np.linalg.eigh(x)[1] for x in moments(GENERAL))
    k = np.kron(ql, qr)
    fits = {
        "scalar": np.trace(GENERAL) / d * np.eye(d), "diagonal": np.diag(np.diag(GENERAL)),
        "Kronecker": np.kron(left, right), "eigenbasis": k @ np.diag(np.diag(k.T @ GENERAL @ k)) @ k.T,
    }  # fmt: skip
    draws = np.random.default_rng(5).normal(size=(20000, d)) @ np.linalg.cholesky(GENERAL).T
    for name, fit in fits.items():
        assert abs(np.trace(np.linalg.solve(fit, GENERAL)) / d - 1) < 1e-9, name
        assert abs(np.square(draws @ power(fit, -0.5)).mean() - 1) < 0.02, name
    skewed = np.kron(np.diag([1.0, 1, 1, 30]), np.eye(N)) @ GENERAL  # Shampoo's own fit need not be one of them
    skewed = skewed @ np.kron(np.diag([1.0, 1, 1, 30]), np.eye(N))
    product = np.kron(*moments(skewed)) / np.trace(skewed)
    assert abs(np.trace(np.linalg.solve(product, skewed)) / d - 1) > 0.05


def test_muon_is_the_ballistic_step_of_a_one_sided_curvature_read_off_the_mean():
    u, _, v = np.linalg.svd(G, full_matrices=False)
    one_sided = np.kron(G @ G.T / N, np.eye(N))
    np.testing.assert_allclose(ballistic(one_sided, G), -np.sqrt(N) * u @ v, rtol=1e-6)
    parameter = torch.nn.Parameter(torch.zeros(M, N, dtype=torch.float64))
    parameter.grad = torch.tensor(G)
    ln.optim.BallisticMatrix([parameter], 1.0, curvature="polar", eps_relative=0.0).step()
    np.testing.assert_allclose(parameter.detach(), -np.sqrt(N) * u @ v, atol=2e-6)
    whitened = G @ power(B, -0.5)  # with a belief about the inputs that is kept: L = g B⁻¹ gᵀ / n
    u, _, v = np.linalg.svd(whitened, full_matrices=False)
    fresh = np.kron(G @ np.linalg.inv(B) @ G.T / N, B)
    np.testing.assert_allclose(ballistic(fresh, G), -np.sqrt(N) * u @ v, rtol=1e-6)


@pytest.mark.parametrize(("ratio", "known"), [(1, 0.58), (4, 0.27), (16, 0.13)])
def test_one_gradient_is_a_poor_estimate_of_a_square_layers_rows(ratio, known):
    """Against the population's step, in units of it; L = I."""
    m = 24
    g = np.random.default_rng(7).normal(size=(20, m, ratio * m))
    u, _, v = np.linalg.svd(g, full_matrices=False)
    errors = np.linalg.norm(np.sqrt(ratio * m) * u @ v - g, axis=(1, 2)) / np.linalg.norm(g, axis=(1, 2))
    assert abs(errors.mean() - known) < 0.03


def test_soap_is_rmsprop_in_the_basis():
    ql, qr = (torch.tensor(np.linalg.qr(x)[0]) for x in (A, B))
    plain = torch.nn.Parameter(torch.zeros(M, N, dtype=torch.float64))
    theirs = torch.optim.RMSprop([plain], 0.1, alpha=0.9, eps=0.0)
    c, theta = torch.zeros(M * N, M * N, dtype=torch.float64), torch.zeros(M, N, dtype=torch.float64)
    k = torch.kron(ql.contiguous(), qr.contiguous())
    for g in torch.tensor(np.random.default_rng(8).normal(size=(6, M, N))):
        plain.grad = ql.T @ g @ qr
        theirs.step()
        rotated = k.T @ torch.outer(g.flatten(), g.flatten()) @ k
        c = 0.9 * c + 0.1 * k @ torch.diag(torch.diag(rotated)) @ k.T
        theta += 0.1 * torch.tensor(ballistic(c.numpy(), g.numpy()))
    torch.testing.assert_close(theta, ql @ plain.detach() @ qr.T, rtol=1e-5, atol=1e-7)


def test_given_the_basis_the_second_moments_are_the_likeliest_and_the_nearest():
    k = np.kron(np.linalg.qr(A)[0], np.linalg.qr(B)[0])
    rotated = k.T @ GENERAL @ k
    best = np.diag(rotated)
    optimum = minimize(
        lambda x: (x + best * np.exp(-x)).sum(), np.zeros(M * N), jac=lambda x: 1 - best * np.exp(-x), tol=1e-12
    )  # fmt: skip
    np.testing.assert_allclose(np.exp(optimum.x), best, rtol=1e-4)
    for change in np.random.default_rng(9).normal(size=(20, M * N)):
        moved = GENERAL - k @ np.diag(best + 0.01 * change) @ k.T
        assert np.linalg.norm(moved) > np.linalg.norm(GENERAL - k @ np.diag(best) @ k.T)


def test_a_discount_runs_the_exponent_from_nothing_to_a_half_and_passes_a_quarter():
    gamma = 1.3
    for h in (1e-8, 0.75 * gamma**2, 1e8):
        speeds = [
            ln.optimal_velocity(ln.Objective(gamma=gamma), ln.losses.Quadratic([[c]], gradient=[1.0]), [0.0])[0]
            for c in (h * 0.9999, h * 1.0001)
        ]
        exponent = np.log(speeds[1] / speeds[0]) / np.log(1.0001 / 0.9999)
        expected = -0.5 * (1 - gamma / 2 / np.sqrt(gamma**2 / 4 + h))
        assert abs(exponent - expected) < 1e-6
        assert h != 0.75 * gamma**2 or abs(exponent + 0.25) < 1e-6


def test_a_diagonal_belief_moves_to_a_new_basis_by_squares_and_keeps_its_size_there():
    from lossnav.rules.bases import transport

    t, s = np.linalg.qr(A)[0], np.linalg.qr(B)[0]
    v = np.random.default_rng(10).uniform(0.1, 3, size=(M, N))
    transported = transport(torch.tensor(v), torch.tensor(t), torch.tensor(s)).numpy()
    k = np.kron(t, s)
    np.testing.assert_allclose(transported.ravel(), np.diag(k.T @ np.diag(v.ravel()) @ k), rtol=1e-12)
    true = k.T @ np.diag(v.ravel()) @ k
    assert abs((np.diag(true) / transported.ravel()).mean() - 1) < 1e-12
    mixed = GENERAL  # not diagonal in the old basis: what was kept of it is not enough
    guess = transport(torch.tensor(np.diag(mixed).reshape(M, N)), torch.tensor(t), torch.tensor(s)).numpy().ravel()
    assert abs((np.diag(k.T @ mixed @ k) / guess).mean() - 1) > 1e-3


def test_damping_belongs_under_the_root_of_the_product():
    eps = 0.1
    damped = power(np.kron(A, B) + eps * np.eye(M * N), -0.5) @ G.ravel()
    (a, ql), (b, qr) = np.linalg.eigh(A), np.linalg.eigh(B)
    in_basis = ql @ ((ql.T @ G @ qr) / np.sqrt(np.outer(a, b) + eps)) @ qr.T
    np.testing.assert_allclose(in_basis.ravel(), damped, rtol=1e-10)
    apart = np.kron(power(A + eps**0.5 * np.eye(M), -0.5), power(B + eps**0.5 * np.eye(N), -0.5)) @ G.ravel()
    assert np.linalg.norm(apart - damped) > 0.05 * np.linalg.norm(damped)
    stacked = np.hstack([G, np.sqrt(N * eps) * np.eye(M)])
    u, _, v = np.linalg.svd(stacked, full_matrices=False)
    np.testing.assert_allclose((u @ v)[:, :N], power(G @ G.T + N * eps * np.eye(M), -0.5) @ G, rtol=1e-10)


def muon(x, times):
    for _ in range(times):
        x = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    return x


def test_muons_quintic_never_converges_and_the_classical_one_does():
    sigma = np.geomspace(0.01, 1, 20001)
    assert (muon(sigma, 5).min(), muon(sigma, 5).max()) == pytest.approx((0.682, 1.134), abs=2e-3)
    assert np.abs(muon(sigma, 50) - 1).max() > 0.1
    fixed = np.sqrt(max(np.roots([2.0315, -4.7750, 2.4445]).real))
    assert fixed == pytest.approx(1.2637, abs=1e-4)
    assert muon(fixed * 1.001, 20) > 1e3 or np.isnan(muon(fixed * 1.001, 20))
    assert abs(muon(fixed * 0.999, 20)) < 1.3
    after = muon(sigma, 5)
    for _ in range(2):
        after = (15 * after - 10 * after**3 + 3 * after**5) / 8
    assert np.abs(after - 1).max() == pytest.approx(5.8e-4, rel=0.1)


def within(matrix, cuts):
    """Return the blocks on the diagonal of a matrix, and zero elsewhere."""
    blocks = np.zeros_like(matrix)
    for cut in cuts:
        blocks[np.ix_(cut, cut)] = matrix[np.ix_(cut, cut)]
    return blocks


def missed(c, rows, columns):
    """Return KL(N(0, c) ‖ N(0, ĉ)), ĉ diagonal in the eigenvectors of the blocks of E[ggᵀ] and E[gᵀg]."""
    k = np.kron(*(np.linalg.eigh(within(x, cuts))[1] for x, cuts in zip(moments(c), (rows, columns), strict=True)))
    fit = k @ np.diag(np.diag(k.T @ c @ k)) @ k.T
    return 0.5 * (np.trace(np.linalg.solve(fit, c)) - len(c) + np.linalg.slogdet(fit)[1] - np.linalg.slogdet(c)[1])


CUTS = [([range(4)], [range(5)]), ([[0, 1], [2, 3]], [[0, 1, 2], [3, 4]]), ([[0], [1], [2, 3]], [[0, 1], [2], [3, 4]]),
        ([[k] for k in range(4)], [[k] for k in range(5)])]  # fmt: skip


def test_blocks_of_a_product_miss_its_determinants_and_finer_ones_never_less():
    cuts = [tuple([list(cut) for cut in side] for side in pair) for pair in CUTS]
    for seed in range(20):
        a, b = definite(M, 2 * seed), definite(N, 2 * seed + 1)
        divergences = [missed(np.kron(a, b), *pair) for pair in cuts]
        for divergence, (rows, columns) in zip(divergences, cuts, strict=True):
            gaps = [np.log(np.linalg.det(within(x, cut)) / np.linalg.det(x)) for x, cut in ((a, rows), (b, columns))]
            assert divergence == pytest.approx(N / 2 * gaps[0] + M / 2 * gaps[1], rel=1e-7, abs=1e-9)
        assert divergences == sorted(divergences) and abs(divergences[0]) < 1e-9 < divergences[1]
    general = definite(M * N, 1)  # no product: whole bases may miss more than the axes of the weights
    assert missed(general, *cuts[0]) > missed(general, *cuts[-1]) + 0.1


# Beyond the numbered equations


def test_what_the_quintic_makes_of_a_value_below_its_largest_fixed_point_stays_where_the_cubic_converges():
    """Without starts: a polynomial's range on an interval is that of its ends and of its critical points (ours)."""
    quintic = np.polynomial.Polynomial([0, 3.4445, 0, -4.7750, 0, 2.0315])
    edge = np.sqrt(max(np.roots([2.0315, -4.7750, 2.4445]).real))
    inside = [float(r.real) for r in quintic.deriv().roots() if abs(r.imag) < 1e-12 and 0 < r.real < edge]
    images = [quintic(r) for r in (*inside, edge)]
    assert len(inside) == 2 and quintic.deriv()(0) > 0
    assert min(images) > 0 and max(images) <= edge * (1 + 1e-12) < np.sqrt(3)
    # of (0, √3) a step of the cubic makes (0, 1], and 1 − σ ← ½(1 − σ)²(2 + σ) < 1 − σ there
    cubic = np.polynomial.Polynomial([0, 1.5, 0, -0.5])
    assert cubic(1) == 1 and abs(cubic(np.sqrt(3))) < 1e-15 and np.allclose(cubic.deriv().roots(), [-1, 1])
    square = np.polynomial.Polynomial([1, -1]) ** 2 * np.polynomial.Polynomial([1, 0.5])
    np.testing.assert_allclose((1 - cubic).coef, square.coef, atol=1e-15)


def test_one_gradient_says_more_of_longer_layers_only_if_columns_are_independent():
    """Cosine of UVᵀ to L^{−½}g: rises with n for columns of one covariance, and does not if few columns carry all."""
    rng, rows = np.random.default_rng(3), np.diag(np.geomspace(1, 100, 8))

    def cosine(n: int, decay: float) -> float:
        cosines = []
        for _ in range(40):
            g = np.sqrt(rows) @ rng.normal(size=(8, n)) * np.exp(-decay * np.arange(n) / 2)
            left, _, right = np.linalg.svd(g, full_matrices=False)
            step = power(rows, -0.5) @ g
            cosines.append(np.sum(step * (left @ right)) / np.linalg.norm(step) / np.linalg.norm(left @ right))
        return float(np.mean(cosines))

    alike, few = [cosine(n, 0.0) for n in (8, 16, 64)], [cosine(n, 1.0) for n in (8, 16, 64)]
    assert alike[0] + 0.05 < alike[1] < alike[2] - 0.03 and alike[2] > 0.95
    assert np.ptp(few) < 0.05 and max(few) < 0.7


def test_what_goes_beside_a_belief_that_may_turn_has_to_be_a_number():
    """One rate of decay is diagonal in every basis Q_L ⊗ Q_R; several only if alike along each side that turns."""
    turn = np.array([[3.0, -4.0], [4.0, 3.0]]) / 5
    for left, right in ((turn, np.eye(2)), (np.eye(2), turn), (turn, turn.T)):
        basis = np.kron(left, right)
        for rates, diagonal in (
            ([2.0] * 4, True),
            ([2.0, 2, 1, 1], np.array_equal(left, np.eye(2))),
            ([2.0, 1, 2, 1], np.array_equal(right, np.eye(2))),
            ([3.0, 1, 2, 1], False),
        ):
            rotated = basis.T @ np.diag(rates) @ basis
            assert np.allclose(rotated, np.diag(np.diag(rotated)), atol=1e-12) == diagonal


def test_an_average_keeps_the_sum_of_its_squared_weights_of_white_noise():
    """By the recursion of its variance, exactly; in the long run by that recursion's fixed point."""
    beta, n, fixed = sympy.symbols("beta n s", positive=True)
    stated = (1 - beta) / (1 + beta) * (1 + beta**n) / (1 - beta**n)
    variance = sympy.Integer(0)
    for step in range(1, 7):
        variance = sympy.expand(beta**2 * variance + (1 - beta) ** 2)
        assert sympy.simplify(variance / (1 - beta**step) ** 2 - stated.subs(n, step)) == 0
    (limit,) = sympy.solve(sympy.Eq(fixed, beta**2 * fixed + (1 - beta) ** 2), fixed)
    assert sympy.simplify(limit - (1 - beta) / (1 + beta)) == 0
    for step in (1, 3, 40):
        assert ln.assume.Filter(0.9).kept(step) == pytest.approx(float(stated.subs({beta: 0.9, n: step})), rel=1e-12)


def test_steps_on_white_noise_are_as_long_as_what_the_average_keeps():
    """Of a curvature that is known, E[gᵀg] of white noise, and of one that is read off m; 400 draws of each."""
    beta, n, noise = 0.8, 5, np.random.default_rng(0).normal(size=(400, 5, M, N))
    weights = (1 - beta) * beta ** np.arange(n)[::-1] / (1 - beta**n)
    kept = ln.assume.Filter(beta).kept(n)
    known = -np.einsum("t,stmn->smn", weights, noise)
    assert np.mean(known**2) == pytest.approx(kept, rel=0.05)
    parameter = torch.nn.Parameter(torch.zeros(M, N, dtype=torch.float64))
    optimizer = ln.optim.BallisticMatrix([parameter], 1.0, betas=(beta, 0.99), eps_relative=0.0)
    for g in noise[0]:
        before = parameter.detach().clone()
        parameter.grad = torch.tensor(g)
        optimizer.step()
    step = (parameter.detach() - before).numpy()
    u, _, v = np.linalg.svd(-known[0], full_matrices=False)
    np.testing.assert_allclose(step, -np.sqrt(kept * N) * u @ v, atol=1e-5)
