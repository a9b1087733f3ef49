// The passes over time of a linear-chain CRF, which torch can take only a step at a time.
#pragma once

#include <cstdint>

namespace unspool {

// Sequences of C tags, (B, T, C) in a row; of each only the first `lengths` steps are real, and only
// these are read and written.
struct Sequences {
    int64_t T, C;
    const int64_t* lengths;
};

// Each works on the sequences from..to - 1. All numbers are double.
struct Chains {
    // p_1 = e_1 / s_1,  p_t = (p_{t-1} P) ⊙ e_t / s_t,  s_t so that Σ p_t = 1:  p (B, T, C), s (B, T)
    void (*forward)(Sequences, const double* e, const double* P, double* p, double* s, int64_t from,
                    int64_t to);

    // q_n = last,  q_t = P (e_{t+1} ⊙ q_{t+1}) / s_{t+1}:  q (B, T, C); the P given is transposed
    void (*backward)(Sequences, const double* e, const double* P, const double* s, const double* last,
                     double* q, int64_t from, int64_t to);

    // The tags (B, T) whose a[y_1] + Σ x_t[y_t] + Σ A[y_{t-1}, y_t] + b[y_n] is the largest
    void (*viterbi)(Sequences, const double* x, const double* A, const double* a, const double* b,
                    int64_t* tags, int64_t from, int64_t to);
};

// Defined by chain.cpp, once for each instruction set.
namespace baseline { extern const Chains chains; }
namespace avx2 { extern const Chains chains; }
namespace avx512 { extern const Chains chains; }

}  // namespace unspool
