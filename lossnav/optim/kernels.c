/* One step of a learning rule over many tensors, in one pass over the memory.

   Compiled once with REAL = float and once with REAL = double. Each line rounds as the same line in IEEE arithmetic
   does: the compiler may vectorise, but neither reorder nor contract (-ffp-contract=off, no -ffast-math). So the result
   depends neither on the processor, nor on the number of threads, nor on where a tensor begins.

   A rule moves theta along g and remembers a and (if it needs a second moment) b; a rule with one gets no b, or NULL.
   The numbers in `option` hold for all tensors, those in `each` for one. A derived rule's own text follows the end. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>

typedef REAL real;
typedef void rule(int64_t n, real *const *at, const double *option, const double *each);

enum { THETA, G, A, B, MOST = 8, ALIGNED = 64 };

/* Cut the tensors, laid end to end, into equal shares, one a thread. */
static void share_out(rule *move, int64_t tensors, const int64_t *size, int64_t streams, real *const *stream,
                      const double *option, const double *each, int64_t each_count, int64_t shares) {
    int64_t total = 0;
    for (int64_t i = 0; i < tensors; i++) total += size[i];
    int64_t blocks = (total + ALIGNED - 1) / ALIGNED;
#pragma omp parallel for num_threads(shares) schedule(static, 1) if (shares > 1)
    for (int64_t share = 0; share < shares; share++) {
        int64_t low = blocks * share / shares * ALIGNED, high = blocks * (share + 1) / shares * ALIGNED, start = 0;
        for (int64_t i = 0; i < tensors; start += size[i++]) {
            int64_t from = low > start ? low - start : 0, to = high - start < size[i] ? high - start : size[i];
            if (from >= to) continue;
            real *at[MOST] = {0};
            for (int64_t s = 0; s < streams; s++) {
                real *begin = stream[s * tensors + i];
                at[s] = begin ? begin + from : NULL;
            }
            move(to - from, at, option, each + i * each_count);
        }
    }
}

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

/* The parts below are inlined into loops whose switches are constants: each loop has only what it needs. */
#define INLINE static inline __attribute__((always_inline))

#define SINGLE (sizeof(real) == 4)
static const real TINY = 1e-30;                                      /* makes 0/0 of the forms below 0 or 1 */
static const real LOG2E = 1.4426950408889634074;
static const real LN2_HIGH = SINGLE ? 0.693359375 : 6.93147180369123816490e-01;          /* n LN2_HIGH is exact */
static const real LN2_LOW = SINGLE ? -2.12194440054690583e-4 : 1.90821492927058770002e-10; /* the sum is ln 2 */
static const real ROUNDING = SINGLE ? 12582912.0 : 6755399441055744.0;  /* 3/2 2^mantissa: x + this has no fraction */
static const real LOWEST = SINGLE ? -80.0 : -700.0, HIGHEST = SINGLE ? 88.0 : 709.0;

/* 2^n for a whole number, given as ROUNDING + n: its last bits are those of n. */
INLINE real power_of_two(real shifted) {
    real result;
    if (SINGLE) {
        uint32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        bits = (bits << 23) + (UINT32_C(127) << 23);
        memcpy(&result, &bits, sizeof bits);
    } else {
        uint64_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        bits = (bits << 52) + (UINT64_C(1023) << 52);
        memcpy(&result, &bits, sizeof bits);
    }
    return result;
}

/* e^y - 1 without branches, so that it vectorises, to 2 units in the last place. With y = n ln 2 + r, |r| <= ln 2 / 2:
   2^n (e^r - 1) + (2^n - 1), and e^r - 1 from its power series: the terms left out are below 1e-9 of it in float, 1e-17
   in double. */
#define TERMS (SINGLE ? 8 : 14)
static const double FACTORIAL[] = {1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600,
                                   6227020800., 87178291200.};

INLINE real exp_minus_one(real y) {
    real x = y < LOWEST ? LOWEST : y;
    x = x > HIGHEST ? HIGHEST : x;
    const real shifted = x * LOG2E + ROUNDING, n = shifted - ROUNDING;
    const real r = (x - n * LN2_HIGH) - n * LN2_LOW;
    real series = 0;
    for (int k = TERMS; k > 1; k--) series = series * r + (real)(1.0 / FACTORIAL[k]);
    const real power = power_of_two(shifted);
    const real result = power * (r + r * r * series) + (power - 1);
    return y > HIGHEST ? (real)INFINITY : result;
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

#define EXPORT(name)                                                                                                  \
    void name(int64_t tensors, const int64_t *size, int64_t streams, real *const *stream, const double *option,       \
              const double *each, int64_t each_count, int64_t shares) {                                               \
        share_out(name##_move, tensors, size, streams, stream, option, each, each_count, shares);                     \
    }

EXPORT(ballistic)
EXPORT(belief)
EXPORT(navigator)
