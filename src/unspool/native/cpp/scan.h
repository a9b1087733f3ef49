// The cells whose gates do not see the state: h_t = a_t ⊙ h_{t-1} + (1 - a_t) ⊙ g_t, a loop over
// memory without products. Nothing but u and h is kept: the gates are computed again on the way
// back. Threads share the units and never wait.
#pragma once

#include "sequence.h"

namespace unspool::ISA {

// z, g as in cells/mingru.py; a = 1 - z.
struct MinGru {
    static constexpr int GATES = 2;
    struct Gate {
        vec a, g, z;
    };
    static Gate gate(const float* u, int64_t H) {
        const vec z = sigmoid(load(u));
        return {1.0f - z, load(u + H), z};
    }
    // da: the gradient by a.
    static void gradient(const auto& job, int64_t n, int64_t j, const Gate& gate, vec da, vec dg) {
        store_gradient<2>(job, n, 0, j, -da * gate.z * gate.a);
        store_gradient<2>(job, n, 1, j, dg);
    }
};

// f, i, g as in cells/minlstm.py; a = f' = σ(f) / (σ(f) + σ(i)).
struct MinLstm {
    static constexpr int GATES = 3;
    struct Gate {
        vec a, g, not_f, not_i;  // not_f = 1 - σ(f)
    };
    // From 1/σ(f) = 1 + e^-f and 1/σ(i), both scaled by e^shift where they would overflow.
    static Gate gate(const float* u, int64_t H) {
        const vec f = load(u), i = load(u + H), low = least(f, i);
        vec shift{}, one = splat(1.0f);
        if (any(low < -80.0f)) {
            shift = least(low, vec{});
            one = exp(shift);
        }
        const vec f_part = exp(shift - f), i_part = exp(shift - i);
        const vec over_f = one + f_part, over_i = one + i_part;
        return {over_i * reciprocal(over_f + over_i), load(u + 2 * H),
                f_part * reciprocal(over_f), i_part * reciprocal(over_i)};
    }
    static void gradient(const auto& job, int64_t n, int64_t j, const Gate& gate, vec da, vec dg) {
        const vec slope = da * gate.a * (1.0f - gate.a);
        store_gradient<3>(job, n, 0, j, slope * gate.not_f);
        store_gradient<3>(job, n, 1, j, -slope * gate.not_i);
        store_gradient<3>(job, n, 2, j, dg);
    }
};

// Rows of a sequence that are worked on together, while they are in the cache.
constexpr int64_t BLOCK = 64;

// Calls body(first, end, before) for the blocks of sequence i in the order in which it is read:
// rows [first, end), and the state before them.
template <class Body>
inline void for_blocks(const auto& job, int64_t i, const Body& body) {
    const int64_t start = job.steps.offsets[i], end = job.steps.offsets[i + 1];
    for (int64_t done = 0; done < end - start; done += BLOCK) {
        const int64_t size = std::min(BLOCK, end - start - done);
        const int64_t first = job.steps.reverse ? end - done - size : start + done;
        body(first, first + size);
    }
}

// The state before row n of sequence i, at unit 0.
inline const float* state_before(const auto& job, int64_t i, int64_t n) {
    const bool first = n == (job.steps.reverse ? job.steps.offsets[i + 1] - 1 : job.steps.offsets[i]);
    if (first) return job.h0 + i * job.H;
    return job.h + (job.steps.reverse ? n + 1 : n - 1) * job.H;
}

template <class Cell, class T>
void scan_forward(const Job<T>& job, T* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES;
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Input<G, T> input(job, packed, share);
    for (int64_t i = job.from; i < job.to; ++i) {
        for_blocks(job, i, [&](int64_t first, int64_t end) {
            input.rows(first, end);
            for (int64_t k = 0; k < end - first; ++k) {
                const int64_t n = job.steps.reverse ? end - 1 - k : first + k;
                const float* before = state_before(job, i, n);
                for (int64_t j = share.from * LANES; j < share.to * LANES; j += LANES) {
                    const auto gate = Cell::gate(job.gates + n * G * H + j, H);
                    store(job.h + n * H + j, gate.g + gate.a * (load(before + j) - gate.g));
                }
            }
        });
        const int64_t last = job.steps.reverse ? job.steps.offsets[i] : job.steps.offsets[i + 1] - 1;
        const int64_t j = share.from * LANES;
        std::memcpy(job.h_end + i * H + j, job.h + last * H + j,
                    (share.to - share.from) * LANES * sizeof(float));
    }
}

template <class Cell, class T>
void scan_backward(const Job<T>& job, T* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES;
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const InputGradient<G, T> input(job, packed, team, rank);
    Job<T> back = job;
    back.steps.reverse = !job.steps.reverse;  // the order of the way back
    for (int64_t i = job.from; i < job.to; ++i)
        for_blocks(back, i, [&](int64_t first, int64_t end) {
            for (int64_t k = 0; k < end - first; ++k) {
                const int64_t n = back.steps.reverse ? end - 1 - k : first + k;
                const float* before = state_before(job, i, n);
                for (int64_t j = share.from * LANES; j < share.to * LANES; j += LANES) {
                    const auto gate = Cell::gate(job.gates + n * G * H + j, H);
                    const vec dh = load(job.dh0 + i * H + j) + load(job.dh + n * H + j);
                    const vec da = dh * (load(before + j) - gate.g);
                    Cell::gradient(job, n, j, gate, da, dh * (1.0f - gate.a));
                    store(job.dh0 + i * H + j, dh * gate.a);
                }
            }
            team.wait();
            input.rows(first, end);
        });
}

}  // namespace unspool::ISA
