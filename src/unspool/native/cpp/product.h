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
// With few rows the sums over k are split, so that no addition waits for the one before.
template <int R, int V>
inline void multiply(const float* a, int64_t stride, const float* b, int64_t K, vec (&acc)[R][V]) {
    constexpr int SPLIT = R * V >= 8 ? 1 : R * V >= 4 ? 2 : 4;
    vec part[SPLIT][R][V] = {};
    for (int64_t k = 0; k < K; k += SPLIT) {
        for (int p = 0; p < SPLIT; ++p) {
            vec weights[V];
            for (int v = 0; v < V; ++v) weights[v] = load(b + ((k + p) * V + v) * LANES);
            for (int r = 0; r < R; ++r) {
                const vec x = splat(a[r * stride + k + p]);
                for (int v = 0; v < V; ++v) part[p][r][v] += x * weights[v];
            }
        }
    }
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

// The product h U' for all gates of a group of LANES units at a time: block g of U (G·H, H) holds
// the weights of gate g. A panel of Q groups is packed as (H, Q, G, LANES), a transposition; where
// there are too few rows to pay for it, `packed` is null and U is read as it is.
template <int G>
struct Gates {
    const float* U;
    int64_t H;
    float* packed;

    void pack(int64_t group, int Q) const {
        float* panel = packed + group * G * H * LANES;
        for (int q = 0; q < Q; ++q)
            for (int g = 0; g < G; ++g) {
                const float* rows = U + (g * H + (group + q) * LANES) * H;
                float* to = panel + (q * G + g) * LANES;
                for (int64_t k = 0; k < H; ++k, to += Q * G * LANES)
                    for (int lane = 0; lane < LANES; ++lane) to[lane] = rows[lane * H + k];
            }
    }

    // acc[r][q·G + g] = gate g of group + q for the R rows from `h` on.
    template <int R, int Q>
    void multiply(const float* h, int64_t group, vec (&acc)[R][Q * G]) const {
        if (packed) {
            ISA::multiply(h, H, packed + group * G * H * LANES, H, acc);
            return;
        }
        for (int r = 0; r < R; ++r)
            for (int q = 0; q < Q; ++q)
                for (int lane = 0; lane < LANES; ++lane) {
                    const float* row = U + ((group + q) * LANES + lane) * H;
                    vec total[G] = {};
                    for (int64_t k = 0; k < H; k += LANES) {
                        const vec x = load(h + r * H + k);
                        for (int g = 0; g < G; ++g) total[g] += x * load(row + g * H * H + k);
                    }
                    for (int g = 0; g < G; ++g) acc[r][q * G + g][lane] = sum(total[g]);
                }
    }
};

// The product d U for V groups of columns of U (K, H) at a time, packed as (K, V, LANES).
struct Columns {
    const float* U;
    int64_t H, K;
    float* packed;

    void pack(int64_t group, int V) const {
        for (int64_t k = 0; k < K; ++k)
            std::memcpy(panel(group) + k * V * LANES, U + k * H + group * LANES,
                        sizeof(float) * V * LANES);
    }

    float* panel(int64_t group) const { return packed + group * K * LANES; }
};

}  // namespace unspool::ISA
