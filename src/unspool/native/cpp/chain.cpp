// Compiled once for each instruction set; the loops over tags are left to the compiler.
#include "chain.h"

#include <algorithm>
#include <vector>

#include "vec.h"

namespace unspool::ISA {

// Scores so far apart that all of them vanish must not divide zero by zero.
constexpr double TINY = 1e-300;

// y = v M, (C) times (C, C)
INLINE void multiply(const double* v, const double* M, double* y, int64_t C) {
    std::fill(y, y + C, 0.0);
    for (int64_t i = 0; i < C; ++i)
        for (int64_t j = 0; j < C; ++j) y[j] += v[i] * M[i * C + j];
}

void forward(Sequences all, const double* e, const double* P, double* p, double* s, int64_t from,
             int64_t to) {
    const int64_t C = all.C;
    for (int64_t row = from; row < to; ++row)
        for (int64_t t = 0; t < all.lengths[row]; ++t) {
            const int64_t at = row * all.T + t;
            const double* const e_t = e + at * C;
            double* const p_t = p + at * C;
            if (t == 0) std::copy(e_t, e_t + C, p_t);
            else {
                multiply(p_t - C, P, p_t, C);
                for (int64_t j = 0; j < C; ++j) p_t[j] *= e_t[j];
            }
            double sum = 0;
            for (int64_t j = 0; j < C; ++j) sum += p_t[j];
            s[at] = std::max(sum, TINY);
            for (int64_t j = 0; j < C; ++j) p_t[j] /= s[at];
        }
}

void backward(Sequences all, const double* e, const double* P, const double* s, const double* last,
              double* q, int64_t from, int64_t to) {
    const int64_t C = all.C;
    std::vector<double> arrived(C);
    for (int64_t row = from; row < to; ++row) {
        const int64_t end = all.lengths[row] - 1;
        std::copy(last + row * C, last + (row + 1) * C, q + (row * all.T + end) * C);
        for (int64_t t = end; t > 0; --t) {
            const int64_t at = row * all.T + t;
            for (int64_t j = 0; j < C; ++j) arrived[j] = e[at * C + j] * q[at * C + j] / s[at];
            multiply(arrived.data(), P, q + (at - 1) * C, C);
        }
    }
}

void viterbi(Sequences all, const double* x, const double* A, const double* a, const double* b,
             int64_t* tags, int64_t from, int64_t to) {
    const int64_t C = all.C;
    std::vector<double> best(C), most(C);
    std::vector<int64_t> came_from(all.T * C);
    for (int64_t row = from; row < to; ++row) {
        const double* const own = x + row * all.T * C;
        const int64_t n = all.lengths[row];
        for (int64_t j = 0; j < C; ++j) best[j] = a[j] + own[j];
        for (int64_t t = 1; t < n; ++t) {
            int64_t* const came = came_from.data() + t * C;
            std::fill(came, came + C, 0);
            for (int64_t j = 0; j < C; ++j) most[j] = best[0] + A[j];
            for (int64_t i = 1; i < C; ++i)
                for (int64_t j = 0; j < C; ++j) {
                    const double score = best[i] + A[i * C + j];
                    came[j] = score > most[j] ? i : came[j];
                    most[j] = score > most[j] ? score : most[j];
                }
            for (int64_t j = 0; j < C; ++j) best[j] = own[t * C + j] + most[j];
        }
        for (int64_t j = 0; j < C; ++j) best[j] += b[j];
        int64_t tag = std::max_element(best.begin(), best.end()) - best.begin();
        for (int64_t t = n - 1; t >= 0; --t) {
            tags[row * all.T + t] = tag;
            if (t) tag = came_from[t * C + tag];
        }
    }
}

const Chains chains{forward, backward, viterbi};

}  // namespace unspool::ISA
