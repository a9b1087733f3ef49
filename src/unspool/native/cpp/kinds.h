// The kinds of cells that have kernels, and the arrays of a `Job`: the only list of either.
#pragma once

#include <map>
#include <string>

#include "fields.h"
#include "job.h"

namespace unspool {

// What arrays are used for: weights alone, one step without gradients, sequences, their gradients.
enum Use : unsigned { WEIGHTS = 1, STEP = 2, FORWARD = 4, BACKWARD = 8 };

// What a kind has.
enum Trait : unsigned {
    U_MATRIX = 1,    // a product with h a step; the others are scans
    CELL_STATE = 2,
    GATES = 4,       // kept for the gradient
    PEEPHOLES = 8,   // vectors
    FULL = 16,       // matrices as peepholes: products read c
    HIDDEN_BIAS = 32,
    INNER = 64,      // r ⊙ h
    // What a call has.
    INPUTS = 128,     // x, or in the backward pass dx; otherwise `gates` holds u already
    NO_INPUTS = 256,
    HALF = 512,       // products of bfloat16
};

struct KindOfCell {
    Kind kind;
    unsigned traits;
};

inline const std::map<std::string, KindOfCell> KINDS = {
    {"elman_sigmoid", {Kind::elman_sigmoid, U_MATRIX}},
    {"elman_tanh", {Kind::elman_tanh, U_MATRIX}},
    {"elman_relu", {Kind::elman_relu, U_MATRIX}},
    {"elman_leaky_relu", {Kind::elman_leaky_relu, U_MATRIX}},
    {"elman_elu", {Kind::elman_elu, U_MATRIX}},
    {"elman_maxout", {Kind::elman_maxout, U_MATRIX | GATES}},
    {"lstm", {Kind::lstm, U_MATRIX | GATES | CELL_STATE}},
    {"peephole", {Kind::peephole, U_MATRIX | GATES | CELL_STATE | PEEPHOLES}},
    {"peephole_full", {Kind::peephole_full, U_MATRIX | GATES | CELL_STATE | FULL}},
    {"coupled", {Kind::coupled, U_MATRIX | GATES | CELL_STATE}},
    {"gru_after", {Kind::gru_after, U_MATRIX | GATES | HIDDEN_BIAS}},
    {"gru_before", {Kind::gru_before, U_MATRIX | GATES | INNER}},
    {"mingru", {Kind::mingru, GATES}},
    {"minlstm", {Kind::minlstm, GATES}},
};

inline const KindOfCell& kind_named(const std::string& name) {
    const auto found = KINDS.find(name);
    if (found == KINDS.end()) throw nanobind::value_error(("there is no kernel " + name).c_str());
    return found->second;
}

// N rows of B sequences, G blocks of H units, I inputs, P threads.
template <class T>
inline const Fields<Job<T>>& job_fields() {
    using J = Job<T>;
    constexpr unsigned SEQUENCES = FORWARD | BACKWARD, ALL = WEIGHTS | SEQUENCES, ROWS = STEP | SEQUENCES;
    static const Fields<J> fields{
        field<&J::x>("x", "N,I", STEP | FORWARD, INPUTS),
        field<&J::W>("W", "GH,I", ALL, INPUTS),
        field<&J::b>("b", "GH", WEIGHTS | FORWARD, INPUTS),
        field<&J::U>("U", "GH,H", ALL, U_MATRIX),
        field<&J::extra>("extra", "3H", ALL, PEEPHOLES),
        field<&J::extra>("extra", "3H,H", ALL, FULL),
        field<&J::extra>("extra", "H", ALL, HIDDEN_BIAS),
        field<&J::h0>("h0", "B,H", ROWS),
        field<&J::c0>("c0", "B,H", ROWS, CELL_STATE),
        field<&J::gates>("gates", "N,GH", FORWARD),
        field<&J::gates>("gates", "N,GH", BACKWARD, GATES),
        field<&J::gates>("gates", "N,GH", BACKWARD, OPTIONAL),
        field<&J::gates>("gates", "N,GH", STEP, NO_INPUTS),
        field<&J::h>("h", "N,H", ROWS),
        field<&J::c>("c", "N,H", ROWS, CELL_STATE),
        field<&J::inner>("inner", "N,H", FORWARD, INNER),
        field<&J::inner>("inner", "N,H", FORWARD, HIDDEN_BIAS | OPTIONAL),
        field<&J::inner>("inner", "N,H", BACKWARD, HIDDEN_BIAS),
        field<&J::h_end>("h_end", "B,H", FORWARD),
        field<&J::c_end>("c_end", "B,H", FORWARD, CELL_STATE),
        field<&J::h0_read>("h0_read", "B,H", FORWARD, HALF),
        field<&J::h_read>("h_read", "N,H", FORWARD, HALF),
        field<&J::c0_read>("c0_read", "B,H", FORWARD, HALF | FULL),
        field<&J::c_read>("c_read", "N,H", FORWARD, HALF | FULL),
        field<&J::mask>("mask", "N,H", SEQUENCES, OPTIONAL),
        field<&J::dh>("dh", "N,H", BACKWARD),
        field<&J::dx>("dx", "N,I", BACKWARD, INPUTS),
        field<&J::du>("du", "N,GH", BACKWARD),
        field<&J::dinner>("dinner", "N,H", BACKWARD, HIDDEN_BIAS),
        field<&J::dextra>("dextra", "P,3H", BACKWARD, PEEPHOLES),
        field<&J::dextra>("dextra", "P,H", BACKWARD, HIDDEN_BIAS),
        field<&J::dh0>("dh0", "B,H", BACKWARD),
        field<&J::dc0>("dc0", "B,H", BACKWARD, CELL_STATE),
        field<&J::db>("db", "P,GH", BACKWARD),
    };
    return fields;
}

// The offsets of packed sequences: an array (T + 1) of int64 whose steps never get longer, or of scans any array
// of where sequences begin.
inline Steps read_offsets(const std::string& kernel, nanobind::handle given, bool scan) {
    Sizes sizes;
    const auto* offsets = static_cast<const int64_t*>(
        read_array(kernel, "offsets", given, "T", NUMBER_OF<int64_t>, sizes));
    const Steps steps{sizes.of('T') - 1, offsets, false};
    bool good = steps.count >= 1 && offsets[0] == 0;
    for (int64_t t = 0; good && t < steps.count; ++t)
        good = steps.rows(t) >= 0 && (scan || t == 0 || steps.rows(t) <= steps.rows(t - 1));
    if (!good)
        throw nanobind::value_error(("the kernel " + kernel + " takes offsets that begin at 0 and whose steps "
                                     "have no more rows than the one before").c_str());
    return steps;
}

// Sets the arrays of one layer and direction, and what `sizes` says of it.
template <class T>
inline void read_job(const std::string& name, nanobind::handle given, unsigned use, unsigned traits, Sizes& sizes,
                     Job<T>& job) {
    traits |= sizes.of('I') > 0 ? INPUTS : NO_INPUTS;
    if (std::is_same_v<T, bf16>) traits |= HALF;
    job_fields<T>().read(name, given, use, traits, sizes, job);
    job.H = sizes.of('H');
    job.I = sizes.of('I');
    if constexpr (std::is_same_v<T, float>) {
        job.h0_read = job.h0;
        job.h_read = job.h;
        job.c0_read = job.c0;
        job.c_read = job.c;
    }
}

}  // namespace unspool
