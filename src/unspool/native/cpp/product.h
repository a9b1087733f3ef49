// Products of rows with a panel of packed weights.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "tiles.h"
#include "vec.h"

namespace unspool::ISA {

// A number known to the compiler, passed as an argument.
template <int N>
using Int = std::integral_constant<int, N>;

// What lies in a register on either side of a product: for each lane DEPTH values of k. A panel may
// be of other numbers than the rows T, and the sums of others again.
template <class T>
struct Factor;
template <class T>
using Sum = typename Factor<T>::Sum;
template <class T>
using Panel = typename Factor<T>::Panel;

template <>
struct Factor<float> {
    using Panel = float;
    using Sum = vec;
    static constexpr int DEPTH = 1;
    vec value;

    static INLINE Factor of_row(const float* a) { return {splat(*a)}; }
    static INLINE Factor of_panel(const float* b) { return {load(b)}; }
    INLINE void add_product(const Factor& b, vec& sum) const { sum += value * b.value; }
};

template <>
struct Factor<bf16> {
    using Panel = bf16;
    using Sum = vec;
    static constexpr int DEPTH = 2;

    static INLINE Factor of_row(const bf16* a) {
        uint32_t pair;
        std::memcpy(&pair, a, sizeof pair);
        return of_pairs(pair + uvec{});
    }
    static INLINE Factor of_panel(const bf16* b) {
        uvec pairs;
        std::memcpy(&pairs, b, sizeof pairs);
        return of_pairs(pairs);
    }
#if defined(__AVX512BF16__)
    __m512bh pairs;

    static INLINE Factor of_pairs(uvec pairs) { return {reinterpret_cast<__m512bh>(pairs)}; }
    INLINE void add_product(const Factor& b, vec& sum) const {
        sum = _mm512_dpbf16_ps(sum, pairs, b.pairs);
    }
#else
    vec even, odd;

    static INLINE Factor of_pairs(uvec pairs) {
        return {as_floats(pairs << 16), as_floats(pairs & 0xffff0000)};
    }
    INLINE void add_product(const Factor& b, vec& sum) const {
        sum += even * b.even;
        sum += odd * b.odd;
    }
#endif
};

// Integers of -127 .. 127 on both sides, and sums of integers, all exact. Panels are of signed bytes. Where the
// processor adds four products of bytes in one instruction, its rows are unsigned: ZERO stands for 0. Elsewhere
// rows are of 16 bits, and two products are added at a time: at most 2 · 127², and 16-bit sums of products
// of bytes, which saturate, are not made at all.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
using Quantized = uint8_t;

template <>
struct Factor<uint8_t> {
    using Panel = int8_t;
    using Sum = ivec;
    static constexpr int DEPTH = 4, ZERO = 128;
    ivec fours;

    static INLINE Factor of_row(const uint8_t* a) {
        int32_t four;
        std::memcpy(&four, a, sizeof four);
        return {four + ivec{}};
    }
    static INLINE Factor of_panel(const int8_t* b) {
        Factor found;
        std::memcpy(&found.fours, b, sizeof found.fours);
        return found;
    }
    INLINE void add_product(const Factor& b, ivec& sum) const {
#if defined(__AVX512VNNI__)
        sum = (ivec)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)fours, (__m512i)b.fours);
#else
        sum = (ivec)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)fours, (__m256i)b.fours);
#endif
    }
};
#else
using Quantized = int16_t;

template <>
struct Factor<int16_t> {
    using Panel = int8_t;
    using Sum = ivec;
    static constexpr int DEPTH = 2, ZERO = 0;
    ivec pairs;

    static INLINE Factor of_row(const int16_t* a) {
        int32_t pair;
        std::memcpy(&pair, a, sizeof pair);
        return {pair + ivec{}};
    }
    static INLINE Factor of_panel(const int8_t* b) {
#if LANES == 8
        return {(ivec)_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b)))};
#else
        typedef int8_t bytes __attribute__((vector_size(2 * LANES)));
        typedef int16_t shorts __attribute__((vector_size(4 * LANES)));
        bytes narrow;
        std::memcpy(&narrow, b, sizeof narrow);
        return {(ivec)__builtin_convertvector(narrow, shorts)};
#endif
    }
    INLINE void add_product(const Factor& b, ivec& sum) const {
#if LANES == 8
        sum += (ivec)_mm256_madd_epi16((__m256i)pairs, (__m256i)b.pairs);
#elif LANES == 4 && defined(__SSE2__)
        sum += (ivec)_mm_madd_epi16((__m128i)pairs, (__m128i)b.pairs);
#else
        sum += (pairs << 16 >> 16) * (b.pairs << 16 >> 16) + (pairs >> 16) * (b.pairs >> 16);
#endif
    }
};
#endif

// Rows whose sums fit in registers beside V vectors of a panel.
constexpr int register_rows(int V) { return std::min((REGISTERS - 1 - V) / V, 12); }

// Vectors of a panel that are multiplied at a time: beside four of them, 16 registers would hold the
// sums of two rows only, and each value would be loaded for little work.
constexpr int register_vectors(int V) { return REGISTERS < 32 && V > 3 ? 2 : V; }

// sums[r][v] += Σ_k a[r][k] b[k][v] for R rows of `a` at a distance of `stride` and V vectors of a panel
// packed as (K / DEPTH, WIDTH, LANES, DEPTH), of which `b` is the first. With few rows the sums over k are
// split, so that no addition waits for the one before. Not inlined: what is done with the sums would take
// registers away from them.
template <int R, int V, int WIDTH, class T>
__attribute__((noinline)) void multiply_rows(const T* a, int64_t stride, const Panel<T>* b,
                                             int64_t K, Sum<T>* sums) {
    constexpr int SPLIT = R * V >= 8 ? 1 : R * V >= 4 ? 2 : 4, DEPTH = Factor<T>::DEPTH;
    constexpr int LINE = 64 / (DEPTH * LANES * sizeof(Panel<T>));  // vectors in a line of the cache
    Sum<T> part[SPLIT][R][V] = {};
    const auto add = [&](int p, int64_t k) INLINE_LAMBDA {
        Factor<T> weights[V];
        for (int v = 0; v < V; ++v)
            weights[v] = Factor<T>::of_panel(b + (k * WIDTH + v * DEPTH) * LANES);
        if constexpr (V == 4)  // six rows a panel: too few to hide that it comes from the second cache
            for (int v = 0; v < V; v += LINE)
                __builtin_prefetch(b + ((k + 16 * DEPTH) * WIDTH + v * DEPTH) * LANES);
        for (int r = 0; r < R; ++r) {
            const auto x = Factor<T>::of_row(a + r * stride + k);
            for (int v = 0; v < V; ++v) x.add_product(weights[v], part[p][r][v]);
        }
    };
    int64_t k = 0;
    for (; k + SPLIT * DEPTH <= K; k += SPLIT * DEPTH)
        for (int p = 0; p < SPLIT; ++p) add(p, k + p * DEPTH);
    for (; k < K; k += DEPTH) add(0, k);
    for (int p = 0; p < SPLIT; ++p)
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v) sums[r * WIDTH + v] += part[p][r][v];
}

// The same for any number of rows in so many calls, of R rows or fewer, as even as they can be.
template <int R, int V, int WIDTH, class T>
inline void multiply_in_calls(int calls, int rows, const T* a, int64_t stride, const Panel<T>* b,
                              int64_t K, Sum<T>* sums) {
    for (; rows > calls * (R - 1); --calls, rows -= R, a += R * stride, sums += R * WIDTH)
        multiply_rows<R, V, WIDTH>(a, stride, b, K, sums);
    if constexpr (R > 1)
        if (rows) multiply_in_calls<R - 1, V, WIDTH>(calls, rows, a, stride, b, K, sums);
}

// The same for a whole panel, V of its vectors at a time, from FIRST on.
template <int V, int WIDTH, int FIRST = 0, class T>
inline void multiply_in_registers(int rows, const T* a, int64_t stride, const Panel<T>* b,
                                  int64_t K, Sum<T>* sums) {
    constexpr int NOW = std::min(V, WIDTH - FIRST), R = register_rows(NOW);
    multiply_in_calls<R, NOW, WIDTH>((rows + R - 1) / R, rows, a, stride,
                                     b + FIRST * Factor<T>::DEPTH * LANES, K, sums + FIRST);
    if constexpr (FIRST + NOW < WIDTH)
        multiply_in_registers<V, WIDTH, FIRST + NOW>(rows, a, stride, b, K, sums);
}

// sums[r][v] += Σ_k a[r][k] b[k][v] for any number of rows and a whole panel. Of bf16, K is a multiple of
// 32, of integers one of 4.
template <int V, class T>
inline void multiply(int rows, const T* a, int64_t stride, const Panel<T>* b, int64_t K,
                     Sum<T> (*sums)[V]) {
#if defined(__AMX_BF16__)
    if constexpr (std::is_same_v<T, bf16>) {
        multiply_in_tiles<Amx, V>(rows, a, stride, b, K, reinterpret_cast<float*>(sums));
        return;
    }
#endif
    // So few rows wait for the panel rather than for sums: it is read from end to end.
    if (rows <= 2 * register_rows(V))
        multiply_in_registers<V, V>(rows, a, stride, b, K, &sums[0][0]);
    else
        multiply_in_registers<register_vectors(V), V>(rows, a, stride, b, K, &sums[0][0]);
}

// Rows whose sums are made before anything is done with them: a multiple of what registers hold.
#if defined(__AMX_BF16__)
constexpr int64_t ROWS = 32;
#else
constexpr int64_t ROWS = 36;
#endif

// Calls body(row, rows) for blocks of at most ROWS rows that cover [from, to).
template <class Body>
inline void for_rows(int64_t from, int64_t to, const Body& body) {
    for (; from < to; from += ROWS) body(from, static_cast<int>(std::min(ROWS, to - from)));
}

template <class T>
struct Deleter {
    void operator()(T* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
template <class T>
using Buffer = std::unique_ptr<T[], Deleter<T>>;

template <class T>
inline Buffer<T> buffer(int64_t size) {
    return Buffer<T>(new (std::align_val_t{64}) T[static_cast<size_t>(size)]);
}

// Writes weights[k][v][lane] = weight(k, v, lane) as a panel.
template <class T, class Weight>
inline void pack_panel(T* panel, int64_t K, int V, const Weight& weight) {
    constexpr int DEPTH = Factor<T>::DEPTH;
    for (int v = 0; v < V; ++v)
        for (int64_t k = 0; k < K; k += DEPTH) {
            float values[DEPTH][LANES];
            for (int d = 0; d < DEPTH; ++d)
                for (int lane = 0; lane < LANES; ++lane) values[d][lane] = weight(k + d, v, lane);
            T* to = panel + (k * V + v * DEPTH) * LANES;
            if constexpr (DEPTH == 1) {
                store(to, load(values[0]));
            } else {
                T rounded[DEPTH][LANES];
                for (int d = 0; d < DEPTH; ++d) store(rounded[d], load(values[d]));
                for (int lane = 0; lane < LANES; ++lane)
                    for (int d = 0; d < DEPTH; ++d) to[lane * DEPTH + d] = rounded[d][lane];
            }
        }
}

// Writes LANES rows of K floats as the columns of K vectors at a distance of `stride`.
inline void pack_rows(const float* rows, int64_t K, float* to, int64_t stride) {
    int64_t k = 0;
    for (; k + LANES <= K; k += LANES) {
        vec block[LANES];
        for (int lane = 0; lane < LANES; ++lane) block[lane] = load(rows + lane * K + k);
        transpose(block);
        for (int i = 0; i < LANES; ++i) store(to + (k + i) * stride, block[i]);
    }
    for (; k < K; ++k)
        for (int lane = 0; lane < LANES; ++lane) to[k * stride + lane] = rows[lane * K + k];
}

// The product of rows with K values and weights W (G·H, K), for all gates of a group of LANES units
// at a time: block g of W belongs to gate g. A panel has Q groups with G gates each; where there are too
// few rows to pay for packing, `packed` is null and W (of floats only) is read as it is.
template <int G, class T>
struct Gates {
    const float* W;
    int64_t H, K;
    T* packed;

    void pack(int64_t group, int Q) const {
        const auto row = [&](int v) { return W + (v % G * H + (group + v / G) * LANES) * K; };
        if constexpr (std::is_same_v<T, float>) {
            for (int v = 0; v < Q * G; ++v)
                pack_rows(row(v), K, panel(group) + v * LANES, Q * G * LANES);
        } else {
            pack_panel(panel(group), K, Q * G,
                       [&](int64_t k, int v, int lane) { return row(v)[lane * K + k]; });
        }
    }

    T* panel(int64_t group) const { return packed + group * G * K * LANES; }

    // sums[r][q·G + g] = gate g of group + q for each row from `x` on.
    template <int Q>
    void multiply(int rows, const T* x, int64_t group, vec (*sums)[Q * G]) const {
        if (packed) {
            std::fill_n(&sums[0][0], rows * Q * G, vec{});
            ISA::multiply(rows, x, K, panel(group), K, sums);
        } else if constexpr (std::is_same_v<T, float>) {
            for (int r = 0; r < rows; ++r)
                for (int q = 0; q < Q; ++q)
                    for (int lane = 0; lane < LANES; ++lane)
                        for (int g = 0; g < G; ++g)
                            sums[r][q * G + g][lane] =
                                dot(x + r * K, W + (g * H + (group + q) * LANES + lane) * K);
        }
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

// The product of gradients d (N, K) and V groups of columns of W (K, width).
template <class T>
struct Columns {
    const float* W;
    int64_t width, K;
    T* packed;

    void pack(int64_t group, int V) const {
        pack_panel(panel(group), K, V, [&](int64_t k, int v, int lane) {
            return W[k * width + (group + v) * LANES + lane];
        });
    }

    T* panel(int64_t group) const { return packed + group * K * LANES; }
};

}  // namespace unspool::ISA
