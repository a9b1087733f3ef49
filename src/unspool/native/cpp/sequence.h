// A cell over whole packed sequences, forwards and back through time. The threads of a team share
// the units: each needs all of h_{t-1}, so they wait for each other once a step.
#pragma once

#include "cells.h"
#include "team.h"

namespace unspool::ISA {

// Rows [0, shared) of step s go on from the step before it; the others begin at the initial state.
struct Before {
    const float *h, *c;
    int64_t from, to;
};

template <class Float>
inline Float* at_or_null(Float* from, int64_t at) {
    return from ? from + at : nullptr;
}

template <class Body>
inline void before_step(const Job& job, int64_t s, const Body& body) {
    const int64_t end = std::min(job.steps.rows(s), job.to);
    const int64_t shared = std::max(std::min(end, job.steps.rows(s - 1)), job.from);
    if (job.from < shared) {
        const int64_t at = job.steps.first(s - 1) * job.H;
        body(Before{job.h + at, at_or_null(job.c, at), job.from, shared});
    }
    if (shared < end) body(Before{job.h0, job.c0, shared, end});
}

// Calls body(Int<Q>, group) for panels of up to Q groups that cover a share.
template <int Q, class Body>
inline void for_panels(Share share, const Body& body) {
    int64_t group = share.from;
    for (; group + Q <= share.to; group += Q) body(Int<Q>{}, group);
    if constexpr (Q > 1)
        if (group < share.to) {
            share.from = group;
            for_panels<Q - 1>(share, body);
        }
}

// Groups of units in a panel: about four vectors.
constexpr int panel_groups(int gates) { return gates == 1 ? 3 : gates == 2 ? 2 : 1; }

// What a tile will read and write once its product is done: it lies in pieces of one cache line,
// too far apart for the processor to foresee.
template <int G>
inline void prefetch(const Job& job, int64_t n, int64_t j, int rows, int groups) {
    for (int r = 0; r < rows; ++r)
        for (int g = 0; g < G; ++g)
            for (int q = 0; q < groups; ++q)
                __builtin_prefetch(block<G>(job.gates, job, n + r, g, j + q * LANES), 1);
}

// Called after step s: copies the states of the sequences that end with it.
inline void keep_ends(const Job& job, int64_t s, Share share) {
    const int64_t from = std::max(job.from, job.steps.rows(s + 1));
    const int64_t to = std::min(job.to, job.steps.rows(s));
    const int64_t j = share.from * LANES, size = (share.to - share.from) * LANES * sizeof(float);
    for (int64_t row = from; row < to; ++row) {
        const int64_t n = job.steps.first(s) + row;
        std::memcpy(job.h_end + row * job.H + j, job.h + n * job.H + j, size);
        if (job.c_end) std::memcpy(job.c_end + row * job.H + j, job.c + n * job.H + j, size);
    }
}

// Steps whose input products are made together: enough rows for each panel of weights, and few
// enough that what they give is still in the cache when the recurrence comes to it.
constexpr int64_t CHUNK = 8;

// u = W x + b, the part of the gates that needs the input alone.
template <int G>
class Input {
  public:
    Input(const Job& job, float* packed, Share share)
        : job_(job), share_(share), weights_{job.W, job.H, job.I, packed} {
        if (job.x && packed)
            for_panels<WIDEST>(share, [&]<int Q>(Int<Q>, int64_t group) { weights_.pack(group, Q); });
    }

    // Called before step s: for its chunk where a chunk begins.
    void before_step(int64_t s) const {
        if (!job_.x || s % CHUNK) return;
        for_panels<WIDEST>(share_, [&]<int Q>(Int<Q>, int64_t group) {
            for (int64_t t = s; t < std::min(s + CHUNK, job_.steps.count); ++t) {
                const int64_t first = job_.steps.first(t);
                panel<Q>(group, first + job_.from, first + std::min(job_.steps.rows(t), job_.to));
            }
        });
    }

    // For the rows [from, to).
    void rows(int64_t from, int64_t to) const {
        if (job_.x)
            for_panels<WIDEST>(
                share_, [&]<int Q>(Int<Q>, int64_t group) { panel<Q>(group, from, to); });
    }

  private:
    static constexpr int WIDEST = panel_groups(G);

    template <int Q>
    void panel(int64_t group, int64_t from, int64_t to) const {
        for_tiles<tile_rows(Q * G)>(from, to, [&]<int R>(Int<R>, int64_t n) {
            vec u[R][Q * G];
            for (int q = 0; q < Q; ++q)
                for (int g = 0; g < G; ++g) {
                    const vec b = load(job_.b + g * job_.H + (group + q) * LANES);
                    for (int r = 0; r < R; ++r) u[r][q * G + g] = b;
                }
            vec z[R][Q * G] = {};
            weights_.template multiply<R, Q>(job_.x + n * job_.I, group, z);
            for (int r = 0; r < R; ++r)
                for (int q = 0; q < Q; ++q)
                    for (int g = 0; g < G; ++g)
                        store(block<G>(job_.gates, job_, n + r, g, (group + q) * LANES),
                              u[r][q * G + g] + z[r][q * G + g]);
        });
    }

    const Job& job_;
    Share share_;
    Gates<G> weights_;
};

// dx = du W, for a chunk of steps at a time.
template <int G>
class InputGradient {
  public:
    InputGradient(const Job& job, float* packed, Team& team, int rank)
        : job_(job),
          share_(job.I / LANES, rank, team.size),
          weights_{job.W, job.I, G * job.H, packed} {
        if (job.dx)
            for_panels<WIDEST>(share_,
                               [&]<int V>(Int<V>, int64_t group) { weights_.pack(group, V); });
    }

    // Called once du of step s is complete: for its chunk where that has come to its first step.
    void after_step(int64_t s) const {
        if (!job_.dx || s % CHUNK) return;
        for_panels<WIDEST>(share_, [&]<int V>(Int<V>, int64_t group) {
            for (int64_t t = s; t < std::min(s + CHUNK, job_.steps.count); ++t) {
                const int64_t first = job_.steps.first(t);
                panel<V>(group, first + job_.from, first + std::min(job_.steps.rows(t), job_.to));
            }
        });
    }

    // For the rows [from, to).
    void rows(int64_t from, int64_t to) const {
        if (job_.dx)
            for_panels<WIDEST>(
                share_, [&]<int V>(Int<V>, int64_t group) { panel<V>(group, from, to); });
    }

  private:
    static constexpr int WIDEST = 3;

    template <int V>
    void panel(int64_t group, int64_t from, int64_t to) const {
        const int64_t K = G * job_.H;
        for_tiles<tile_rows(V)>(from, to, [&]<int R>(Int<R>, int64_t n) {
            vec dx[R][V] = {};
            multiply(job_.du + n * K, K, weights_.panel(group), K, dx);
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v)
                    store(job_.dx + (n + r) * job_.I + (group + v) * LANES, dx[r][v]);
        });
    }

    const Job& job_;
    Share share_;
    Columns weights_;
};

template <class Cell>
void forward(const Job& job, float* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES, WIDEST = panel_groups(G);
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Gates<G> weights{job.U, H, H, packed};
    const Input<G> input(job, packed ? packed + G * H * H : nullptr, share);
    if (packed)
        for_panels<WIDEST>(share, [&]<int Q>(Int<Q>, int64_t group) { weights.pack(group, Q); });
    for (int64_t s = 0; s < job.steps.count; ++s) {
        input.before_step(s);
        const int64_t first = job.steps.first(s);
        before_step(job, s, [&](const Before& before) {
            for_panels<WIDEST>(share, [&]<int Q>(Int<Q>, int64_t group) {
                for_tiles<tile_rows(Q * G)>(before.from, before.to, [&]<int R>(Int<R>, int64_t row) {
                    prefetch<G>(job, first + row, group * LANES, R, Q);
                    vec z[R][Q * G] = {};
                    weights.template multiply<R, Q>(before.h + row * H, group, z);
                    for (int r = 0; r < R; ++r)
                        for (int q = 0; q < Q; ++q) {
                            const int64_t j = (group + q) * LANES, at = (row + r) * H + j;
                            Cell::forward(job, first + row + r, j, z[r] + q * G, before.h + at,
                                          at_or_null(before.c, at));
                        }
                });
            });
        });
        keep_ends(job, s, share);
        team.wait();
    }
}

template <class Cell>
void backward(const Job& job, float* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES, WIDEST = 3;
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Columns weights{job.U, H, G * H, packed};
    const InputGradient<G> input(job, packed + G * H * H, team, rank);
    for_panels<WIDEST>(share, [&]<int V>(Int<V>, int64_t group) { weights.pack(group, V); });

    // dh0 += what the gradients of step s send back.
    const auto send_back = [&](int64_t s) {
        const int64_t to = std::min(job.steps.rows(s), job.to);
        for_panels<WIDEST>(share, [&]<int V>(Int<V>, int64_t group) {
            for_tiles<tile_rows(V)>(job.from, to, [&]<int R>(Int<R>, int64_t row) {
                vec acc[R][V] = {};
                Cell::back(job, job.steps.first(s) + row, weights.panel(group), acc);
                for (int r = 0; r < R; ++r)
                    for (int v = 0; v < V; ++v)
                        add_to(job.dh0 + (row + r) * H + (group + v) * LANES, acc[r][v]);
            });
        });
    };
    for (int64_t s = job.steps.count - 1; s >= 0; --s) {
        if (s + 1 < job.steps.count) send_back(s + 1);
        const int64_t first = job.steps.first(s);
        before_step(job, s, [&](const Before& before) {
            for (int64_t row = before.from; row < before.to; ++row)
                for (int64_t group = share.from; group < share.to; ++group) {
                    const int64_t j = group * LANES, at = row * H + j, n = first + row;
                    const vec dh = load(job.dh0 + at) + load(job.dh + n * H + j);
                    const vec direct =
                        Cell::backward(job, n, j, dh, before.h + at, at_or_null(before.c, at),
                                       at_or_null(job.dc0, at));
                    store(job.dh0 + at, direct);
                }
        });
        team.wait();
        input.after_step(s);
    }
    send_back(0);
}

}  // namespace unspool::ISA
