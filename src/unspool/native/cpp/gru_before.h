// The GRU whose reset gate stands before the product, cells/gru.py with reset="before":
//
//     r, z = σ(u_r + U_r h), σ(u_z + U_z h);   n = tanh(u_n + U_n (r ⊙ h))
//
// so there are two products a step and the threads wait twice. `gates` holds r, k and n.
#pragma once

#include "sequence.h"

namespace unspool::ISA {

template <class T>
void gru_before_forward(const Job<T>& job, T* packed, Team& team, int rank) {
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Gates<2, T> U_rz{job.U, H, H, packed};
    const Gates<1, T> U_n{job.U + 2 * H * H, H, H, packed ? packed + 2 * H * H : nullptr};
    const Input<3, T> input(job, packed ? packed + 3 * H * H : nullptr, share);
    if (packed && job.pack) {
        for_panels<2>(share, [&]<int Q>(Int<Q>, int64_t group) { U_rz.pack(group, Q); });
        for_panels<3>(share, [&]<int Q>(Int<Q>, int64_t group) { U_n.pack(group, Q); });
    }
    for (int64_t s = 0; s < job.steps.count; ++s) {
        input.before_step(s);
        const int64_t first = job.steps.first(s);
        before_step(job, s, [&](const Before<T>& before) {
            for_panels<2>(share, [&]<int Q>(Int<Q>, int64_t group) {
                for_rows(before.from, before.to, [&](int64_t row, int rows) {
                    vec a[ROWS][2 * Q];
                    U_rz.template multiply<Q>(rows, before.h_read + row * H, group, a);
                    for (int i = 0; i < rows; ++i)
                        for (int q = 0; q < Q; ++q) {
                            const int64_t j = (group + q) * LANES, n = first + row + i;
                            const vec* z = a[i] + 2 * q;
                            const vec r = sigmoid(load(block<3>(job.gates, job, n, 0, j)) + z[0]);
                            const vec k = sigmoid(load(block<3>(job.gates, job, n, 1, j)) + z[1]);
                            store(block<3>(job.gates, job, n, 0, j), r);
                            store(block<3>(job.gates, job, n, 1, j), kept(job, k));
                            store(job.inner + n * H + j, r * load(before.h + (row + i) * H + j));
                        }
                });
            });
        });
        team.wait();
        before_step(job, s, [&](const Before<T>& before) {
            for_panels<3>(share, [&]<int Q>(Int<Q>, int64_t group) {
                for_rows(before.from, before.to, [&](int64_t row, int rows) {
                    vec z[ROWS][Q];
                    U_n.template multiply<Q>(rows, job.inner + (first + row) * H, group, z);
                    for (int i = 0; i < rows; ++i)
                        for (int q = 0; q < Q; ++q) {
                            const int64_t j = (group + q) * LANES, n = first + row + i;
                            const vec candidate =
                                tanh(load(block<3>(job.gates, job, n, 2, j)) + z[i][q]);
                            const vec k = load(block<3>(job.gates, job, n, 1, j));
                            const vec h = load(before.h + (row + i) * H + j);
                            store(block<3>(job.gates, job, n, 2, j), candidate);
                            store_state(job, n, j, candidate + k * (h - candidate));
                        }
                });
            });
        });
        keep_ends(job, s, share);
        team.wait();
    }
}

template <class T>
void gru_before_backward(const Job<T>& job, T* packed, Team& team, int rank) {
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Columns<T> U_rz{job.U, H, 2 * H, packed};
    const Columns<T> U_n{job.U + 2 * H * H, H, H, packed + 2 * H * H};
    const InputGradient<3, T> input(job, packed + 3 * H * H, team, rank);
    if (job.pack)
        for_panels<BACK_GROUPS>(share, [&]<int V>(Int<V>, int64_t group) {
            U_rz.pack(group, V);
            U_n.pack(group, V);
        });
    const auto back = [&]<int V>(int64_t n, int rows, const T* panel, vec (*sums)[V]) {
        multiply(rows, job.du + n * 3 * H, 3 * H, panel, 2 * H, sums);
    };
    for (int64_t s = job.steps.count - 1; s >= 0; --s) {
        if (s + 1 < job.steps.count) send_back(job, s + 1, job.dh0, U_rz, share, back);
        const int64_t first = job.steps.first(s);
        before_step(job, s, [&](const Before<T>& before) {
            for (int64_t row = before.from; row < before.to; ++row)
                for (int64_t group = share.from; group < share.to; ++group) {
                    const int64_t j = group * LANES, at = row * H + j, n = first + row;
                    const vec dh = load(job.dh0 + at) + load(job.dh + n * H + j);
                    const vec k = load(block<3>(job.gates, job, n, 1, j));
                    const vec candidate = load(block<3>(job.gates, job, n, 2, j));
                    store_gradient<3>(job, n, 1, j, dh * (load(before.h + at) - candidate) * kept_slope(job, k));
                    store_gradient<3>(job, n, 2, j, dh * (1.0f - k) * (1.0f - candidate * candidate));
                    store(job.dh0 + at, dh * k);
                }
        });
        team.wait();
        before_step(job, s, [&](const Before<T>& before) {
            for_panels<BACK_GROUPS>(share, [&]<int V>(Int<V>, int64_t group) {
                for_rows(before.from, before.to, [&](int64_t row, int rows) {
                    vec dinner[ROWS][V] = {};  // the gradient by r ⊙ h
                    multiply(rows, job.du + (first + row) * 3 * H + 2 * H, 3 * H, U_n.panel(group),
                             H, dinner);
                    for (int i = 0; i < rows; ++i)
                        for (int v = 0; v < V; ++v) {
                            const int64_t j = (group + v) * LANES, n = first + row + i;
                            const vec r = load(block<3>(job.gates, job, n, 0, j));
                            const vec h = load(before.h + (row + i) * H + j);
                            store_gradient<3>(job, n, 0, j, dinner[i][v] * h * r * (1.0f - r));
                            add_to(job.dh0 + (row + i) * H + j, dinner[i][v] * r);
                        }
                });
            });
        });
        team.wait();
        input.after_step(s);
    }
    send_back(job, 0, job.dh0, U_rz, share, back);
}

}  // namespace unspool::ISA
