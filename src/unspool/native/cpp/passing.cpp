// The Python face of the passes over large arrays and over chains of tags: addresses in, nothing out
// but what is written to them. The callers, native/passes.py and native/chain.py, own the arrays and
// have checked their types and shapes.
#include "passing.h"

#include <cmath>
#include <vector>

#include "chain.h"
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

// Calls work(part, thread) for parts of `count` things that have `elements` in all.
template <class Work>
void share(int64_t count, int64_t elements, int threads, const Work& work) {
    nb::gil_scoped_release release;
    const int sharing = elements < WORTH_SHARING ? 1 : threads;
    if (!on_threads(sharing, [&](int thread) { work(Share(count, thread, sharing), thread); }))
        work(Share(count, 0, 1), 0);
}

void dropout(uintptr_t x, uintptr_t y, int64_t count, uint64_t key, double rate, int threads) {
    const Mask mask{key, static_cast<uint32_t>(std::llround(rate * 4294967296.0))};
    const auto scale = static_cast<float>(1 / (1 - rate));
    share(count, count, threads, [&](const Share& part, int) {
        passes->dropout(reinterpret_cast<const float*>(x), reinterpret_cast<float*>(y), part.from, part.to,
                        mask, scale);
    });
}

double softmax_gradient(uintptr_t logits, uintptr_t targets, int64_t rows, int64_t classes,
                        float smoothing, float scale, int threads) {
    std::vector<double> totals(threads, 0.0);
    share(rows, rows * classes, threads, [&](const Share& part, int thread) {
        totals[thread] = passes->softmax_gradient(
            reinterpret_cast<float*>(logits), reinterpret_cast<const int64_t*>(targets), part.from,
            part.to, classes, smoothing, scale);
    });
    double total = 0;
    for (const double some : totals) total += some;
    return total;
}

// (B, T, C), and the address of B lengths.
struct Shape {
    int64_t B, T, C;
    Sequences sequences(uintptr_t lengths) const {
        return {T, C, reinterpret_cast<const int64_t*>(lengths)};
    }
    int64_t work() const { return B * T * C * C; }
};

const double* read(uintptr_t address) { return reinterpret_cast<const double*>(address); }
double* write(uintptr_t address) { return reinterpret_cast<double*>(address); }

void chain_forward(int64_t B, int64_t T, int64_t C, uintptr_t lengths, uintptr_t e, uintptr_t P,
                   uintptr_t p, uintptr_t s, int threads) {
    const Shape shape{B, T, C};
    share(B, shape.work(), threads, [&](const Share& part, int) {
        chains->forward(shape.sequences(lengths), read(e), read(P), write(p), write(s), part.from, part.to);
    });
}

void chain_backward(int64_t B, int64_t T, int64_t C, uintptr_t lengths, uintptr_t e, uintptr_t P,
                    uintptr_t s, uintptr_t last, uintptr_t q, int threads) {
    const Shape shape{B, T, C};
    share(B, shape.work(), threads, [&](const Share& part, int) {
        chains->backward(shape.sequences(lengths), read(e), read(P), read(s), read(last), write(q),
                         part.from, part.to);
    });
}

void chain_viterbi(int64_t B, int64_t T, int64_t C, uintptr_t lengths, uintptr_t x, uintptr_t A,
                   uintptr_t a, uintptr_t b, uintptr_t tags, int threads) {
    const Shape shape{B, T, C};
    share(B, shape.work(), threads, [&](const Share& part, int) {
        chains->viterbi(shape.sequences(lengths), read(x), read(A), read(a), read(b),
                        reinterpret_cast<int64_t*>(tags), part.from, part.to);
    });
}

void define_passes(nb::module_& module) {
    module.def("dropout", &dropout, nb::arg("x"), nb::arg("y"), nb::arg("count"), nb::arg("key"),
               nb::arg("rate"), nb::arg("threads"));
    module.def("softmax_gradient", &softmax_gradient, nb::arg("logits"), nb::arg("targets"),
               nb::arg("rows"), nb::arg("classes"), nb::arg("smoothing"), nb::arg("scale"),
               nb::arg("threads"));
    module.def("chain_forward", &chain_forward);
    module.def("chain_backward", &chain_backward);
    module.def("chain_viterbi", &chain_viterbi);
}

}  // namespace unspool
