// A recurrent decoder that reads a memory by attention: what its kernels are given.
//
//     before    c_t = attend(s_{t-1}),      s_t = cell([y_t; c_t], s_{t-1})              Bahdanau
//     after     s_t = cell([y_t; h~_{t-1}], s_{t-1}),      c_t = attend(s_t)             Luong
//               h~_t = m_t ⊙ tanh(W_c [c_t; s_t])          where `join`; h~ is read where `feeding`
//
//     e_j = v' tanh(W_q s + b_q + k_j) or s' k_j,   α = softmax(e) over the real j,   c = Σ_j α_j v_j
//     e_j = v' tanh(W_q s + b_q + k_j + w_k κ_j)         with w_k, where κ is the sum of α over the steps before
//
// Targets are packed by time as in job.h. Sizes are multiples of 16, of bf16 products multiples of 32.
#pragma once

#include <vector>

#include "kernels.h"

namespace unspool {

// Of N packed target tokens of B sequences, S memory positions, L layers. `rows` below are those of
// the packed sequences; sources says which memory each of them reads. What is not needed is null.
template <class T>
struct AttentionJob {
    Kind kind;
    bool before;   // attention reads the state before the step
    bool tanh;     // the score; otherwise the dot product
    bool feeding;  // the first layer reads h~_{t-1}
    bool join;     // h~ is made here
    Steps steps;
    int64_t from, to;             // the sequences
    int64_t H, E, D, A, S;        // units, token vector, memory vector, units of the score, positions
    std::vector<Job<T>> layers;   // of the first, x (N, E + D or H) holds y; the rest, and dh below
                                  // the top, is written here

    const float* keys;         // (B, S, A)
    const float* values;       // (B, S, D)
    const int32_t* positions;  // (B, S): the real positions of each memory first
    const int32_t* counts;     // (B): how many these are
    const int32_t* sources;    // (B)
    const float* W_q;          // (A, H)
    const float* b_q;          // (A)
    const float* v;            // (A)
    const float* w_k;          // (A): of the coverage κ; null: it is not read
    const float* W_c;          // (H, D + H)
    const float* mask;         // (N, H): m, what dropout multiplies with
    const float* fed;          // (B, H): h~ before the first step; null: zeros
    float* q;                  // (N, A): what is compared with the keys; of dot products the state
    float* alignment;          // (N, S)
    float* coverage;           // (N, S): κ, of the first step given
    float* context;            // (N, D)
    T* joined;                 // (N, D + H)
    float* output;             // (N, H): h~
    int64_t vocab;             // of a search, else 0
    const float* W_o;          // (vocab, H)
    const float* b_o;          // (vocab)
    float* logits;             // (N, vocab)

    const float* doutput;   // (N, H): gradient of the loss by h~
    const float* dstates;   // (N, H): by the states of the top layer
    const float* dalignment;  // (N, S): by α; null: zeros
    float* dcoverage;       // (B, S): starts at 0; out: by κ
    float* dw_k;            // (A): once for each thread; starts at 0
    float* dcontext;        // (N, D): in: by the context, where there is no `join`; out: all of it
    T* dq;                  // (N, A)
    float* dscores;         // (N, S)
    T* djoin;               // (N, H): by W_c [c; s]
    float* dkeys;           // (B, S, A): starts at 0
    float* dvalues;         // (B, S, D): starts at 0
    float* dv;              // (A): once for each thread; starts at 0
    float* dfed;            // (B, H): starts at 0; out: by `fed`
};

template <class T>
inline int64_t layer_size(const Job<T>& layer, int gates) {
    return gates * layer.H * (layer.H + layer.I);
}

// What all weights take packed.
template <class T>
inline int64_t packed_size(const AttentionJob<T>& job, int gates) {
    int64_t size = job.A * job.H + job.H * (job.D + job.H) + job.vocab * job.H;
    for (const Job<T>& layer : job.layers) size += layer_size(layer, gates);
    return size;
}

// Called by each thread of a team. Packing must come first: `part` of `parts` is packed, or where the
// team has several members each packs its share of all.
template <class T>
struct AttentionKernels {
    void (*pack)(const AttentionJob<T>&, bool backward, T* packed, Team&, int rank, int part, int parts);
    void (*forward)(const AttentionJob<T>&, const T* packed, Team&, int rank);
    void (*backward)(const AttentionJob<T>&, const T* packed, Team&, int rank);
    int (*gates)(Kind);
};

// Defined by attention_decoder.cpp, once for each instruction set and each kind of number.
namespace baseline { template <class T> AttentionKernels<T> attention_kernels(); }
namespace avx2 { template <class T> AttentionKernels<T> attention_kernels(); }
namespace avx512 { template <class T> AttentionKernels<T> attention_kernels(); }
namespace avx512_bf16 { template <class T> AttentionKernels<T> attention_kernels(); }
namespace amx { template <class T> AttentionKernels<T> attention_kernels(); }

}  // namespace unspool
