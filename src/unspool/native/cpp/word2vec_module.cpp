// The Python interface of the word2vec kernel: arrays by name in, changed vectors out. The caller,
// native/word2vec.py, owns the arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "fields.h"
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

// O places where pieces begin or end, R raw ids, V words, vectors of E.
const Fields<Word2vec>& word2vec_fields() {
    using J = Word2vec;
    static const Fields<J> fields{
        field<&J::offsets>("offsets", "O"), field<&J::words>("words", "R"), field<&J::keep>("keep", "V"),
        field<&J::share>("share", "V"),     field<&J::alias>("alias", "V"), field<&J::in>("inputs", "V,E"),
        field<&J::out>("outputs", "V,E"),
    };
    return fields;
}

// The raw ids of a corpus have 1, 2 or 4 bytes.
Array read_ids(nb::handle given) {
    Array ids;
    if (!describe(given.ptr(), ids) || ids.number.code != Number::UINT || ids.number.bits > 32 || !ids.contiguous ||
        ids.dimensions != 1)
        throw nb::type_error(
            ("the kernel word2vec takes ids as contiguous uint8, uint16 or uint32 (T), not " + describe_object(given))
                .c_str());
    return ids;
}

void train(const std::string& set, nb::handle ids, nb::handle arrays, int64_t first, int64_t last, int64_t window,
           int64_t negatives, bool cbow, uint64_t seed, double rate, double slope, double floor, int threads) {
    Word2vec job{};
    Sizes sizes;
    word2vec_fields().read("word2vec", arrays, ~0u, 0, sizes, job);
    const Array corpus = read_ids(ids);
    job.ids = corpus.data;
    job.width = corpus.number.bits / 8;
    job.V = sizes.of('V');
    job.E = sizes.of('E');
    check_width("word2vec", "E", job.E, 16);
    bool good = 0 <= first && first <= last && last < sizes.of('O') && job.offsets[first] >= 0 &&
                job.offsets[last] <= corpus.shape[0];
    for (int64_t piece = first; good && piece < last; ++piece) good = job.offsets[piece] <= job.offsets[piece + 1];
    if (!good) throw nb::value_error("the kernel word2vec takes offsets that rise within the ids, and pieces of these");
    job.window = window;
    job.negatives = negatives;
    job.cbow = cbow;
    job.seed = seed;
    job.rate = rate;
    job.slope = slope;
    job.floor = floor;
    const TrainWord2vec kernel = find(set);
    nb::gil_scoped_release release;
    std::atomic<int64_t> next{0};
    if (!on_threads(threads, [&](int) { kernel(job, first, last, next); })) kernel(job, first, last, next);
}

}  // namespace unspool

NB_MODULE(_word2vec, module) {
    module.def("train", &unspool::train, nb::arg("instructions"), nb::arg("ids"), nb::arg("arrays"),
               nb::arg("first"), nb::arg("last"), nb::arg("window"), nb::arg("negatives"), nb::arg("cbow"),
               nb::arg("seed"), nb::arg("rate"), nb::arg("slope"), nb::arg("floor"), nb::arg("threads"));
}
