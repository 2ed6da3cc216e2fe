/* What every kernel shares: one step of a learning rule over many tensors, in one pass over the memory.

   Behind it comes the generated text of what moves one tensor, `move`.

   Compiled once with REAL = float and once with REAL = double. Each line rounds as the same line in IEEE arithmetic
   does: the compiler may vectorise, but neither reorder nor contract (-ffp-contract=off, no -ffast-math). So the result
   depends neither on the processor, nor on the number of threads, nor on where a tensor begins.

   A rule moves at[0] along at[1] and remembers the rest. The numbers in `option` hold for all tensors, those in `each`
   for one, and n is the number of its step. */

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>

typedef REAL real;
static void move(int64_t count, real *const *at, const double *option, const double *each, double n);

enum { MOST = 16, ALIGNED = 64 };

/* Cut the tensors, laid end to end, into equal shares, one a thread; then count the step. */
void step(int64_t tensors, const int64_t *size, int64_t streams, real *const *stream, double *const *counter,
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
            move(to - from, at, option, each + i * each_count, *counter[i] + 1);
        }
    }
    for (int64_t i = 0; i < tensors; i++) *counter[i] += 1;
}

/* The parts below are inlined into loops whose switches are constants: each loop has only what it needs. */
#define INLINE static inline __attribute__((always_inline))

#define SINGLE (sizeof(real) == 4)
static const real tiny = SINGLE ? FLT_MIN : DBL_MIN, lost = SINGLE ? 0x1p-63 : 0x1p-511; /* the smallest number, its root */
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
