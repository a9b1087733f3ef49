// The Python interface of a Transformer's decoder: arrays by name in, nothing out but what is written to them. The
// caller, native/decoder.py, owns the arrays.
#include "decoding.h"

#if defined(UNSPOOL_AVX_VNNI)
#include <cpuid.h>
#endif
#include <nanobind/stl/string.h>

#include <map>
#include <string>

#include "fields.h"
#include "threads.h"
#include "transformer.h"

namespace nb = nanobind;

namespace unspool {

const std::map<std::string, Activation> ACTIVATIONS = {
    {"relu", Activation::relu},
    {"gelu", Activation::gelu},
    {"gelu_tanh", Activation::gelu_tanh},
    {"swiglu", Activation::swiglu},
};

const std::string NAME = "decoder";
constexpr unsigned CROSS = 1, PRE_NORM = 2;  // traits

// E the width, K the rows of W_1, F the hidden units, V the vocabulary.
const Fields<LayerWeights>& layer_fields() {
    using W = LayerWeights;
    static const Fields<W> fields{
        field<&W::norm_w>("norm_w", "E"),
        field<&W::norm_b>("norm_b", "E"),
        field<&W::W_qkv>("W_qkv", "3E,E"),
        field<&W::b_qkv>("b_qkv", "3E"),
        field<&W::W_o>("W_o", "E,E"),
        field<&W::b_o>("b_o", "E"),
        field<&W::cross_norm_w>("cross_norm_w", "E", ~0u, CROSS),
        field<&W::cross_norm_b>("cross_norm_b", "E", ~0u, CROSS),
        field<&W::cross_W_q>("cross_W_q", "E,E", ~0u, CROSS),
        field<&W::cross_b_q>("cross_b_q", "E", ~0u, CROSS),
        field<&W::cross_W_o>("cross_W_o", "E,E", ~0u, CROSS),
        field<&W::cross_b_o>("cross_b_o", "E", ~0u, CROSS),
        field<&W::feed_norm_w>("feed_norm_w", "E"),
        field<&W::feed_norm_b>("feed_norm_b", "E"),
        field<&W::W_1>("W_1", "K,E"),
        field<&W::b_1>("b_1", "K"),
        field<&W::W_2>("W_2", "E,F"),
        field<&W::b_2>("b_2", "E"),
    };
    return fields;
}

const Fields<TransformerWeights>& output_fields() {
    using W = TransformerWeights;
    static const Fields<W> fields{
        field<&W::norm_w>("norm_w", "E", ~0u, PRE_NORM),
        field<&W::norm_b>("norm_b", "E", ~0u, PRE_NORM),
        field<&W::W>("W", "V,E"),
        field<&W::b>("b", "V"),
    };
    return fields;
}

// R sequences with T steps, the present one too, M memories of S places.
const Fields<DecoderStep>& step_fields() {
    using S = DecoderStep;
    static const Fields<S> fields{
        field<&S::x>("x", "R,E"),
        field<&S::ancestors>("ancestors", "R,T"),
        field<&S::keep>("keep", "M,S", ~0u, CROSS),
        field<&S::sources>("sources", "R", ~0u, CROSS),
        field<&S::logits>("logits", "R,V"),
        field<&S::looked>("looked", "R,S", ~0u, CROSS | OPTIONAL),
    };
    return fields;
}

// Indices that lead out of an array are refused.
void check_indices(const int32_t* indices, int64_t rows, int64_t columns, const char* name, auto limit) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
            if (indices[r * columns + c] < 0 || indices[r * columns + c] >= limit(c))
                throw nb::index_error((std::string(name) + " lead out of what there is").c_str());
}

Activation activation_named(const std::string& name) {
    const auto found = ACTIVATIONS.find(name);
    if (found == ACTIVATIONS.end()) throw nb::value_error(("there is no activation " + name).c_str());
    return found->second;
}

std::string allowed;

void let_decoders_use(const std::string& set) { allowed = set; }

#if defined(UNSPOOL_AVX_VNNI)
// Asked of the processor itself (leaf 7, subleaf 1, EAX, bit 4): not every compiler that makes these
// instructions knows them by a name in __builtin_cpu_supports.
bool has_avx_vnni() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}
#endif

MakeTransformer* maker() {
#if defined(UNSPOOL_X86)
    __builtin_cpu_init();
    const bool vnni = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw");
    if (allowed != "baseline" && allowed != "avx2" && vnni) return avx512_vnni::make;
#if defined(UNSPOOL_AVX_VNNI)
    if (allowed != "baseline" && has_avx_vnni()) return avx_vnni::make;
#endif
    if (allowed != "baseline" && __builtin_cpu_supports("avx2")) return avx2::make;
#endif
    return baseline::make;
}

class PackedDecoder {
  public:
    PackedDecoder(int64_t layers, int64_t width, int64_t heads, int64_t hidden, int64_t vocab, bool cross,
                  bool pre_norm, const std::string& activation, float epsilon, bool int8, nb::list of_layers,
                  nb::handle output)
        : shape_{layers, width, heads, hidden, vocab, cross, pre_norm, activation_named(activation), epsilon} {
        for (const auto& [name, size] : {std::pair{"E", width}, {"F", hidden}, {"V", vocab}})
            check_width(NAME, name, size, 16);
        if (static_cast<int64_t>(of_layers.size()) != layers || heads < 1 || width % heads)
            throw nb::value_error("a decoder needs the weights of each layer, and heads that divide its width");
        const int64_t pieces = shape_.activation == Activation::swiglu ? 2 : 1;
        Sizes sizes{{'E', width}, {'F', hidden}, {'K', pieces * hidden}, {'V', vocab}};
        TransformerWeights weights{};
        for (const nb::handle layer : of_layers)
            layer_fields().read(NAME, layer, ~0u, traits(), sizes, weights.layers.emplace_back());
        output_fields().read(NAME, output, ~0u, traits(), sizes, weights);
        model_ = maker()(shape_, weights, int8);
    }

    // past: of each step (layers, its rows, 2·E), the present one last; memory: of each layer (M, S, 2·E).
    void step(nb::handle arrays, nb::list past, nb::list memory, int64_t aligning, int threads) const {
        DecoderStep step{};
        Sizes sizes{{'L', shape_.layers}, {'E', shape_.width}, {'V', shape_.vocab},
                    {'T', static_cast<int64_t>(past.size())}};
        step_fields().read(NAME, arrays, ~0u, traits(), sizes, step);
        step.rows = sizes.of('R');
        step.steps = sizes.of('T');
        for (const nb::handle block : past) {
            Sizes its = sizes;
            its.of('B') = step.past.size() + 1 == past.size() ? step.rows : Sizes::UNKNOWN;
            step.past.push_back(
                static_cast<float*>(read_array(NAME, "past", block, "L,B,2E", NUMBER_OF<float>, its)));
            step.past_rows.push_back(its.of('B'));
        }
        check_indices(step.ancestors, step.rows, step.steps, "ancestors", [&](int64_t t) { return step.past_rows[t]; });
        if (shape_.cross) {
            if (static_cast<int64_t>(memory.size()) != shape_.layers)
                throw nb::value_error("a decoder needs the memory of each layer");
            for (const nb::handle layer : memory)
                step.memory.push_back(static_cast<const float*>(
                    read_array(NAME, "memory", layer, "M,S,2E", NUMBER_OF<float>, sizes)));
            check_indices(step.sources, step.rows, 1, "sources", [&](int64_t) { return sizes.of('M'); });
            step.places = sizes.of('S');
        }
        step.aligning = aligning;
        nb::gil_scoped_release release;
        Scratch scratch(shape_, step.rows);
        Team team(threads), alone(1);
        if (!on_threads(threads, [&](int rank) { model_->step(step, scratch, team, rank); }))
            model_->step(step, scratch, alone, 0);
    }

  private:
    unsigned traits() const { return (shape_.cross ? CROSS : 0) | (shape_.pre_norm ? PRE_NORM : 0); }

    Shape shape_;
    std::unique_ptr<Transformer> model_;
};

void define_decoder(nb::module_& module) {
    nb::class_<PackedDecoder>(module, "PackedDecoder")
        .def(nb::init<int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool, const std::string&, float, bool,
                      nb::list, nb::handle>(),
             nb::arg("layers"), nb::arg("width"), nb::arg("heads"), nb::arg("hidden"), nb::arg("vocab"),
             nb::arg("cross"), nb::arg("pre_norm"), nb::arg("activation"), nb::arg("epsilon"),
             nb::arg("int8"), nb::arg("of_layers"), nb::arg("output"))
        .def("step", &PackedDecoder::step, nb::arg("arrays"), nb::arg("past"), nb::arg("memory"),
             nb::arg("aligning"), nb::arg("threads"));
}

}  // namespace unspool
