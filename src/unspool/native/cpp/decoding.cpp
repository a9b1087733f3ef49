// The Python face of a Transformer's decoder: addresses of arrays in, nothing out but what is written to
// them. The caller, native/decoder.py, owns the arrays and has checked their types and shapes.
#include "decoding.h"

#if defined(UNSPOOL_AVX_VNNI)
#include <cpuid.h>
#endif
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>

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

using Addresses = std::vector<uintptr_t>;

template <class T>
std::vector<T*> pointers(const Addresses& addresses) {
    std::vector<T*> found;
    for (uintptr_t address : addresses) found.push_back(reinterpret_cast<T*>(address));
    return found;
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
                  bool pre_norm, const std::string& activation, float epsilon, bool bytes,
                  const Addresses& weights)
        : shape_{layers, width,    heads, hidden, vocab, cross, pre_norm, ACTIVATIONS.at(activation),
                 epsilon},
          model_(maker()(shape_, pointers<const float>(weights), bytes)) {}

    void step(int64_t rows, uintptr_t x, const Addresses& past, const std::vector<int64_t>& past_rows,
              uintptr_t ancestors, int64_t places, const Addresses& memory, uintptr_t keep,
              uintptr_t sources, uintptr_t logits, uintptr_t looked, int64_t aligning, int threads) const {
        const DecoderStep step{rows,
                               static_cast<int64_t>(past.size()),
                               reinterpret_cast<float*>(x),
                               pointers<float>(past),
                               past_rows,
                               reinterpret_cast<const int32_t*>(ancestors),
                               places,
                               pointers<const float>(memory),
                               reinterpret_cast<const uint8_t*>(keep),
                               reinterpret_cast<const int32_t*>(sources),
                               reinterpret_cast<float*>(logits),
                               reinterpret_cast<float*>(looked),
                               aligning};
        nb::gil_scoped_release release;
        Scratch scratch(shape_, rows);
        Team team(threads), alone(1);
        if (!on_threads(threads, [&](int rank) { model_->step(step, scratch, team, rank); }))
            model_->step(step, scratch, alone, 0);
    }

  private:
    Shape shape_;
    std::unique_ptr<Transformer> model_;
};

void define_decoder(nb::module_& module) {
    nb::class_<PackedDecoder>(module, "PackedDecoder")
        .def(nb::init<int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool, const std::string&, float,
                      bool, const Addresses&>(),
             nb::arg("layers"), nb::arg("width"), nb::arg("heads"), nb::arg("hidden"), nb::arg("vocab"),
             nb::arg("cross"), nb::arg("pre_norm"), nb::arg("activation"), nb::arg("epsilon"),
             nb::arg("bytes"), nb::arg("weights"))
        .def("step", &PackedDecoder::step, nb::arg("rows"), nb::arg("x"), nb::arg("past"),
             nb::arg("past_rows"), nb::arg("ancestors"), nb::arg("places"), nb::arg("memory"),
             nb::arg("keep"), nb::arg("sources"), nb::arg("logits"), nb::arg("looked"),
             nb::arg("aligning"), nb::arg("threads"));
}

}  // namespace unspool
