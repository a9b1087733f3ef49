// Passes over large arrays for which torch has only slow ways: one thread, or many passes.
#pragma once

#include <cstdint>

namespace unspool {

// keep[i] = hash(i, key) >= threshold, with 2^32 · (the share to drop) as threshold.
struct Mask {
    uint64_t key;
    uint32_t threshold;
};

// Each works on the elements, or rows, from..to - 1.
struct Passes {
    // y = keep ? scale · x : 0
    void (*dropout)(const float* x, float* y, int64_t from, int64_t to, Mask mask, float scale);

    // Rows of logits z (K) with targets t: the sum of CE(z, (1 - ε) onehot(t) + ε / K). In place of z:
    // its gradient, times scale.
    double (*softmax_gradient)(float* z, const int64_t* t, int64_t from, int64_t to, int64_t K,
                               float epsilon, float scale);
};

// Defined by passes.cpp, once for each instruction set.
namespace baseline { extern const Passes passes; }
namespace avx2 { extern const Passes passes; }
namespace avx512 { extern const Passes passes; }

}  // namespace unspool
