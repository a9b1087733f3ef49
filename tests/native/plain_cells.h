// The equations of all cells in plain code and in double, one sequence after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "job.h"

namespace plain {

using unspool::Kind;
using Doubles = std::vector<double>;

inline Doubles doubles(const std::vector<float>& from) { return {from.begin(), from.end()}; }

// Where a step of a sequence lies in packed rows: by time, or for scans one sequence after the other.
struct Rows {
    const std::vector<int64_t>&lengths, &by_time, &by_sequence;
    bool scan, reverse;

    int64_t count() const { return by_time.back(); }
    int64_t at(int64_t sequence, int64_t t) const {
        return scan ? by_sequence[sequence] + t : by_time[t] + sequence;
    }
};

struct Point {
    Doubles u;  // (N, G·H)
    Doubles h0, c0, extra;
};

struct States {
    Doubles h;  // (N, H)
    Doubles h_end, c_end;
};

inline bool has_cell_state(Kind kind) {
    return kind == Kind::lstm || kind == Kind::peephole || kind == Kind::peephole_full || kind == Kind::coupled;
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// New states of one step, from a = u + U h (but for the GRUs, whose candidate is special).
inline void step(Kind kind, int64_t H, const double* u, const std::vector<float>& U, const Doubles& extra,
                 Doubles& h, Doubles& c) {
    const Doubles before = h;
    const auto product = [&](int64_t row, const Doubles& v) {
        double sum = 0;
        for (int64_t k = 0; k < H; ++k) sum += U[row * H + k] * v[k];
        return sum;
    };
    const auto gate = [&](int64_t g, int64_t j) { return u[g * H + j] + product(g * H + j, before); };
    if (kind == Kind::peephole_full) {
        const Doubles c_before = c;
        const auto peephole = [&](int64_t block, int64_t j, const Doubles& v) {
            double sum = 0;
            for (int64_t k = 0; k < H; ++k) sum += extra[(block * H + j) * H + k] * v[k];
            return sum;
        };
        for (int64_t j = 0; j < H; ++j)
            c[j] = sigmoid(gate(1, j) + peephole(1, j, c_before)) * c_before[j] +
                   sigmoid(gate(0, j) + peephole(0, j, c_before)) * std::tanh(gate(2, j));
        for (int64_t j = 0; j < H; ++j) h[j] = sigmoid(gate(3, j) + peephole(2, j, c)) * std::tanh(c[j]);
        return;
    }
    Doubles reset(H);
    if (kind == Kind::gru_before)
        for (int64_t j = 0; j < H; ++j) reset[j] = sigmoid(gate(0, j)) * before[j];
    for (int64_t j = 0; j < H; ++j) {
        const auto lstm = [&](double i, double f, double g, double peephole) {
            c[j] = f * c[j] + i * g;
            return sigmoid(gate(kind == Kind::coupled ? 2 : 3, j) + peephole * c[j]) * std::tanh(c[j]);
        };
        const auto gru = [&](double keep, double candidate) {
            return keep * before[j] + (1 - keep) * candidate;
        };
        switch (kind) {
            case Kind::elman_sigmoid: h[j] = sigmoid(gate(0, j)); break;
            case Kind::elman_tanh: h[j] = std::tanh(gate(0, j)); break;
            case Kind::elman_relu: h[j] = std::max(0.0, gate(0, j)); break;
            case Kind::elman_leaky_relu: h[j] = std::max(0.1 * gate(0, j), gate(0, j)); break;
            case Kind::elman_elu: h[j] = gate(0, j) > 0 ? gate(0, j) : std::expm1(gate(0, j)); break;
            case Kind::elman_maxout: h[j] = std::max(gate(0, j), gate(1, j)); break;
            case Kind::lstm: h[j] = lstm(sigmoid(gate(0, j)), sigmoid(gate(1, j)), std::tanh(gate(2, j)), 0); break;
            case Kind::peephole:
                h[j] = lstm(sigmoid(gate(0, j) + extra[j] * c[j]), sigmoid(gate(1, j) + extra[H + j] * c[j]),
                            std::tanh(gate(2, j)), extra[2 * H + j]);
                break;
            case Kind::peephole_full: break;  // above
            case Kind::coupled: {
                const double f = sigmoid(gate(0, j));
                h[j] = lstm(1 - f, f, std::tanh(gate(1, j)), 0);
                break;
            }
            case Kind::gru_after: {
                const double inner = product(2 * H + j, before) + extra[j];
                h[j] = gru(sigmoid(gate(1, j)), std::tanh(u[2 * H + j] + sigmoid(gate(0, j)) * inner));
                break;
            }
            case Kind::gru_before:
                h[j] = gru(sigmoid(gate(1, j)), std::tanh(u[2 * H + j] + product(2 * H + j, reset)));
                break;
            case Kind::mingru: h[j] = gru(1 - sigmoid(u[j]), u[H + j]); break;
            case Kind::minlstm: {
                const double f = sigmoid(u[j]), i = sigmoid(u[H + j]);
                h[j] = gru(f / (f + i), u[2 * H + j]);
                break;
            }
        }
    }
}

inline States run(Kind kind, int64_t H, int64_t G, const std::vector<float>& U, const Point& point,
                  const Rows& rows) {
    States found{Doubles(rows.count() * H), {}, {}};
    for (size_t s = 0; s < rows.lengths.size(); ++s) {
        Doubles h(point.h0.begin() + s * H, point.h0.begin() + (s + 1) * H);
        Doubles c(point.c0.begin() + s * H, point.c0.begin() + (s + 1) * H);
        for (int64_t i = 0; i < rows.lengths[s]; ++i) {
            const int64_t n = rows.at(s, rows.reverse ? rows.lengths[s] - 1 - i : i);
            step(kind, H, point.u.data() + n * G * H, U, point.extra, h, c);
            std::copy(h.begin(), h.end(), found.h.begin() + n * H);
        }
        found.h_end.insert(found.h_end.end(), h.begin(), h.end());
        if (has_cell_state(kind))
            found.c_end.insert(found.c_end.end(), c.begin(), c.end());
    }
    return found;
}

}  // namespace plain
