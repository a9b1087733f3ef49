// Passes over large arrays for which torch has only slow ways: one thread, or many passes.
#pragma once

#include <cstdint>

namespace unspool {

// keep[i] = hash(i, key) >= threshold, with 2^32 · (the share to drop) as threshold.
struct Mask {
    uint64_t key;
    uint32_t threshold;
};

// What each of R rows may copy: tokens (M, S), negative ones never, of the one of M sources that is a row's own, with
// the weights α (R, S). Of z (R, K) the first V columns are scores of tokens, the next is the gate's; of y (R, L) the
// columns from V on are tokens that only sources have.
struct Mixture {
    int64_t K, V, L, S;
    const float* alignment;
    const int64_t* tokens;
    const int32_t* sources;
};

// Each works on the elements, or rows, from..to - 1.
struct Passes {
    // y = keep ? scale · x : 0
    void (*dropout)(const float* x, float* y, int64_t from, int64_t to, Mask mask, float scale);

    // Rows of logits z (K) with targets t: the sum of CE(z, (1 - ε) onehot(t) + ε / K). In place of z:
    // its gradient, times scale.
    double (*softmax_gradient)(float* z, const int64_t* t, int64_t from, int64_t to, int64_t K,
                               float epsilon, float scale);

    // y = log(σ(g) softmax(z) + (1 - σ(g)) Σ_{j: x_j = token} α_j)
    void (*log_mixture)(const float* z, float* y, int64_t from, int64_t to, const Mixture& mixture);
};

// Defined by passes.cpp, once for each instruction set.
namespace baseline { extern const Passes passes; }
namespace avx2 { extern const Passes passes; }
namespace avx512 { extern const Passes passes; }

}  // namespace unspool
