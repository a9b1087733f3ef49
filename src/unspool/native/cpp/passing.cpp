// The Python interface of the passes over large arrays and over chains of tags: arrays in, nothing out but what is
// written to them. The callers, native/arrays.py and native/chain.py, own the arrays.
#include "passing.h"

#include <cmath>
#include <vector>

#include "chain.h"
#include "fields.h"
#include "passes.h"
#include "team.h"
#include "threads.h"

namespace nb = nanobind;

namespace unspool {

const Passes* passes = &baseline::passes;
const Chains* chains = &baseline::chains;

void let_passes_use(const std::string& set) {
#if defined(UNSPOOL_X86)
    passes = set == "baseline" ? &baseline::passes : set == "avx2" ? &avx2::passes : &avx512::passes;
    chains = set == "baseline" ? &baseline::chains : set == "avx2" ? &avx2::chains : &avx512::chains;
#endif
}

// With fewer elements, one thread is done before another has woken up.
constexpr int64_t WORTH_SHARING = 50'000;

int64_t size_of(nb::handle given) {
    Array array;
    describe(given.ptr(), array);
    return array.size();
}

// Calls work(part, thread) for parts of `count` things that have `elements` in all.
template <class Work>
void share(int64_t count, int64_t elements, int threads, const Work& work) {
    nb::gil_scoped_release release;
    const int sharing = elements < WORTH_SHARING ? 1 : threads;
    if (!on_threads(sharing, [&](int thread) { work(Share(count, thread, sharing), thread); }))
        work(Share(count, 0, 1), 0);
}

void dropout(nb::handle x, nb::handle y, uint64_t key, double rate, int threads) {
    Sizes sizes;
    const auto* from = static_cast<const float*>(read_array("dropout", "x", x, nullptr, NUMBER_OF<float>, sizes));
    auto* to = static_cast<float*>(read_array("dropout", "y", y, nullptr, NUMBER_OF<float>, sizes));
    const int64_t count = size_of(x);
    if (size_of(y) != count) throw nb::type_error("the kernel dropout takes y with as many elements as x");
    const Mask mask{key, static_cast<uint32_t>(std::llround(rate * 4294967296.0))};
    const auto scale = static_cast<float>(1 / (1 - rate));
    share(count, count, threads, [&](const Share& part, int) {
        passes->dropout(from, to, part.from, part.to, mask, scale);
    });
}

double softmax_gradient(nb::handle logits, nb::handle targets, float smoothing, float scale, int threads) {
    const std::string name = "softmax_gradient";
    Sizes sizes;
    auto* z = static_cast<float*>(read_array(name, "logits", logits, "N,K", NUMBER_OF<float>, sizes));
    const auto* t = static_cast<const int64_t*>(read_array(name, "targets", targets, "N", NUMBER_OF<int64_t>, sizes));
    const int64_t rows = sizes.of('N'), classes = sizes.of('K');
    for (int64_t n = 0; n < rows; ++n)
        if (t[n] < 0 || t[n] >= classes)
            throw nb::index_error(("target " + std::to_string(t[n]) + " is not one of the " + std::to_string(classes) +
                                   " classes").c_str());
    std::vector<double> totals(threads, 0.0);
    share(rows, rows * classes, threads, [&](const Share& part, int thread) {
        totals[thread] = passes->softmax_gradient(z, t, part.from, part.to, classes, smoothing, scale);
    });
    double total = 0;
    for (const double some : totals) total += some;
    return total;
}

// R rows of K scores, of which V are of tokens; M sources of S steps; L tokens of the extended vocabulary.
struct MixtureArrays {
    const float *scores, *alignment;
    const int64_t* tokens;
    const int32_t* sources;
    float* log_p;
};

void log_mixture(nb::handle arrays, int64_t vocab, int threads) {
    using J = MixtureArrays;
    static const Fields<J> fields{
        field<&J::scores>("scores", "R,K"),       field<&J::alignment>("alignment", "R,S"),
        field<&J::tokens>("tokens", "M,S"),       field<&J::sources>("sources", "R"),
        field<&J::log_p>("log_p", "R,L"),
    };
    Sizes sizes;
    J given{};
    fields.read("log_mixture", arrays, ~0u, 0, sizes, given);
    const int64_t R = sizes.of('R'), M = sizes.of('M'), L = sizes.of('L'), S = sizes.of('S'), K = sizes.of('K');
    if (vocab < 1 || vocab >= K || vocab > L)
        throw nb::value_error(("the kernel log_mixture has no " + std::to_string(vocab) + " tokens and a gate in " +
                               std::to_string(K) + " scores, for " + std::to_string(L)).c_str());
    for (int64_t i = 0; i < M * S; ++i)
        if (given.tokens[i] >= L)
            throw nb::index_error(("token " + std::to_string(given.tokens[i]) + " is not one of the " +
                                   std::to_string(L) + " of the extended vocabulary").c_str());
    for (int64_t r = 0; r < R; ++r)
        if (given.sources[r] < 0 || given.sources[r] >= M)
            throw nb::index_error(("sources must be of the " + std::to_string(M) + " there are").c_str());
    const Mixture mixture{K, vocab, L, S, given.alignment, given.tokens, given.sources};
    share(R, R * L, threads, [&](const Share& part, int) {
        passes->log_mixture(given.scores, given.log_p, part.from, part.to, mixture);
    });
}

enum ChainUse : unsigned { ALPHA = 1, BETA = 2, VITERBI = 4 };

// B sequences of T steps of C tags.
struct ChainArrays {
    const int64_t* lengths;
    const double *e, *P, *last, *x, *A, *a, *b;
    double *p, *s, *q;
    int64_t* tags;
};

const Fields<ChainArrays>& chain_fields() {
    using J = ChainArrays;
    static const Fields<J> fields{
        field<&J::e>("e", "B,T,C", ALPHA | BETA),
        field<&J::x>("x", "B,T,C", VITERBI),
        field<&J::lengths>("lengths", "B"),
        field<&J::P>("P", "C,C", ALPHA | BETA),
        field<&J::p>("p", "B,T,C", ALPHA),
        field<&J::s>("s", "B,T", ALPHA | BETA),
        field<&J::last>("last", "B,C", BETA),
        field<&J::q>("q", "B,T,C", BETA),
        field<&J::A>("A", "C,C", VITERBI),
        field<&J::a>("a", "C", VITERBI),
        field<&J::b>("b", "C", VITERBI),
        field<&J::tags>("tags", "B,T", VITERBI),
    };
    return fields;
}

template <ChainUse use>
void chain(nb::handle arrays, int threads) {
    const std::string name = use == ALPHA ? "chain_forward" : use == BETA ? "chain_backward" : "chain_viterbi";
    Sizes sizes;
    ChainArrays given{};
    chain_fields().read(name, arrays, use, 0, sizes, given);
    const int64_t B = sizes.of('B'), T = sizes.of('T'), C = sizes.of('C');
    for (int64_t i = 0; i < B; ++i)
        if (given.lengths[i] < 1 || given.lengths[i] > T)
            throw nb::value_error(("lengths must be between 1 and the " + std::to_string(T) + " steps there are").c_str());
    const Sequences sequences{T, C, given.lengths};
    share(B, B * T * C * C, threads, [&](const Share& part, int) {
        if constexpr (use == ALPHA)
            chains->forward(sequences, given.e, given.P, given.p, given.s, part.from, part.to);
        else if constexpr (use == BETA)
            chains->backward(sequences, given.e, given.P, given.s, given.last, given.q, part.from, part.to);
        else
            chains->viterbi(sequences, given.x, given.A, given.a, given.b, given.tags, part.from, part.to);
    });
}

void define_passes(nb::module_& module) {
    module.def("dropout", &dropout, nb::arg("x"), nb::arg("y"), nb::arg("key"), nb::arg("rate"),
               nb::arg("threads"));
    module.def("softmax_gradient", &softmax_gradient, nb::arg("logits"), nb::arg("targets"),
               nb::arg("smoothing"), nb::arg("scale"), nb::arg("threads"));
    module.def("log_mixture", &log_mixture, nb::arg("arrays"), nb::arg("vocab"), nb::arg("threads"));
    module.def("chain_forward", &chain<ALPHA>, nb::arg("arrays"), nb::arg("threads"));
    module.def("chain_backward", &chain<BETA>, nb::arg("arrays"), nb::arg("threads"));
    module.def("chain_viterbi", &chain<VITERBI>, nb::arg("arrays"), nb::arg("threads"));
}

}  // namespace unspool
