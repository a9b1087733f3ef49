// One step of a Transformer's decoder for a few sequences at once: the face, and what it is given.
#pragma once

#include <memory>
#include <vector>

#include "team.h"

namespace unspool {

enum class Activation { relu, gelu, gelu_tanh, swiglu };

// Widths are multiples of 16.
struct Shape {
    int64_t layers, width, heads, hidden, vocab;
    bool cross;     // reads a memory
    bool pre_norm;  // otherwise post
    Activation activation;
    float epsilon;
};

// Of R sequences. What was read of earlier steps is never moved: `past` has for each step an array
// (layers, rows of that step, 2·E) of keys and values, and `ancestors` says in which of its rows a
// sequence finds its own. The last step is the present one, whose array is filled here.
struct DecoderStep {
    int64_t rows, steps;
    float* x;                        // (R, E) in: the tokens with their positions; out: undefined
    std::vector<float*> past;        // (steps)
    std::vector<int64_t> past_rows;  // (steps)
    const int32_t* ancestors;        // (R, steps)

    int64_t places;                    // S
    std::vector<const float*> memory;  // (layers): keys and values (B, S, 2·E)
    const bool* keep;                  // (B, S)
    const int32_t* sources;            // (R): which of the B memories

    float* logits;    // (R, V)
    float* looked;    // (R, S) the mean of the heads' weights in layer `aligning`, or null
    int64_t aligning;
};

// What the threads share while they work on a step.
struct Scratch {
    std::vector<float> q, attended, hidden;
    Scratch(const Shape& shape, int64_t rows)
        : q(rows * shape.width), attended(rows * shape.width), hidden(rows * 2 * shape.hidden) {}
};

// Of a layer; those of a layer normalisation are w and b. F: hidden, twice for swiglu's W_1.
struct LayerWeights {
    const float *norm_w, *norm_b;              // (E)
    const float *W_qkv, *b_qkv;                // (3·E, E), (3·E)
    const float *W_o, *b_o;                    // (E, E), (E): of attention
    const float *cross_norm_w, *cross_norm_b;  // (E)
    const float *cross_W_q, *cross_b_q;        // (E, E), (E)
    const float *cross_W_o, *cross_b_o;        // (E, E), (E)
    const float *feed_norm_w, *feed_norm_b;    // (E)
    const float *W_1, *b_1;                    // (F, E), (F)
    const float *W_2, *b_2;                    // (E, F), (E)
};

struct TransformerWeights {
    std::vector<LayerWeights> layers;
    const float *norm_w, *norm_b;  // (E): of pre_norm
    const float *W, *b;            // (V, E), (V): the output layer
};

class Transformer {
  public:
    virtual ~Transformer() = default;
    virtual void step(const DecoderStep& step, Scratch& scratch, Team& team, int rank) const = 0;
};

// The weights are copied. With int8, products are of integers.
using MakeTransformer = std::unique_ptr<Transformer>(const Shape&, const TransformerWeights&, bool int8);

// Defined by decoder.cpp, once for each instruction set.
namespace baseline { MakeTransformer make; }
namespace avx2 { MakeTransformer make; }
namespace avx_vnni { MakeTransformer make; }
namespace avx512_vnni { MakeTransformer make; }

}  // namespace unspool
