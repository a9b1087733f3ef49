// A cell over whole packed sequences, forwards and back through time. The threads of a team share
// the units: each needs all of h_{t-1}, so they wait for each other once a step.
#pragma once

#include "cells.h"
#include "team.h"

namespace unspool::ISA {

// Rows [0, shared) of step s go on from the step before it; the others begin at the initial state.
template <class T>
struct Before {
    const float *h, *c;
    const T *h_read, *c_read;
    int64_t from, to;
};

template <class Float>
inline Float* at_or_null(Float* from, int64_t at) {
    return from ? from + at : nullptr;
}

template <class T, class Body>
inline void before_step(const Job<T>& job, int64_t s, const Body& body) {
    const int64_t end = std::min(job.steps.rows(s), job.to);
    const int64_t shared = std::max(std::min(end, job.steps.rows(s - 1)), job.from);
    if (job.from < shared) {
        const int64_t at = job.steps.first(s - 1) * job.H;
        body(Before<T>{job.h + at, at_or_null(job.c, at), at_or_null(job.h_read, at),
                       at_or_null(job.c_read, at), job.from, shared});
    }
    if (shared < end) body(Before<T>{job.h0, job.c0, job.h0_read, job.c0_read, shared, end});
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
constexpr int BACK_GROUPS = 3;  // on the way back

// What a block of rows will read and write once its product is done: it lies in pieces of one cache line,
// too far apart for the processor to foresee.
template <int G>
inline void prefetch(const auto& job, int64_t n, int64_t j, int rows, int groups) {
    for (int r = 0; r < rows; ++r)
        for (int g = 0; g < G; ++g)
            for (int q = 0; q < groups; ++q)
                __builtin_prefetch(block<G>(job.gates, job, n + r, g, j + q * LANES), 1);
}

// Called after step s: copies the states of the sequences that end with it.
inline void keep_ends(const auto& job, int64_t s, Share share) {
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
template <class T>
inline int64_t chunk(const Job<T>& job) {
    return std::max<int64_t>(8, ROWS / std::max<int64_t>(1, job.to - job.from));
}

// Calls body(from, to) for the rows of the chunk that begins with step s, in as few pieces as they lie in:
// those of all sequences lie in one.
template <class T, class Body>
inline void for_chunk(const Job<T>& job, int64_t s, const Body& body) {
    const Steps& steps = job.steps;
    const int64_t end = std::min(s + chunk(job), steps.count);
    if (job.from == 0 && job.to == steps.widest()) {
        const auto [early, late] = std::minmax({steps.time(s), steps.time(end - 1)});
        body(steps.offsets[early], steps.offsets[late + 1]);
        return;
    }
    for (int64_t t = s; t < end; ++t)
        body(steps.first(t) + job.from, steps.first(t) + std::min(steps.rows(t), job.to));
}

// u = W x + b, the part of the gates that needs the input alone.
template <int G, class T>
class Input {
  public:
    Input(const Job<T>& job, T* packed, Share share)
        : job_(job), share_(share), weights_{job.W, job.H, job.I, packed} {
        if (job.W && packed && job.pack)
            for_panels<WIDEST>(share, [&]<int Q>(Int<Q>, int64_t group) { weights_.pack(group, Q); });
    }

    // Called before step s: for its chunk where a chunk begins.
    void before_step(int64_t s) const {
        if (!job_.x || s % chunk(job_)) return;
        for_panels<WIDEST>(share_, [&]<int Q>(Int<Q>, int64_t group) {
            for_chunk(job_, s, [&](int64_t from, int64_t to) { panel<Q>(group, from, to); });
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
        for_rows(from, to, [&](int64_t n, int rows) {
            vec z[ROWS][Q * G];
            weights_.template multiply<Q>(rows, job_.x + n * job_.I, group, z);
            for (int r = 0; r < rows; ++r)
                for (int q = 0; q < Q; ++q)
                    for (int g = 0; g < G; ++g) {
                        const int64_t j = (group + q) * LANES;
                        store(block<G>(job_.gates, job_, n + r, g, j),
                              z[r][q * G + g] + load(job_.b + g * job_.H + j));
                    }
        });
    }

    const Job<T>& job_;
    Share share_;
    Gates<G, T> weights_;
};

// dx = du W, for a chunk of steps at a time.
template <int G, class T>
class InputGradient {
  public:
    InputGradient(const Job<T>& job, T* packed, Team& team, int rank)
        : job_(job),
          share_(job.I / LANES, rank, team.size),
          weights_{job.W, job.I, G * job.H, packed} {
        if (job.dx && job.pack)
            for_panels<WIDEST>(share_,
                               [&]<int V>(Int<V>, int64_t group) { weights_.pack(group, V); });
    }

    // Called once du of step s is complete: for its chunk where that has come to its first step.
    void after_step(int64_t s) const {
        if (!job_.dx || s % chunk(job_)) return;
        for_panels<WIDEST>(share_, [&]<int V>(Int<V>, int64_t group) {
            for_chunk(job_, s, [&](int64_t from, int64_t to) { panel<V>(group, from, to); });
        });
    }

    // For the rows [from, to).
    void rows(int64_t from, int64_t to) const {
        if (job_.dx)
            for_panels<WIDEST>(
                share_, [&]<int V>(Int<V>, int64_t group) { panel<V>(group, from, to); });
    }

  private:
    static constexpr int WIDEST = BACK_GROUPS;

    template <int V>
    void panel(int64_t group, int64_t from, int64_t to) const {
        const int64_t K = G * job_.H;
        for_rows(from, to, [&](int64_t n, int rows) {
            vec dx[ROWS][V] = {};
            multiply(rows, job_.du + n * K, K, weights_.panel(group), K, dx);
            for (int r = 0; r < rows; ++r)
                for (int v = 0; v < V; ++v)
                    store(job_.dx + (n + r) * job_.I + (group + v) * LANES, dx[r][v]);
        });
    }

    const Job<T>& job_;
    Share share_;
    Columns<T> weights_;
};

// to (B, H) += what the gradients of step s send back: back(n, rows, panel, sums) makes the product for
// some rows from n on.
template <class T, class Back>
inline void send_back(const Job<T>& job, int64_t s, float* to, const Columns<T>& weights, Share share,
                      const Back& back) {
    const int64_t end = std::min(job.steps.rows(s), job.to);
    for_panels<BACK_GROUPS>(share, [&]<int V>(Int<V>, int64_t group) {
        for_rows(job.from, end, [&](int64_t row, int rows) {
            vec sums[ROWS][V] = {};
            back(job.steps.first(s) + row, rows, weights.panel(group), sums);
            for (int r = 0; r < rows; ++r)
                for (int v = 0; v < V; ++v)
                    add_to(to + (row + r) * job.H + (group + v) * LANES, sums[r][v]);
        });
    });
}

template <class Cell, class T>
void forward(const Job<T>& job, T* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES, WIDEST = panel_groups(G);
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Gates<G, T> weights{job.U, H, H, packed};
    const Input<G, T> input(job, packed ? packed + G * H * H : nullptr, share);
    if (packed && job.pack)
        for_panels<WIDEST>(share, [&]<int Q>(Int<Q>, int64_t group) { weights.pack(group, Q); });
    const auto sums = buffer<vec>((share.to - share.from) * G);  // of one row
    for (int64_t s = 0; s < job.steps.count; ++s) {
        input.before_step(s);
        const int64_t first = job.steps.first(s);
        before_step(job, s, [&](const Before<T>& before) {
            const auto equations = [&](int64_t row, int64_t group, const vec* z) INLINE_LAMBDA {
                const int64_t j = group * LANES, at = row * H + j;
                Cell::forward(job, first + row, j, z, before.h + at, at_or_null(before.c, at));
            };
            if (before.to - before.from == 1) {
                // The equations of a group are a chain of instructions that wait for each other: those
                // of all groups side by side.
                const int64_t row = before.from;
                for_panels<WIDEST>(share, [&]<int Q>(Int<Q>, int64_t group) {
                    const auto z = reinterpret_cast<vec(*)[Q * G]>(&sums[(group - share.from) * G]);
                    weights.template multiply<Q>(1, before.h_read + row * H, group, z);
                });
                for (int64_t group = share.from; group < share.to; ++group)
                    equations(row, group, &sums[(group - share.from) * G]);
                return;
            }
            for_panels<WIDEST>(share, [&]<int Q>(Int<Q>, int64_t group) {
                for_rows(before.from, before.to, [&](int64_t row, int rows) {
                    prefetch<G>(job, first + row, group * LANES, rows, Q);
                    vec z[ROWS][Q * G];
                    weights.template multiply<Q>(rows, before.h_read + row * H, group, z);
                    for (int r = 0; r < rows; ++r)
                        for (int q = 0; q < Q; ++q) equations(row + r, group + q, z[r] + q * G);
                });
            });
        });
        keep_ends(job, s, share);
        team.wait();
    }
}

template <class Cell, class T>
void backward(const Job<T>& job, T* packed, Team& team, int rank) {
    constexpr int G = Cell::GATES;
    const int64_t H = job.H;
    const Share share(H / LANES, rank, team.size);
    const Columns<T> weights{job.U, H, G * H, packed};
    const InputGradient<G, T> input(job, packed + G * H * H, team, rank);
    if (job.pack)
        for_panels<BACK_GROUPS>(share,
                                [&]<int V>(Int<V>, int64_t group) { weights.pack(group, V); });
    const auto back = [&]<int V>(int64_t n, int rows, const T* panel, vec (*sums)[V]) {
        Cell::back(job, n, rows, panel, sums);
    };
    for (int64_t s = job.steps.count - 1; s >= 0; --s) {
        if (s + 1 < job.steps.count) send_back(job, s + 1, job.dh0, weights, share, back);
        const int64_t first = job.steps.first(s);
        before_step(job, s, [&](const Before<T>& before) {
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
    send_back(job, 0, job.dh0, weights, share, back);
}

}  // namespace unspool::ISA
