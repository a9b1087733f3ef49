// The Python face of the word2vec kernel: addresses of arrays in, changed vectors out. The caller,
// native/word2vec.py, owns the arrays and has checked their types and shapes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "threads.h"
#include "word2vec.h"

namespace nb = nanobind;

namespace unspool {

// The kernel for what the processor has, or for the smaller set that was asked for.
TrainWord2vec find(const std::string& set) {
#if defined(UNSPOOL_X86)
    __builtin_cpu_init();
    const bool small = set == "baseline" || set == "avx2";
    if (!small && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return avx512::train_word2vec;
    if (set != "baseline" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return avx2::train_word2vec;
#endif
    return baseline::train_word2vec;
}

void train(const std::string& set, uintptr_t ids, int64_t width, uintptr_t offsets, int64_t from,
           int64_t to, uintptr_t words, int64_t vocab, uintptr_t keep, uintptr_t share,
           uintptr_t alias, int64_t size, uintptr_t in, uintptr_t out, int64_t window,
           int64_t negatives, bool cbow, uint64_t seed, double rate, double slope, double floor,
           int threads) {
    const Word2vec job{reinterpret_cast<const void*>(ids),
                       width,
                       reinterpret_cast<const int64_t*>(offsets),
                       reinterpret_cast<const int32_t*>(words),
                       vocab,
                       reinterpret_cast<const float*>(keep),
                       reinterpret_cast<const float*>(share),
                       reinterpret_cast<const int32_t*>(alias),
                       size,
                       reinterpret_cast<float*>(in),
                       reinterpret_cast<float*>(out),
                       window,
                       negatives,
                       cbow,
                       seed,
                       rate,
                       slope,
                       floor};
    const TrainWord2vec kernel = find(set);
    nb::gil_scoped_release release;
    std::atomic<int64_t> next{0};
    if (!on_threads(threads, [&](int) { kernel(job, from, to, next); })) kernel(job, from, to, next);
}

}  // namespace unspool

NB_MODULE(_word2vec, module) {
    module.def("train", &unspool::train, nb::arg("instructions"), nb::arg("ids"), nb::arg("width"),
               nb::arg("offsets"), nb::arg("first"), nb::arg("last"), nb::arg("words"), nb::arg("vocab"),
               nb::arg("keep"), nb::arg("share"), nb::arg("alias"), nb::arg("size"), nb::arg("inputs"),
               nb::arg("outputs"), nb::arg("window"), nb::arg("negatives"), nb::arg("cbow"),
               nb::arg("seed"), nb::arg("rate"), nb::arg("slope"), nb::arg("floor"), nb::arg("threads"));
}
