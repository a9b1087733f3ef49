// Vectors of floats and the functions of the cells on them.
//
// The compiler's vector extension stands for every instruction set: this file and all that include
// it are compiled once for each (see CMakeLists.txt), inside the namespace ISA.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "job.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#if defined(__AMX_BF16__)
#define ISA amx
#elif defined(__AVX512BF16__)
#define ISA avx512_bf16
#elif defined(__AVX512VNNI__)
#define ISA avx512_vnni
#else
#define ISA avx512
#endif
#define LANES 16
#define REGISTERS 32
#elif defined(__AVX2__)
#include <immintrin.h>
#if defined(__AVXVNNI__)
#define ISA avx_vnni
#else
#define ISA avx2
#endif
#define LANES 8
#define REGISTERS 16
#else
#if defined(__SSE2__)
#include <immintrin.h>
#endif
#define ISA baseline
#define LANES 4
#if defined(__aarch64__)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif
#endif

// A call would push every vector to memory and back.
#define INLINE inline __attribute__((always_inline))
#define INLINE_LAMBDA __attribute__((always_inline))

namespace unspool::ISA {

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));
typedef uint32_t uvec __attribute__((vector_size(4 * LANES)));
typedef uint16_t half_vec __attribute__((vector_size(2 * LANES)));

INLINE vec load(const float* from) {
    vec v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(float* to, vec v) { std::memcpy(to, &v, sizeof v); }

INLINE vec as_floats(uvec bits) {
    vec v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

INLINE vec load(const bf16* from) {
    half_vec upper;
    std::memcpy(&upper, from, sizeof upper);
    return as_floats(__builtin_convertvector(upper, uvec) << 16);
}

// Rounds to the nearest, ties to even; NaN stays NaN.
INLINE void store(bf16* to, vec v) {
#if defined(__AVX512BF16__)
    const __m256bh upper = _mm512_cvtneps_pbh(v);
#else
    uvec bits;
    std::memcpy(&bits, &v, sizeof bits);
    bits += 0x7fff + ((bits >> 16) & 1);
    bits = v == v ? bits : uvec{} + 0x7fc00000;
    const half_vec upper = __builtin_convertvector(bits >> 16, half_vec);
#endif
    std::memcpy(to, &upper, sizeof upper);
}

INLINE void add_to(float* to, vec v) { store(to, load(to) + v); }

INLINE vec splat(float x) { return x - vec{}; }

INLINE float sum(vec v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps(v);
#elif defined(__AVX2__)
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
#else
    float total = 0;
    for (int lane = 0; lane < LANES; ++lane) total += v[lane];
    return total;
#endif
}

INLINE bool any(ivec truths) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)truths, (__m512i)truths) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_ps((__m256)truths) != 0;
#else
    int32_t found = 0;
    for (int lane = 0; lane < LANES; ++lane) found |= truths[lane];
    return found != 0;
#endif
}

// Swaps the upper half of each block of 2·HALF lanes of a with the lower half of b's.
template <int HALF, int... LANE>
INLINE void swap_halves(vec& a, vec& b, std::integer_sequence<int, LANE...>) {
    const vec lower = __builtin_shufflevector(a, b, (LANE & HALF ? LANES + LANE - HALF : LANE)...);
    b = __builtin_shufflevector(a, b, (LANE & HALF ? LANES + LANE : LANE + HALF)...);
    a = lower;
}

// Lane i of row j becomes lane j of row i: blocks of half the size are swapped across the diagonal, then
// within each block the same.
template <int HALF = LANES / 2>
INLINE void transpose(vec (&rows)[LANES]) {
    for (int j = 0; j < LANES; ++j)
        if (!(j & HALF))
            swap_halves<HALF>(rows[j], rows[j + HALF], std::make_integer_sequence<int, LANES>{});
    if constexpr (HALF > 1) transpose<HALF / 2>(rows);
}

// Lane j of what comes out is the sum of rows[j], which are overwritten.
template <int HALF = LANES / 2>
INLINE vec sums(vec (&rows)[LANES]) {
    for (int j = 0; j < HALF; ++j) {
        swap_halves<HALF>(rows[j], rows[j + HALF], std::make_integer_sequence<int, LANES>{});
        rows[j] += rows[j + HALF];
    }
    if constexpr (HALF > 1) return sums<HALF / 2>(rows);
    return rows[0];
}

INLINE vec least(vec a, vec b) { return a < b ? a : b; }
INLINE vec most(vec a, vec b) { return a > b ? a : b; }

// 1 / d by Newton's method, r + r (1 - d r): only the last addition rounds. A gate's error must not
// lean to one side, for a gradient is multiplied with a gate at each step. d must not exceed 2^126.
INLINE vec reciprocal(vec d) {
#if defined(__AVX512F__)
    vec r = _mm512_rcp14_ps(d);
    return r + r * (1.0f - d * r);
#elif defined(__AVX2__)
    vec r = _mm256_rcp_ps(d);
    r = r + r * (1.0f - d * r);
    return r + r * (1.0f - d * r);
#else
    return 1.0f / d;
#endif
}

// e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln 2 / 2, where the Taylor polynomial of
// degree 7 is exact to 1e-8. Beyond ±86 it stays at e^±86; NaN stays NaN.
INLINE vec exp(vec x) {
#if defined(__AVX512F__)
    x = _mm512_max_ps(splat(-86.0f), _mm512_min_ps(splat(86.0f), x));  // of NaN, the second: NaN
    const vec n = _mm512_roundscale_ps(x * 1.44269504f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    x = x < -86.0f ? splat(-86.0f) : x;
    x = x > 86.0f ? splat(86.0f) : x;
    const float shift = 12582912.0f;  // 1.5 * 2^23: adding it leaves no place for a fraction
    const vec n = (x * 1.44269504f + shift) - shift;
#endif
    vec r = x - n * 0.693359375f;  // ln 2 in two parts, the first exact in few bits
    r = r + n * 2.12194440e-4f;
    vec p = splat(1.0f / 5040);
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
#if defined(__AVX512F__)
    return _mm512_scalef_ps(p, n);
#else
    const ivec power = (__builtin_convertvector(n, ivec) + 127) << 23;
    vec scale;
    std::memcpy(&scale, &power, sizeof scale);
    return p * scale;
#endif
}

INLINE vec sigmoid(vec x) { return reciprocal(1.0f + exp(-x)); }

// tanh x = (1 - e^-2x) / (1 + e^-2x); where that would cancel, x (1 + x² p(x²)).
// The coefficients are a weighted least-squares fit on |x| < 0.6, exact to 3e-9.
INLINE vec tanh(vec x) {
    vec e = exp(-2.0f * x);
    vec far = (1.0f - e) * reciprocal(1.0f + e);
    vec s = x * x;
    vec p = splat(-0.00590585f);
    p = p * s + 0.02080537f;
    p = p * s - 0.05378668f;
    p = p * s + 0.13331958f;
    p = p * s - 0.33333299f;
    vec near = x + x * s * p;
    return s < 0.36f ? near : far;
}

}  // namespace unspool::ISA
