// The equations of the cells with one recurrent product a step, on LANES units of one row.
//
// forward(job, n, j, z, h, c): z[g] = U_g h_{t-1} for the units j .. of packed row n; h and c point
// to the previous states of these units. backward(job, n, j, dh, h, c, dc): dh is the whole gradient
// of the loss by h_t, `dc` points to that by c_t, which becomes that by c_{t-1}. It writes du and
// returns what of dh reaches h_{t-1} without passing through U.
#pragma once

#include "job.h"
#include "product.h"

namespace unspool::ISA {

// Pointers to the G blocks of row n in an array (N, G·H), at unit j.
template <int G, class Number>
INLINE Number* block(Number* rows, const auto& job, int64_t n, int g, int64_t j) {
    return rows + (n * G + g) * job.H + j;
}

// What goes back through block g of u, whose sum is the gradient of the bias.
template <int G>
INLINE void store_gradient(const auto& job, int64_t n, int g, int64_t j, vec da) {
    store(block<G>(job.du, job, n, g, j), da);
    add_to(job.db + g * job.H + j, da);
}

template <class T>
INLINE void store_state(const Job<T>& job, int64_t n, int64_t j, vec h) {
    store(job.h + n * job.H + j, h);
    if constexpr (std::is_same_v<T, bf16>) store(job.h_read + n * job.H + j, h);
}

// By default the gradients of all gates go back through U.
template <int G>
struct Cell {
    static constexpr int GATES = G, EXTRAS = 0;

    template <int V, class T>
    static void back(const Job<T>& job, int64_t n, int rows, const T* panel, vec (*sums)[V]) {
        multiply(rows, job.du + n * G * job.H, G * job.H, panel, G * job.H, sums);
    }
};

// h = φ(u + U h). `slope` is φ' as a function of φ's value.
template <class φ>
struct Elman : Cell<1> {
    static INLINE void forward(const auto& job, int64_t n, int64_t j, const vec* z, const float*,
                        const float*) {
        store_state(job, n, j, φ::value(load(job.gates + n * job.H + j) + z[0]));
    }
    static INLINE vec backward(const auto& job, int64_t n, int64_t j, vec dh, const float*, const float*,
                        float*) {
        store_gradient<1>(job, n, 0, j, dh * φ::slope(load(job.h + n * job.H + j)));
        return vec{};
    }
};

struct Sigmoid {
    static INLINE vec value(vec x) { return sigmoid(x); }
    static INLINE vec slope(vec y) { return y * (1.0f - y); }
};
struct Tanh {
    static INLINE vec value(vec x) { return tanh(x); }
    static INLINE vec slope(vec y) { return 1.0f - y * y; }
};
struct Relu {  // NaN passes, as it does in torch
    static INLINE vec value(vec x) { return x < 0.0f ? vec{} : x; }
    static INLINE vec slope(vec y) { return y > 0.0f ? splat(1.0f) : vec{}; }
};
struct LeakyRelu {
    static INLINE vec value(vec x) { return x < 0.0f ? 0.1f * x : x; }
    static INLINE vec slope(vec y) { return y > 0.0f ? splat(1.0f) : splat(0.1f); }
};
struct Elu {
    static INLINE vec value(vec x) {
        // e^x - 1 cancels near 0: there x + x²/2 + x³/6 + x⁴/24 + x⁵/120.
        vec near = x * (1.0f + x * (0.5f + x * (1.0f / 6 + x * (1.0f / 24 + x / 120.0f))));
        vec below = x > -0.15f ? near : exp(x) - 1.0f;
        return x < 0.0f ? below : x;
    }
    static INLINE vec slope(vec y) { return y > 0.0f ? splat(1.0f) : y + 1.0f; }
};

// h = max(u_1 + U_1 h, u_2 + U_2 h). `gates` says which: 1 for the first, ½ where they are equal.
struct Maxout : Cell<2> {
    static INLINE void forward(const auto& job, int64_t n, int64_t j, const vec* z, const float*,
                        const float*) {
        const vec a = load(block<2>(job.gates, job, n, 0, j)) + z[0];
        const vec b = load(block<2>(job.gates, job, n, 1, j)) + z[1];
        const vec first = a > b ? splat(1.0f) : a < b ? vec{} : splat(0.5f);
        store_state(job, n, j, a > b || a != a ? a : b);
        store(block<2>(job.gates, job, n, 0, j), first);
        store(block<2>(job.gates, job, n, 1, j), 1.0f - first);
    }
    static INLINE vec backward(const auto& job, int64_t n, int64_t j, vec dh, const float*, const float*,
                        float*) {
        for (int g = 0; g < 2; ++g)
            store_gradient<2>(job, n, g, j, dh * load(block<2>(job.gates, job, n, g, j)));
        return vec{};
    }
};

// i, f, g, o as in cells/lstm.py and cells/peephole.py; absent peepholes are zeros.
template <bool PEEPHOLES>
struct Lstm : Cell<4> {
    static constexpr int EXTRAS = PEEPHOLES ? 3 : 0;

    static INLINE vec peephole(const auto& job, int gate, int64_t j) {
        return load(job.extra + gate * job.H + j);
    }
    static INLINE void forward(const auto& job, int64_t n, int64_t j, const vec* z, const float*,
                        const float* c_before) {
        vec a[4];
        for (int g = 0; g < 4; ++g) a[g] = load(block<4>(job.gates, job, n, g, j)) + z[g];
        vec c = load(c_before);
        if constexpr (PEEPHOLES) {
            a[0] += peephole(job, 0, j) * c;
            a[1] += peephole(job, 1, j) * c;
        }
        const vec i = sigmoid(a[0]), f = sigmoid(a[1]), g = tanh(a[2]);
        c = f * c + i * g;
        if constexpr (PEEPHOLES) a[3] += peephole(job, 2, j) * c;
        const vec o = sigmoid(a[3]);
        store(job.c + n * job.H + j, c);
        store_state(job, n, j, o * tanh(c));
        store(block<4>(job.gates, job, n, 0, j), i);
        store(block<4>(job.gates, job, n, 1, j), f);
        store(block<4>(job.gates, job, n, 2, j), g);
        store(block<4>(job.gates, job, n, 3, j), o);
    }
    static INLINE vec backward(const auto& job, int64_t n, int64_t j, vec dh, const float*,
                        const float* c_before, float* dc_at) {
        const vec i = load(block<4>(job.gates, job, n, 0, j));
        const vec f = load(block<4>(job.gates, job, n, 1, j));
        const vec g = load(block<4>(job.gates, job, n, 2, j));
        const vec o = load(block<4>(job.gates, job, n, 3, j));
        const vec c = load(job.c + n * job.H + j), before = load(c_before);
        const vec squashed = tanh(c);
        const vec da_o = dh * squashed * o * (1.0f - o);
        vec dc = load(dc_at) + dh * o * (1.0f - squashed * squashed);
        if constexpr (PEEPHOLES) dc += da_o * peephole(job, 2, j);
        const vec da_i = dc * g * i * (1.0f - i);
        const vec da_f = dc * before * f * (1.0f - f);
        const vec da_g = dc * i * (1.0f - g * g);
        dc = dc * f;
        if constexpr (PEEPHOLES) {
            dc += da_i * peephole(job, 0, j) + da_f * peephole(job, 1, j);
            add_to(job.dextra + j, da_i * before);
            add_to(job.dextra + job.H + j, da_f * before);
            add_to(job.dextra + 2 * job.H + j, da_o * c);
        }
        store(dc_at, dc);
        store_gradient<4>(job, n, 0, j, da_i);
        store_gradient<4>(job, n, 1, j, da_f);
        store_gradient<4>(job, n, 2, j, da_g);
        store_gradient<4>(job, n, 3, j, da_o);
        return vec{};
    }
};

// f, g, o as in cells/coupled.py.
struct Coupled : Cell<3> {
    static INLINE void forward(const auto& job, int64_t n, int64_t j, const vec* z, const float*,
                        const float* c_before) {
        const vec f = sigmoid(load(block<3>(job.gates, job, n, 0, j)) + z[0]);
        const vec g = tanh(load(block<3>(job.gates, job, n, 1, j)) + z[1]);
        const vec o = sigmoid(load(block<3>(job.gates, job, n, 2, j)) + z[2]);
        const vec c = f * load(c_before) + (1.0f - f) * g;
        store(job.c + n * job.H + j, c);
        store_state(job, n, j, o * tanh(c));
        store(block<3>(job.gates, job, n, 0, j), f);
        store(block<3>(job.gates, job, n, 1, j), g);
        store(block<3>(job.gates, job, n, 2, j), o);
    }
    static INLINE vec backward(const auto& job, int64_t n, int64_t j, vec dh, const float*,
                        const float* c_before, float* dc_at) {
        const vec f = load(block<3>(job.gates, job, n, 0, j));
        const vec g = load(block<3>(job.gates, job, n, 1, j));
        const vec o = load(block<3>(job.gates, job, n, 2, j));
        const vec squashed = tanh(load(job.c + n * job.H + j));
        const vec dc = load(dc_at) + dh * o * (1.0f - squashed * squashed);
        store(dc_at, dc * f);
        store_gradient<3>(job, n, 0, j, dc * (load(c_before) - g) * f * (1.0f - f));
        store_gradient<3>(job, n, 1, j, dc * (1.0f - f) * (1.0f - g * g));
        store_gradient<3>(job, n, 2, j, dh * squashed * o * (1.0f - o));
        return vec{};
    }
};

// What both GRUs do with the update gate: k is the share of the old state that is kept.
INLINE vec kept(const auto& job, vec z) { return job.update_new ? 1.0f - z : z; }
INLINE vec kept_slope(const auto& job, vec k) {
    const vec slope = k * (1.0f - k);
    return job.update_new ? -slope : slope;
}

// r, z, n as in cells/gru.py, reset="after"; `gates` holds r, k and n.
struct GruAfter : Cell<3> {
    static constexpr int EXTRAS = 1;

    static INLINE void forward(const auto& job, int64_t n, int64_t j, const vec* z, const float* h_before,
                        const float*) {
        const vec r = sigmoid(load(block<3>(job.gates, job, n, 0, j)) + z[0]);
        const vec k = kept(job, sigmoid(load(block<3>(job.gates, job, n, 1, j)) + z[1]));
        const vec inner = z[2] + load(job.extra + j);
        const vec candidate = tanh(load(block<3>(job.gates, job, n, 2, j)) + r * inner);
        store_state(job, n, j, candidate + k * (load(h_before) - candidate));
        store(block<3>(job.gates, job, n, 0, j), r);
        store(block<3>(job.gates, job, n, 1, j), k);
        store(block<3>(job.gates, job, n, 2, j), candidate);
        if (job.inner) store(job.inner + n * job.H + j, inner);
    }
    static INLINE vec backward(const auto& job, int64_t n, int64_t j, vec dh, const float* h_before,
                        const float*, float*) {
        const vec r = load(block<3>(job.gates, job, n, 0, j));
        const vec k = load(block<3>(job.gates, job, n, 1, j));
        const vec candidate = load(block<3>(job.gates, job, n, 2, j));
        const vec inner = load(job.inner + n * job.H + j);
        const vec da_n = dh * (1.0f - k) * (1.0f - candidate * candidate);
        const vec dinner = da_n * r;
        store_gradient<3>(job, n, 0, j, da_n * inner * r * (1.0f - r));
        store_gradient<3>(job, n, 1, j, dh * (load(h_before) - candidate) * kept_slope(job, k));
        store_gradient<3>(job, n, 2, j, da_n);
        store(job.dinner + n * job.H + j, dinner);
        add_to(job.dextra + j, dinner);
        return dh * k;
    }
    // The candidate's way back passes through `inner`, which r has scaled.
    template <int V, class T>
    static void back(const Job<T>& job, int64_t n, int rows, const T* panel, vec (*sums)[V]) {
        const int64_t H = job.H;
        multiply(rows, job.du + n * 3 * H, 3 * H, panel, 2 * H, sums);
        multiply(rows, job.dinner + n * H, H, panel + 2 * H * V * LANES, H, sums);
    }
};

}  // namespace unspool::ISA
