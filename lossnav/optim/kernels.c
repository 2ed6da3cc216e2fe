/* The rules that have a class of their own; kernels.h comes before. */

/* The ballistic rule, Eq. 33; a = v, b = m. Without correction each = {1, 1}, and x / 1 is x. */
static void ballistic_move(int64_t n, real *const *at, const double *option, const double *each) {
    real *restrict theta = at[THETA], *restrict v = at[A], *restrict m = at[B];
    const real *restrict g = at[G];
    const real keep = option[0], beta = option[1], fresh = option[2], eps = option[3], step = option[4];
    const real momentum = option[5], fresh_m = option[6], correct_v = each[0], correct_m = each[1];
    if (m) {
        for (int64_t i = 0; i < n; i++) {
            v[i] = beta * v[i] + fresh * g[i] * g[i];
            m[i] = momentum * m[i] + fresh_m * g[i];
            theta[i] = keep * theta[i] + step * (m[i] / correct_m) / sqrt(v[i] / correct_v + eps);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            v[i] = beta * v[i] + fresh * g[i] * g[i];
            theta[i] = keep * theta[i] + step * g[i] / sqrt(v[i] / correct_v + eps);
        }
    }
}

/* What Belief and Navigator share: Eq. 6 on a curvature h, as in _plan.py. The step is `step` / root, or `step` where
   nothing is damped. The root is sqrt(h + epsilon^2) + epsilon, written with factors that do not overflow. */
typedef struct { real keep, step, a, b, c, d, scale; } plan;

INLINE plan plan_of(const double *option) {
    plan p = {option[0], option[1], option[2], option[3], option[4], option[5], option[6]};
    return p;
}

INLINE real root(const plan *p, real h) {
    const real square = p->a * h + p->b;
    return (sqrt(square < 0 ? 0 : square) + p->c) * p->d;
}

static const real TINY = 1e-30; /* makes 0/0 below 1 */

/* S (1 - e^-x) / x with x = S h, for a step in a time that is not small; the sign of the step is put on later. */
INLINE real finite_gain(real s, real h) {
    const real x = s * h + TINY;
    return s * (-exp_minus_one(-x) / x);
}

/* Belief, Eq. 14; a = v, b = m. */
enum { UNCENTRED, CENTRED, INNOVATION };

INLINE void belief_loop(int64_t n, real *restrict theta, const real *restrict g, real *restrict v, real *restrict m,
                        const double *option, const double *each, int datum, int damped, int finite) {
    const plan p = plan_of(option);
    const real sign = option[7], beta1 = option[8], fresh1 = option[9], beta2 = option[10], fresh2 = option[11];
    const real floor = option[12], correct_m = each[0], correct_v = each[1], past = each[2], unbiased = each[3];
    for (int64_t i = 0; i < n; i++) {
        const real surprise = m[i] / past - g[i];
        m[i] = beta1 * m[i] + fresh1 * g[i];
        const real residual = datum == UNCENTRED ? g[i] : datum == CENTRED ? g[i] - m[i] : surprise;
        v[i] = beta2 * v[i] + (datum == INNOVATION ? unbiased : fresh2) * residual * residual;
        const real h = v[i] / correct_v + floor, divisor = damped ? root(&p, h) : 1;
        const real push = sign * (m[i] / correct_m);
        theta[i] = p.keep * theta[i] + (finite ? push * finite_gain(p.step / divisor, h * p.scale)
                                               : push * p.step / divisor);
    }
}

/* Navigator, Eq. 6; a = h, an average that this step adds to (SECOND_MOMENT) or that has been observed. */
enum { SECOND_MOMENT, ABSOLUTE, BOUNDED };

INLINE void navigator_loop(int64_t n, real *restrict theta, const real *restrict g, real *restrict average,
                           const double *option, const double *each, int kind, int damped) {
    const plan p = plan_of(option);
    const real sign = option[7], beta = option[8], fresh = option[9], eps = option[10], lowest = option[11];
    const real correct = each[0];
    for (int64_t i = 0; i < n; i++) {
        if (kind == SECOND_MOMENT) average[i] = beta * average[i] + fresh * g[i] * g[i];
        real h = average[i] * correct;
        if (kind == ABSOLUTE) h = fabs(h);
        if (kind == BOUNDED) h = h < lowest ? lowest : h;
        h += eps;
        theta[i] = p.keep * theta[i] + sign * g[i] * finite_gain(damped ? p.step / root(&p, h) : p.step, h);
    }
}

static void belief_move(int64_t n, real *const *at, const double *option, const double *each) {
    const int kind = (int)option[13], finite = option[6] != 0;
#define BELIEF(datum, damped, finite)                                                                                 \
    case (datum) * 4 + (damped) * 2 + (finite):                                                                       \
        belief_loop(n, at[THETA], at[G], at[A], at[B], option, each, datum, damped, finite);                          \
        break
    switch (kind * 2 + finite) {
        BELIEF(UNCENTRED, 0, 0); BELIEF(UNCENTRED, 0, 1); BELIEF(UNCENTRED, 1, 0); BELIEF(UNCENTRED, 1, 1);
        BELIEF(CENTRED, 0, 0); BELIEF(CENTRED, 0, 1); BELIEF(CENTRED, 1, 0); BELIEF(CENTRED, 1, 1);
        BELIEF(INNOVATION, 0, 0); BELIEF(INNOVATION, 0, 1); BELIEF(INNOVATION, 1, 0); BELIEF(INNOVATION, 1, 1);
    }
}

static void navigator_move(int64_t n, real *const *at, const double *option, const double *each) {
#define NAVIGATOR(kind, damped)                                                                                       \
    case (kind) * 2 + (damped):                                                                                       \
        navigator_loop(n, at[THETA], at[G], at[A], option, each, kind, damped);                                       \
        break
    switch ((int)option[12]) {
        NAVIGATOR(SECOND_MOMENT, 0); NAVIGATOR(SECOND_MOMENT, 1); NAVIGATOR(ABSOLUTE, 0);
        NAVIGATOR(ABSOLUTE, 1); NAVIGATOR(BOUNDED, 0); NAVIGATOR(BOUNDED, 1);
    }
}

EXPORT(ballistic)
EXPORT(belief)
EXPORT(navigator)
