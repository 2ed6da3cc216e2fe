/* Weights that are N(mu, 1/p), Eq. 148 with a prior N(m, v); kernels.h comes before.
   each = {share of 1/v, 1/v, -m/v}; `step` is the rate, negative, and `radius` the trust region in deviations. */
static void move(int64_t count, real *const *at, const double *option, const double *each, double n) {
    (void)n;
    real *restrict mu = at[0], *restrict p = at[2];
    const real *restrict g = at[1];
    const real keep = option[0], fresh = option[1], push = option[2], step = option[3], radius = option[4];
    const real floor = each[0], pull = each[1], towards = each[2];
    for (int64_t i = 0; i < count; i++) {
        p[i] = keep * p[i] + fresh * g[i] * g[i] + floor;
        const real deviation = sqrt(p[i]);
        real way = step * (pull * mu[i] + towards + push * g[i]) / deviation; /* in units of 1/deviation */
        way = way < -radius ? -radius : way;
        way = way > radius ? radius : way;
        mu[i] += way / deviation;
    }
}
