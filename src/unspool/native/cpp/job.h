// What the kernels are given: plain pointers into arrays that the caller owns.
//
// Sequences are packed: the rows of all sequences at time 0, then those at time 1, and so on, the
// longest sequence first, so that the rows that are still running at time t are the first of each
// earlier time. (Scans take the sequences one after the other instead, see scan.h.) Row n of an array
// (N, K·H) holds K blocks of H values. H is a multiple of 16.
#pragma once

#include <algorithm>
#include <cstdint>

namespace unspool {

// The upper half of a float.
struct bf16 {
    uint16_t bits;
};

enum class Kind {
    elman_sigmoid,
    elman_tanh,
    elman_relu,
    elman_leaky_relu,
    elman_elu,
    elman_maxout,
    lstm,
    peephole,
    peephole_full,
    coupled,
    gru_after,
    gru_before,
    mingru,
    minlstm,
};

// The order in which a direction visits the time steps: 0 .. T-1, or T-1 .. 0.
struct Steps {
    int64_t count;
    const int64_t* offsets;  // (T + 1): the rows of time t are offsets[t] .. offsets[t + 1]
    bool reverse;

    int64_t time(int64_t s) const { return reverse ? count - 1 - s : s; }
    int64_t first(int64_t s) const { return offsets[time(s)]; }
    int64_t rows(int64_t s) const {
        if (s < 0 || s >= count) return 0;
        return offsets[time(s) + 1] - offsets[time(s)];
    }
    int64_t widest() const { return offsets[1] - offsets[0]; }

    // The end of the part-th of `parts` groups of sequences with about as many tokens each.
    int64_t share_of_rows(int part, int parts) const {
        const int64_t wanted = offsets[count] * part / parts;
        for (int64_t row = 0, tokens = 0; row < widest(); ++row) {
            if (tokens >= wanted) return row;
            int64_t length = 0, after = count;  // the first time at which `row` has ended
            while (length < after) {
                const int64_t middle = (length + after) / 2;
                if (offsets[middle + 1] - offsets[middle] > row) length = middle + 1;
                else after = middle;
            }
            tokens += length;
        }
        return widest();
    }
    // The same where `offsets` says where each sequence begins.
    int64_t share_of_sequences(int part, int parts) const {
        const int64_t wanted = offsets[count] * part / parts;
        return std::lower_bound(offsets, offsets + count, wanted) - offsets;
    }
};

// Some sequences of one direction of one layer, whose products are of numbers T with sums in float.
// What a kind does not need is null.
template <class T>
struct Job {
    Steps steps;
    int64_t from, to;  // the sequences: rows from .. to of each time
    int64_t H, I;
    bool update_new;  // the GRU's update gate multiplies the candidate instead of the old state
    bool pack;  // the weights are still to be packed

    const T* x;          // (N, I)    null: `gates` holds u already
    const float* W;      // (G·H, I)  input weights
    const float* b;      // (G·H)
    const float* U;      // (G·H, H)  recurrent weights
    const float* extra;  // peephole: P_i, P_f, P_o (3·H), full (3·H, H); gru_after: b_hn (H)
    const float* h0;     // (B, H)
    const float* c0;     // (B, H)
    float* gates;        // (N, G·H)  first u = W x + b, then the gates
    float* h;            // (N, H)
    float* c;            // (N, H)    LSTMs: cell states
    T* inner;            // (N, H)    gru_after: U_n h + b_hn; gru_before: r ⊙ h
    float* h_end;        // (B, H)    the final states
    float* c_end;        // (B, H)
    const T* h0_read;    // (B, H)    h0 and h as the products read them: in float the same arrays
    T* h_read;           // (N, H)
    const T* c0_read;    // (B, H)    peephole_full: the same of c0 and c
    T* c_read;           // (N, H)
    const float* mask;   // (N, H)    decoders with attention: what multiplies the states below this layer

    float* dh;           // (N, H)    gradient of the loss by h, through the outputs
    float* dx;           // (N, I)    null: not wanted
    T* du;               // (N, G·H)
    T* dinner;           // (N, H)    gru_after: gradient by `inner`
    float* dextra;       // like extra, once for each thread; starts at 0
    float* dh0;          // (B, H)    in: gradient by the final states; out: by the initial ones
    float* dc0;          // (B, H)
    float* db;           // (G·H)     once for each thread; starts at 0
};

}  // namespace unspool
