// Products of a few rows with a panel of packed weights, held in registers.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "vec.h"

namespace unspool::ISA {

// A number known to the compiler, passed as an argument.
template <int N>
using Int = std::integral_constant<int, N>;

// Rows that fit in registers beside a panel of V vectors.
constexpr int tile_rows(int V) { return std::min((REGISTERS - 1 - V) / V, 12); }

// acc[r][v] += Σ_k a[r][k] b[k][v], with rows of `a` at a distance of `stride` and `b` packed (K, V).
// With few rows the sums over k are split, so that no addition waits for the one before. Not inlined:
// what is done with the sums would take registers away from them.
template <int R, int V>
__attribute__((noinline)) void multiply(const float* a, int64_t stride, const float* b, int64_t K, vec (&acc)[R][V]) {
    constexpr int SPLIT = R * V >= 8 ? 1 : R * V >= 4 ? 2 : 4;
    vec part[SPLIT][R][V] = {};
    const auto add = [&](int p, int64_t k) INLINE_LAMBDA {
        vec weights[V];
        for (int v = 0; v < V; ++v) weights[v] = load(b + (k * V + v) * LANES);
        if constexpr (V == 4)  // six rows a panel: too few to hide that it comes from the second cache
            for (int v = 0; v < V; ++v) __builtin_prefetch(b + ((k + 16) * V + v) * LANES);
        for (int r = 0; r < R; ++r) {
            const vec x = splat(a[r * stride + k]);
            for (int v = 0; v < V; ++v) part[p][r][v] += x * weights[v];
        }
    };
    int64_t k = 0;
    for (; k + SPLIT <= K; k += SPLIT)
        for (int p = 0; p < SPLIT; ++p) add(p, k + p);
    for (; k < K; ++k) add(0, k);
    for (int p = 0; p < SPLIT; ++p)
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v) acc[r][v] += part[p][r][v];
}

// Calls body(Int<R>, row) for tiles of rows that cover [from, to).
template <int R, class Body>
inline void for_tiles(int64_t from, int64_t to, const Body& body) {
    for (; from + R <= to; from += R) body(Int<R>{}, from);
    if constexpr (R > 1)
        if (from < to) for_tiles<R - 1>(from, to, body);
}

struct Deleter {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Buffer = std::unique_ptr<float[], Deleter>;

inline Buffer buffer(int64_t size) {
    return Buffer(new (std::align_val_t{64}) float[static_cast<size_t>(size)]);
}

// The product of rows with K values and weights W (G·H, K), for all gates of a group of LANES units
// at a time: block g of W belongs to gate g. A panel of Q groups is packed as (K, Q, G, LANES), a
// transposition; where there are too few rows to pay for it, `packed` is null and W is read as it is.
template <int G>
struct Gates {
    const float* W;
    int64_t H, K;
    float* packed;

    void pack(int64_t group, int Q) const {
        for (int q = 0; q < Q; ++q)
            for (int g = 0; g < G; ++g) {
                const float* rows = W + (g * H + (group + q) * LANES) * K;
                float* to = panel(group) + (q * G + g) * LANES;
                for (int64_t k = 0; k < K; ++k, to += Q * G * LANES)
                    for (int lane = 0; lane < LANES; ++lane) to[lane] = rows[lane * K + k];
            }
    }

    float* panel(int64_t group) const { return packed + group * G * K * LANES; }

    // acc[r][q·G + g] = gate g of group + q for the R rows from `x` on.
    template <int R, int Q>
    void multiply(const float* x, int64_t group, vec (&acc)[R][Q * G]) const {
        if (packed) {
            ISA::multiply(x, K, panel(group), K, acc);
            return;
        }
        for (int r = 0; r < R; ++r)
            for (int q = 0; q < Q; ++q)
                for (int lane = 0; lane < LANES; ++lane)
                    for (int g = 0; g < G; ++g)
                        acc[r][q * G + g][lane] =
                            dot(x + r * K, W + (g * H + (group + q) * LANES + lane) * K);
    }

    float dot(const float* a, const float* b) const {
        vec total[4] = {};
        int64_t k = 0;
        for (; k + 4 * LANES <= K; k += 4 * LANES)
            for (int i = 0; i < 4; ++i) total[i] += load(a + k + i * LANES) * load(b + k + i * LANES);
        for (; k + LANES <= K; k += LANES) total[0] += load(a + k) * load(b + k);
        float rest = sum((total[0] + total[1]) + (total[2] + total[3]));
        for (; k < K; ++k) rest += a[k] * b[k];
        return rest;
    }
};

// The product of gradients d (N, K) and V groups of columns of W (K, width), packed as
// (K, V, LANES).
struct Columns {
    const float* W;
    int64_t width, K;
    float* packed;

    void pack(int64_t group, int V) const {
        for (int64_t k = 0; k < K; ++k)
            std::memcpy(panel(group) + k * V * LANES, W + k * width + group * LANES,
                        sizeof(float) * V * LANES);
    }

    float* panel(int64_t group) const { return packed + group * K * LANES; }
};

}  // namespace unspool::ISA
