// Compiled once for each instruction set.
#include "passes.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "vec.h"

namespace unspool::ISA {

// A number for each place of an array, spread evenly whatever the key: places and keys that differ in
// one bit differ in half of the bits. `T` is one number or a vector of them. Places count modulo 2^32.
template <class T>
INLINE T hash(T place, uint32_t key, uint32_t more) {
    T x = (place * 0x9e3779b9u) ^ key;
    x = (x ^ (x >> 16)) * 0x7feb352du + more;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

void dropout(const float* x, float* y, int64_t from, int64_t to, Mask mask, float scale) {
    const auto key = static_cast<uint32_t>(mask.key), more = static_cast<uint32_t>(mask.key >> 32);
    uvec lanes;
    for (int lane = 0; lane < LANES; ++lane) lanes[lane] = lane;
    const int64_t blocks = from + (to - from) / LANES * LANES;
    for (int64_t i = from; i < blocks; i += LANES) {
        const ivec keep = hash(lanes + static_cast<uint32_t>(i), key, more) >= mask.threshold;
        store(y + i, keep ? load(x + i) * scale : vec{});
    }
    for (int64_t i = blocks; i < to; ++i)
        y[i] = hash(static_cast<uint32_t>(i), key, more) >= mask.threshold ? x[i] * scale : 0.0f;
}

double softmax_gradient(float* z, const int64_t* t, int64_t from, int64_t to, int64_t K, float epsilon,
                        float scale) {
    const int64_t whole = K / LANES * LANES;
    double total = 0;
    for (int64_t row = from; row < to; ++row) {
        float* const z_k = z + row * K;
        vec highest = splat(-INFINITY), sums = splat(0);
        for (int64_t k = 0; k < whole; k += LANES) {
            const vec v = load(z_k + k);
            highest = most(v, highest);
            sums += v;
        }
        float m = -INFINITY, all = sum(sums);
        for (int lane = 0; lane < LANES; ++lane) m = std::max(m, highest[lane]);
        for (int64_t k = whole; k < K; ++k) {
            m = std::max(m, z_k[k]);
            all += z_k[k];
        }
        const float z_t = z_k[t[row]];
        vec powers = splat(0);
        for (int64_t k = 0; k < whole; k += LANES) {
            const vec e = exp(load(z_k + k) - m);
            store(z_k + k, e);
            powers += e;
        }
        float Z = sum(powers);
        for (int64_t k = whole; k < K; ++k) Z += z_k[k] = std::exp(z_k[k] - m);

        const float share = scale / Z, even = scale * epsilon / static_cast<float>(K);
        for (int64_t k = 0; k < whole; k += LANES) store(z_k + k, load(z_k + k) * share - even);
        for (int64_t k = whole; k < K; ++k) z_k[k] = z_k[k] * share - even;
        z_k[t[row]] -= scale * (1 - epsilon);
        total += m + std::log(Z) - (1 - epsilon) * z_t - epsilon * all / static_cast<float>(K);
    }
    return total;
}

// log Σ e^z
float log_sum(const float* z, int64_t size) {
    const int64_t whole = size / LANES * LANES;
    vec highest = splat(-INFINITY), powers = splat(0);
    for (int64_t k = 0; k < whole; k += LANES) highest = most(load(z + k), highest);
    float m = -INFINITY;
    for (int lane = 0; lane < LANES; ++lane) m = std::max(m, highest[lane]);
    for (int64_t k = whole; k < size; ++k) m = std::max(m, z[k]);
    for (int64_t k = 0; k < whole; k += LANES) powers += exp(load(z + k) - m);
    float total = sum(powers);
    for (int64_t k = whole; k < size; ++k) total += std::exp(z[k] - m);
    return m + std::log(total);
}

float log_sigmoid(float x) { return std::min(x, 0.0f) - std::log1p(std::exp(-std::fabs(x))); }

void log_mixture(const float* z, float* y, int64_t from, int64_t to, const Mixture& mixture) {
    const int64_t V = mixture.V, L = mixture.L, S = mixture.S, whole = V / LANES * LANES;
    for (int64_t row = from; row < to; ++row) {
        const float* const scores = z + row * mixture.K;
        float* const log_p = y + row * L;
        const float gate = scores[V], copied = log_sigmoid(-gate);
        const float shift = log_sigmoid(gate) - log_sum(scores, V);
        for (int64_t k = 0; k < whole; k += LANES) store(log_p + k, load(scores + k) + shift);
        for (int64_t k = whole; k < V; ++k) log_p[k] = scores[k] + shift;
        std::fill(log_p + V, log_p + L, -INFINITY);
        const float* const alignment = mixture.alignment + row * S;
        const int64_t* const tokens = mixture.tokens + mixture.sources[row] * S;
        for (int64_t j = 0; j < S; ++j) {
            if (tokens[j] < 0) continue;
            // log(a + b) = log a + log(1 + b / a) with b <= a; a token without any weight stays possible
            float& old = log_p[tokens[j]];
            const float more = copied + std::log(alignment[j] + FLT_MIN);
            old = std::max(old, more) + std::log1p(std::exp(-std::fabs(old - more)));
        }
    }
}

const Passes passes{dropout, softmax_gradient, log_mixture};

}  // namespace unspool::ISA
