/* One step of a learning rule over many tensors, in one pass over the memory.

   Compiled once with REAL = float and once with REAL = double. Each line rounds as the same line in IEEE arithmetic
   does: the compiler may vectorise, but neither reorder nor contract (-ffp-contract=off, no -ffast-math). So the result
   depends neither on the processor, nor on the number of threads, nor on where a tensor begins.

   A rule moves theta along g and remembers a and (if it needs a second moment) b; b is NULL for rules with one. The
   numbers in `option` hold for all tensors, those in `each` for one. */

#include <stddef.h>
#include <stdint.h>
#include <tgmath.h>

typedef REAL real;
typedef void rule(int64_t n, real *restrict theta, const real *restrict g, real *restrict a, real *restrict b,
                  const double *option, const double *each);

enum { THETA, G, A, B, STREAMS, ALIGNED = 64 };

/* Cut the tensors, laid end to end, into equal shares, one a thread. */
static void share_out(rule *move, int64_t tensors, const int64_t *size, real *const *stream, const double *option,
                      const double *each, int64_t each_count, int64_t shares) {
    int64_t total = 0;
    for (int64_t i = 0; i < tensors; i++) total += size[i];
    int64_t blocks = (total + ALIGNED - 1) / ALIGNED;
#pragma omp parallel for num_threads(shares) schedule(static, 1) if (shares > 1)
    for (int64_t share = 0; share < shares; share++) {
        int64_t low = blocks * share / shares * ALIGNED, high = blocks * (share + 1) / shares * ALIGNED, start = 0;
        for (int64_t i = 0; i < tensors; start += size[i++]) {
            int64_t from = low > start ? low - start : 0, to = high - start < size[i] ? high - start : size[i];
            if (from >= to) continue;
            real *at[STREAMS];
            for (int s = 0; s < STREAMS; s++) {
                real *begin = stream[s * tensors + i];
                at[s] = begin ? begin + from : NULL;
            }
            move(to - from, at[THETA], at[G], at[A], at[B], option, each + i * each_count);
        }
    }
}

/* The ballistic rule, Eq. 33; a = v, b = m. Without correction each = {1, 1}, and x / 1 is x. */
static void ballistic_move(int64_t n, real *restrict theta, const real *restrict g, real *restrict v, real *restrict m,
                           const double *option, const double *each) {
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

#define EXPORT(name)                                                                                                  \
    void name(int64_t tensors, const int64_t *size, real *const *stream, const double *option, const double *each,    \
              int64_t each_count, int64_t shares) {                                                                   \
        share_out(name##_move, tensors, size, stream, option, each, each_count, shares);                              \
    }

EXPORT(ballistic)
