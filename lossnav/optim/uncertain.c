/* Weights that are N(mu, 1/p), Eq. 148 with a prior N(m, v); kernels.h comes before. a = p.
   each = {share of 1/v, 1/v, -m/v}; `step` is the rate, negative, and `radius` the trust region in deviations. */
static void uncertain_move(int64_t n, real *const *at, const double *option, const double *each) {
    real *restrict mu = at[THETA], *restrict p = at[A];
    const real *restrict g = at[G];
    const real keep = option[0], fresh = option[1], push = option[2], step = option[3], radius = option[4];
    const real floor = each[0], pull = each[1], towards = each[2];
    for (int64_t i = 0; i < n; i++) {
        p[i] = keep * p[i] + fresh * g[i] * g[i] + floor;
        const real deviation = sqrt(p[i]);
        real move = step * (pull * mu[i] + towards + push * g[i]) / deviation; /* in units of 1/deviation */
        move = move < -radius ? -radius : move;
        move = move > radius ? radius : move;
        mu[i] += move / deviation;
    }
}

EXPORT(uncertain)
