// Products of integers against plain integer arithmetic, to the bit, and the layer around them. With
// -DIMITATE_AVX_VNNI the one instruction of AVX-VNNI is imitated, so that what runs on a processor which has it is
// checked on any with AVX2. Prints "products agree".
#if defined(IMITATE_AVX_VNNI)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

// VPDPBUSD in Intel's manual, volume 2: four products of bytes are added to each sum, without saturation.
inline __m256i imitated(__m256i sum, __m256i a, __m256i b) {
    int32_t sums[8];
    uint8_t unsigned_bytes[32];
    int8_t signed_bytes[32];
    std::memcpy(sums, &sum, 32);
    std::memcpy(unsigned_bytes, &a, 32);
    std::memcpy(signed_bytes, &b, 32);
    for (int i = 0; i < 32; ++i) sums[i / 4] += unsigned_bytes[i] * signed_bytes[i];
    std::memcpy(&sum, sums, 32);
    return sum;
}
#define __AVXVNNI__ 1
#define _mm256_dpbusd_avx_epi32 imitated
#endif

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "linear.h"

using namespace unspool;
using namespace unspool::ISA;

namespace {

using T = Quantized;
constexpr int DEPTH = Factor<T>::DEPTH, ZERO = Factor<T>::ZERO;
std::mt19937 generator(1);

[[noreturn]] void fail(const char* what, long a, long b) {
    std::fprintf(stderr, "products: %s, at %ld, %ld\n", what, a, b);
    std::_Exit(1);
}

// In -127 .. 127; where `extreme`, one of both ends, which is what would saturate.
int draw(bool extreme) {
    return extreme ? (generator() & 1 ? 127 : -127) : static_cast<int>(generator() % 255) - 127;
}

template <int V>
void check_product(int rows, int64_t K, int kind) {  // 0: random, 1: both ends, 2: all 127, 3: 127 with -127
    std::vector<int> x(rows * K), w(K * V * LANES);
    for (int& each : x) each = kind < 2 ? draw(kind == 1) : 127;
    for (int& each : w) each = kind < 2 ? draw(kind == 1) : kind == 2 ? 127 : -127;
    std::vector<T> a(x.size());
    for (size_t i = 0; i < x.size(); ++i) a[i] = static_cast<T>(x[i] + ZERO);
    auto panel = buffer<int8_t>(K * V * LANES);
    for (int64_t k = 0; k < K; ++k)
        for (int n = 0; n < V * LANES; ++n)
            panel[((k / DEPTH * V + n / LANES) * LANES + n % LANES) * DEPTH + k % DEPTH] =
                static_cast<int8_t>(w[k * V * LANES + n]);
    auto sums = buffer<ivec>(rows * V);
    std::fill_n(sums.get(), rows * V, ivec{});
    multiply<V>(rows, a.data(), K, panel.get(), K, reinterpret_cast<ivec(*)[V]>(sums.get()));
    for (int r = 0; r < rows; ++r)
        for (int n = 0; n < V * LANES; ++n) {
            int64_t exact = 0;
            for (int64_t k = 0; k < K; ++k) exact += (x[r * K + k] + ZERO) * w[k * V * LANES + n];
            if (exact != sums[r * V + n / LANES][n % LANES]) fail("a sum is not exact", r, n);
        }
}

// The layer against its equation (see linear.h) in plain arithmetic.
void check_layer(int64_t rows, int64_t N, int64_t K) {
    std::normal_distribution<float> normal;
    std::vector<float> W(N * K), b(N), x(rows * K), y(rows * N);
    for (auto* each : {&W, &b, &x})
        for (float& value : *each) value = normal(generator);
    std::fill_n(x.begin(), K, 0.0f);  // a row of nothing
    const auto scale_of = [K](const float* row) {
        float top = 0;
        for (int64_t k = 0; k < K; ++k) top = std::max(top, std::fabs(row[k]));
        return top / 127;
    };
    const auto rounded = [](float value, float scale) {
        return scale > 0 ? std::lrintf(value * (127 / (127 * scale))) : 0;
    };
    Reader<T> reader;
    Team alone(1);
    const Linear<T> layer(W.data(), b.data(), N, K);
    layer.apply(reader.read(x.data(), rows, K), rows, alone, 0,
                [&](int64_t r, int64_t n, vec part) { store(&y[r * N + n], part); });
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t n = 0; n < N; ++n) {
            const float s = scale_of(&x[r * K]), w = scale_of(&W[n * K]);
            int64_t exact = 0;
            for (int64_t k = 0; k < K; ++k) exact += rounded(x[r * K + k], s) * rounded(W[n * K + k], w);
            const float wanted = s * w * static_cast<float>(exact) + b[n];
            if (!(std::fabs(wanted - y[r * N + n]) < 0.01f * std::fabs(s * w) * 127 + 1e-5f))
                fail("the layer differs", r, n);
        }
}

}  // namespace

int main() {
    for (int kind = 0; kind < 4; ++kind)
        for (int64_t K : {4, 16, 512, 2048})
            for (int rows : {1, 2, 3, 5, 6, 7, 11, 12, 13, 32, 36, 41}) {
                check_product<1>(rows, K, kind);
                check_product<2>(rows, K, kind);
                check_product<4>(rows, K, kind);
            }
    for (int64_t rows : {1, 3, 32, 75}) check_layer(rows, 16 * 7, 48);
    std::puts("products agree");
}
