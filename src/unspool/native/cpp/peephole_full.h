// The LSTM with matrices as peepholes, cells/peephole.py with matrix="full":
//
//     i, f = σ(u_i + U_i h + P_i c), σ(u_f + U_f h + P_f c);   g = tanh(u_g + U_g h)
//     c' = f ⊙ c + i ⊙ g;   o = σ(u_o + U_o h + P_o c');   h' = o ⊙ tanh(c')
//
// so there is a product with c' before a step is done, and the threads wait twice. `extra` holds
// P_i, P_f, P_o (3·H, H); their gradients are products over all steps, made by the caller.
#pragma once

#include "sequence.h"

namespace unspool::ISA {

template <class T>
void peephole_full_forward(const Job<T>& job, T* packed, Team& team, int rank) {
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Gates<4, T> U{job.U, H, H, packed};
    const Gates<2, T> P_if{job.extra, H, H, at_or_null(packed, 4 * H * H)};
    const Gates<1, T> P_o{job.extra + 2 * H * H, H, H, at_or_null(packed, 6 * H * H)};
    const Input<4, T> input(job, at_or_null(packed, 7 * H * H), share);
    if (packed && job.pack) {
        for_panels<1>(share, [&]<int Q>(Int<Q>, int64_t group) {
            U.pack(group, Q);
            P_if.pack(group, Q);
        });
        for_panels<3>(share, [&]<int Q>(Int<Q>, int64_t group) { P_o.pack(group, Q); });
    }
    for (int64_t s = 0; s < job.steps.count; ++s) {
        input.before_step(s);
        const int64_t first = job.steps.first(s);
        before_step(job, s, [&](const Before<T>& before) {
            for_panels<1>(share, [&](Int<1>, int64_t group) {
                for_rows(before.from, before.to, [&](int64_t row, int rows) {
                    prefetch<4>(job, first + row, group * LANES, rows, 1);
                    vec z[ROWS][4], p[ROWS][2];
                    U.template multiply<1>(rows, before.h_read + row * H, group, z);
                    P_if.template multiply<1>(rows, before.c_read + row * H, group, p);
                    for (int r = 0; r < rows; ++r) {
                        const int64_t j = group * LANES, n = first + row + r;
                        vec a[4];
                        for (int g = 0; g < 4; ++g)
                            a[g] = load(block<4>(job.gates, job, n, g, j)) + z[r][g];
                        const vec i = sigmoid(a[0] + p[r][0]), f = sigmoid(a[1] + p[r][1]);
                        const vec g = tanh(a[2]);
                        const vec c = f * load(before.c + (row + r) * H + j) + i * g;
                        store(job.c + n * H + j, c);
                        if constexpr (std::is_same_v<T, bf16>) store(job.c_read + n * H + j, c);
                        store(block<4>(job.gates, job, n, 0, j), i);
                        store(block<4>(job.gates, job, n, 1, j), f);
                        store(block<4>(job.gates, job, n, 2, j), g);
                        store(block<4>(job.gates, job, n, 3, j), a[3]);
                    }
                });
            });
        });
        team.wait();
        const int64_t end = std::min(job.steps.rows(s), job.to);
        for_panels<3>(share, [&]<int Q>(Int<Q>, int64_t group) {
            for_rows(job.from, end, [&](int64_t row, int rows) {
                vec p[ROWS][Q];
                P_o.template multiply<Q>(rows, job.c_read + (first + row) * H, group, p);
                for (int r = 0; r < rows; ++r)
                    for (int q = 0; q < Q; ++q) {
                        const int64_t j = (group + q) * LANES, n = first + row + r;
                        float* const gate = block<4>(job.gates, job, n, 3, j);
                        const vec o = sigmoid(load(gate) + p[r][q]);
                        store(gate, o);
                        store_state(job, n, j, o * tanh(load(job.c + n * H + j)));
                    }
            });
        });
        keep_ends(job, s, share);
        team.wait();
    }
}

template <class T>
void peephole_full_backward(const Job<T>& job, T* packed, Team& team, int rank) {
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Columns<T> U{job.U, H, 4 * H, packed};
    const Columns<T> P_if{job.extra, H, 2 * H, packed + 4 * H * H};
    const Columns<T> P_o{job.extra + 2 * H * H, H, H, packed + 6 * H * H};
    const InputGradient<4, T> input(job, packed + 7 * H * H, team, rank);
    for_panels<BACK_GROUPS>(share, [&]<int V>(Int<V>, int64_t group) {
        U.pack(group, V);
        P_if.pack(group, V);
        P_o.pack(group, V);
    });
    // What the gradients of step s send back to h and c of the step before.
    const auto send_back_both = [&](int64_t s) {
        send_back(job, s, job.dh0, U, share,
                  [&]<int V>(int64_t n, int rows, const T* panel, vec (*sums)[V]) {
                      multiply(rows, job.du + n * 4 * H, 4 * H, panel, 4 * H, sums);
                  });
        send_back(job, s, job.dc0, P_if, share,
                  [&]<int V>(int64_t n, int rows, const T* panel, vec (*sums)[V]) {
                      multiply(rows, job.du + n * 4 * H, 4 * H, panel, 2 * H, sums);
                  });
    };
    for (int64_t s = job.steps.count - 1; s >= 0; --s) {
        if (s + 1 < job.steps.count) send_back_both(s + 1);
        const int64_t first = job.steps.first(s), end = std::min(job.steps.rows(s), job.to);
        for (int64_t row = job.from; row < end; ++row)
            for (int64_t group = share.from; group < share.to; ++group) {
                const int64_t j = group * LANES, at = row * H + j, n = first + row;
                const vec dh = load(job.dh0 + at) + load(job.dh + n * H + j);
                const vec o = load(block<4>(job.gates, job, n, 3, j));
                const vec squashed = tanh(load(job.c + n * H + j));
                store_gradient<4>(job, n, 3, j, dh * squashed * o * (1.0f - o));
                add_to(job.dc0 + at, dh * o * (1.0f - squashed * squashed));
                store(job.dh0 + at, vec{});
            }
        team.wait();
        before_step(job, s, [&](const Before<T>& before) {
            for_panels<BACK_GROUPS>(share, [&]<int V>(Int<V>, int64_t group) {
                for_rows(before.from, before.to, [&](int64_t row, int rows) {
                    vec sums[ROWS][V] = {};  // the gradient by c_t through o
                    multiply(rows, job.du + (first + row) * 4 * H + 3 * H, 4 * H, P_o.panel(group), H,
                             sums);
                    for (int r = 0; r < rows; ++r)
                        for (int v = 0; v < V; ++v) {
                            const int64_t j = (group + v) * LANES, at = (row + r) * H + j;
                            const int64_t n = first + row + r;
                            const vec i = load(block<4>(job.gates, job, n, 0, j));
                            const vec f = load(block<4>(job.gates, job, n, 1, j));
                            const vec g = load(block<4>(job.gates, job, n, 2, j));
                            const vec dc = load(job.dc0 + at) + sums[r][v];
                            store_gradient<4>(job, n, 0, j, dc * g * i * (1.0f - i));
                            store_gradient<4>(job, n, 1, j, dc * load(before.c + at) * f * (1.0f - f));
                            store_gradient<4>(job, n, 2, j, dc * i * (1.0f - g * g));
                            store(job.dc0 + at, dc * f);
                        }
                });
            });
        });
        team.wait();
        input.after_step(s);
    }
    send_back_both(0);
}

}  // namespace unspool::ISA
