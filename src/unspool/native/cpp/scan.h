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
    static void gradient(const Gate& gate, vec da, vec dg, float* du, int64_t H) {
        store(du, -da * gate.z * gate.a);
        store(du + H, dg);
    }
};

// f, i, g as in cells/minlstm.py; a = f' = σ(f) / (σ(f) + σ(i)).
struct MinLstm {
    static constexpr int GATES = 3;
    struct Gate {
        vec a, g, not_f, not_i;  // not_f = 1 - σ(f)
    };
    // 1/σ(f) and 1/σ(i), both scaled by e^low so that neither overflows.
    static Gate gate(const float* u, int64_t H) {
        const vec f = load(u), i = load(u + H);
        const vec low = least(least(f, i), vec{});
        const vec one = exp(low), f_part = exp(low - f), i_part = exp(low - i);
        const vec over_f = one + f_part, over_i = one + i_part;
        return {over_i / (over_f + over_i), load(u + 2 * H), f_part / over_f, i_part / over_i};
    }
    static void gradient(const Gate& gate, vec da, vec dg, float* du, int64_t H) {
        const vec slope = da * gate.a * (1.0f - gate.a);
        store(du, slope * gate.not_f);
        store(du + H, -slope * gate.not_i);
        store(du + 2 * H, dg);
    }
};

template <class Cell>
void scan_forward(const Job& job, float* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES;
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Input<G> input(job, packed, share);
    for (int64_t s = 0; s < job.steps.count; ++s) {
        input.before_step(s);
        before_step(job, s, [&](const Before& before) {
            for (int64_t row = before.from; row < before.to; ++row)
                for (int64_t j = share.from * LANES; j < share.to * LANES; j += LANES) {
                    const int64_t n = job.steps.first(s) + row;
                    const auto gate = Cell::gate(job.gates + n * G * H + j, H);
                    const vec h = load(before.h + row * H + j);
                    store(job.h + n * H + j, gate.g + gate.a * (h - gate.g));
                }
        });
        keep_ends(job, s, share);
    }
}

template <class Cell>
void scan_backward(const Job& job, float* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES;
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const InputGradient<G> input(job, packed, team, rank);
    for (int64_t s = job.steps.count - 1; s >= 0; --s) {
        before_step(job, s, [&](const Before& before) {
            for (int64_t row = before.from; row < before.to; ++row)
                for (int64_t j = share.from * LANES; j < share.to * LANES; j += LANES) {
                    const int64_t n = job.steps.first(s) + row, at = row * H + j;
                    const auto gate = Cell::gate(job.gates + n * G * H + j, H);
                    const vec dh = load(job.dh0 + at) + load(job.dh + n * H + j);
                    const vec da = dh * (load(before.h + at) - gate.g);
                    Cell::gradient(gate, da, dh * (1.0f - gate.a), job.du + n * G * H + j, H);
                    store(job.dh0 + at, dh * gate.a);
                }
        });
        team.wait();
        input.after_step(s);
    }
}

}  // namespace unspool::ISA
