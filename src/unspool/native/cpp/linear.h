// A layer y = W x + b whose weights are packed once and used many times, in float or in bytes.
//
// In bytes, each row of W has its scale, and so has each x, found when it is read:
//     x ≈ s (q - ZERO), q - ZERO and p_n in -127 .. 127;   W_n ≈ w_n p_n
//     y_n = s w_n (Σ_k q_k p_nk - ZERO Σ_k p_nk) + b_n
#pragma once

#include <cmath>
#include <vector>

#include "sequence.h"

namespace unspool::ISA {

// Rows as a layer reads them; `scale` is null in float.
template <class T>
struct Rows {
    const T* values;
    const float* scale;
};

// Makes `Rows` of floats; each thread has one of its own.
template <class T>
class Reader {
  public:
    Rows<T> read(const float* x, int64_t rows, int64_t K) {
        if constexpr (std::is_same_v<T, float>) {
            return {x, nullptr};
        } else {
            values_.resize(rows * K);
            scale_.resize(rows);
            for (int64_t r = 0; r < rows; ++r) quantize(x + r * K, K, values_.data() + r * K, scale_[r]);
            return {values_.data(), scale_.data()};
        }
    }

  private:
    static void quantize(const float* x, int64_t K, T* q, float& scale) {
        vec largest{};
        for (int64_t k = 0; k < K; k += LANES) largest = most(largest, most(load(x + k), -load(x + k)));
        float top = 0;
        for (int lane = 0; lane < LANES; ++lane) top = std::max(top, largest[lane]);
        scale = top / 127;
        const float inverse = top > 0 ? 127 / top : 0;
        for (int64_t k = 0; k < K; k += LANES) {
            const float shift = 12582912.0f;  // rounds to the nearest, as in exp
            const vec rounded = (load(x + k) * inverse + shift) - shift + Factor<T>::ZERO;
            const auto numbers = __builtin_convertvector(__builtin_convertvector(rounded, ivec), numbers_of<T>);
            std::memcpy(q + k, &numbers, sizeof numbers);
        }
    }
    template <class N>
    using numbers_of __attribute__((vector_size(LANES * sizeof(N)))) = N;

    std::vector<T> values_;
    std::vector<float> scale_;
};

// W (N, K), N and K multiples of 16; b may be null.
template <class T>
class Linear {
  public:
    Linear() = default;
    Linear(const float* W, const float* b, int64_t N, int64_t K)
        : N_(N), K_(K), packed_(buffer<Panel<T>>(N * K)), b_(N), scale_(N), offset_(N) {
        if (b) b_.assign(b, b + N);
        for_panels<WIDEST>(Share(N / LANES, 0, 1), [&]<int V>(Int<V>, int64_t group) {
            for (int i = 0; i < V * LANES; ++i) pack_row(W, group, V, i);
        });
    }

    // Calls emit(r, n, y) for the outputs n .. n + LANES of each row; the threads share the panels.
    template <class Emit>
    void apply(const Rows<T>& x, int64_t rows, const Team& team, int rank, const Emit& emit) const {
        const int64_t groups = N_ / LANES;
        Share share((groups + WIDEST - 1) / WIDEST, rank, team.size);
        share.from *= WIDEST;
        share.to = std::min(share.to * WIDEST, groups);
        for_panels<WIDEST>(share, [&]<int V>(Int<V>, int64_t group) {
            for_rows(0, rows, [&](int64_t row, int count) {
                Sum<T> sums[ROWS][V];
                std::fill_n(&sums[0][0], count * V, Sum<T>{});
                multiply(count, x.values + row * K_, K_, panel(group), K_, sums);
                for (int r = 0; r < count; ++r)
                    for (int v = 0; v < V; ++v) {
                        const int64_t n = (group + v) * LANES;
                        emit(row + r, n, finish(sums[r][v], x, row + r, n));
                    }
            });
        });
    }

  private:
    static constexpr int WIDEST = 4;

    Panel<T>* panel(int64_t group) const { return packed_.get() + group * LANES * K_; }

    void pack_row(const float* W, int64_t group, int V, int i) {
        constexpr int DEPTH = Factor<T>::DEPTH;
        const int64_t n = group * LANES + i;
        const float* row = W + n * K_;
        float inverse = 1;
        if constexpr (!std::is_same_v<T, float>) {
            float top = 0;
            for (int64_t k = 0; k < K_; ++k) top = std::max(top, std::abs(row[k]));
            scale_[n] = top / 127;
            inverse = top > 0 ? 127 / top : 0;
        }
        for (int64_t k = 0; k < K_; ++k) {
            Panel<T>& to = panel(group)[((k / DEPTH * V + i / LANES) * LANES + i % LANES) * DEPTH + k % DEPTH];
            if constexpr (std::is_same_v<T, float>) to = row[k];
            else offset_[n] += Factor<T>::ZERO * (to = static_cast<int8_t>(std::lrintf(row[k] * inverse)));
        }
    }

    INLINE vec finish(Sum<T> sum, const Rows<T>& x, int64_t r, int64_t n) const {
        if constexpr (std::is_same_v<T, float>) {
            return sum + load(b_.data() + n);
        } else {
            ivec offset;
            std::memcpy(&offset, offset_.data() + n, sizeof offset);
            const vec exact = __builtin_convertvector(sum - offset, vec);
            return exact * (load(scale_.data() + n) * x.scale[r]) + load(b_.data() + n);
        }
    }

    int64_t N_ = 0, K_ = 0;
    Buffer<Panel<T>> packed_;
    std::vector<float> b_, scale_;
    std::vector<int32_t> offset_;
};

}  // namespace unspool::ISA
