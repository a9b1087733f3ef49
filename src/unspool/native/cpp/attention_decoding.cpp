// The Python interface of recurrent decoders with attention: addresses of arrays in, nothing out but what is
// written to them. The caller, native/attention_decoder.py, owns the arrays and has checked their types.
#include "attention_decoding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "addresses.h"
#include "attention_decoder.h"
#include "product.h"
#include "threads.h"

namespace nb = nanobind;

namespace unspool {

AttentionKernels<float> single = baseline::attention_kernels<float>();
AttentionKernels<bf16> half = baseline::attention_kernels<bf16>();

void let_attention_decoders_use(const std::string& set) {
    single = baseline::attention_kernels<float>();
    half = baseline::attention_kernels<bf16>();
#if defined(UNSPOOL_X86)
    if (set == "avx2") {
        single = avx2::attention_kernels<float>();
        half = avx2::attention_kernels<bf16>();
    } else if (set != "baseline") {
        single = avx512::attention_kernels<float>();
        half = avx512::attention_kernels<bf16>();
    }
#if defined(UNSPOOL_BF16)
    if (set == "avx512_bf16") half = avx512_bf16::attention_kernels<bf16>();
    if (set == "amx") half = amx::attention_kernels<bf16>();
#endif
#endif
}

template <class T>
const AttentionKernels<T>& kernels_of() {
    if constexpr (std::is_same_v<T, bf16>) return half;
    else return single;
}

// What is true of a decoder whatever it reads.
struct DecoderShape {
    std::string kind;
    bool update_new, before, tanh, feeding, join;
    int64_t H, E, D, A;
};

template <class T>
AttentionJob<T> make_attention_job(const DecoderShape& shape, int64_t S, const Steps& steps,
                                   const std::vector<Addresses>& layers, const Addresses& masks,
                                   const Addresses& arrays) {
    AttentionJob<T> job{};
    job.kind = KINDS.at(shape.kind);
    job.before = shape.before;
    job.tanh = shape.tanh;
    job.feeding = shape.feeding;
    job.join = shape.join;
    job.steps = steps;
    job.from = 0;
    job.to = steps.count ? steps.widest() : 0;
    job.H = shape.H;
    job.E = shape.E;
    job.D = shape.D;
    job.A = shape.A;
    job.S = S;
    for (size_t k = 0; k < layers.size(); ++k) {
        const int64_t read = shape.before ? shape.D : shape.feeding ? shape.H : 0;
        job.layers.push_back(
            make_job<T>(layers[k], steps, shape.H, k ? shape.H : shape.E + read, shape.update_new));
        job.masks.push_back(reinterpret_cast<const float*>(masks[k]));
        job.dh.push_back(const_cast<float*>(job.layers[k].dh));
    }
    fill(arrays, job.keys, job.values, job.positions, job.counts, job.sources, job.W_q, job.b_q, job.v,
         job.W_c, job.mask, job.fed, job.q, job.alignment, job.context, job.joined, job.output,
         job.doutput, job.dstates, job.dcontext, job.dq, job.dscores, job.djoin, job.dkeys, job.dvalues,
         job.dv, job.dfed);
    return job;
}

// With fewer multiplications in all, one thread is done before another has woken up.
constexpr int64_t WORTH_SHARING = 1'000'000;
// With fewer multiplications a step, waiting for another thread costs more than it brings.
constexpr int64_t WORTH_WAITING = 1'000'000;
// A thread with fewer sequences than this reads weights more than it multiplies.
constexpr int64_t FEW = 8;

// Whole target sequences. The threads share the sequences and do not wait for one another; where these are
// too few, they share the units and wait several times a step. `extra` is the size of `dextra`.
template <class T>
void run_attention(const DecoderShape& shape, bool backward, int64_t S, uintptr_t offsets, int64_t count,
                   const std::vector<Addresses>& layers, const Addresses& masks, const Addresses& arrays,
                   int64_t extra, int threads) {
    const auto& kernels = kernels_of<T>();
    const Steps steps{count, reinterpret_cast<const int64_t*>(offsets), false};
    const AttentionJob<T> whole = make_attention_job<T>(shape, S, steps, layers, masks, arrays);
    const int gates = kernels.gates(whole.kind);
    const int64_t weights = packed_size(whole, gates), tokens = steps.offsets[count];

    nb::gil_scoped_release release;
    const auto packed = baseline::buffer<T>(weights);
    int groups = 1, members = 1;
    if (tokens * weights >= WORTH_SHARING) {
        if (steps.widest() >= FEW * threads) groups = threads;
        else if (tokens / count * weights >= WORTH_WAITING) members = threads;
    }
    std::vector<AttentionJob<T>> jobs;
    for (int g = 0; g < groups; ++g) {
        AttentionJob<T>& job = jobs.emplace_back(whole);
        job.from = g ? jobs[g - 1].to : 0;
        job.to = steps.share_of_rows(g + 1, groups);
        if (job.dv) job.dv += g * shape.A;
        for (Job<T>& layer : job.layers) {
            if (layer.dextra) layer.dextra += g * extra;
            if (layer.db) layer.db += g * gates * shape.H;
        }
    }
    const auto kernel = backward ? kernels.backward : kernels.forward;
    Team all(groups * members);
    const auto work = [&](int thread) {
        if (members > 1) {
            kernels.pack(whole, backward, packed.get(), all, thread, 0, 1);
            all.wait();
            kernel(whole, packed.get(), all, thread);
        } else {
            Team alone(1);
            kernels.pack(whole, backward, packed.get(), alone, 0, thread, groups);
            all.wait();
            kernel(jobs[thread], packed.get(), alone, 0);
        }
    };
    if (on_threads(groups * members, work)) return;
    Team alone(1);
    kernels.pack(whole, backward, packed.get(), alone, 0, 0, 1);
    kernel(whole, packed.get(), alone, 0);
}

// Single steps of a search. The weights are packed once, for threads that share the units.
class RecurrentSearch {
  public:
    // Of each layer W, b, U, extra; then W_q, b_q, v, W_c, W_o, b_o. Biases and vectors are not copied.
    RecurrentSearch(const DecoderShape& shape, int64_t vocab, const std::vector<Addresses>& layers,
                    const Addresses& weights, int threads)
        : members_(threads) {
        std::vector<Addresses> shifted;
        for (const Addresses& layer : layers) {
            shifted.push_back({0});
            shifted.back().insert(shifted.back().end(), layer.begin(), layer.end());
        }
        const Steps none{0, nullptr, false};
        base_ = make_attention_job<float>(shape, 0, none, shifted, Addresses(layers.size()), {});
        base_.vocab = vocab;
        fill(weights, base_.W_q, base_.b_q, base_.v, base_.W_c, base_.W_o, base_.b_o);
        packed_ = baseline::buffer<float>(packed_size(base_, gates()));
        pack();
    }

    // y (rows, tokens): the vectors of the latest tokens, padded here. A state (P, rows, H) has h, and of
    // LSTMs c, of each layer; with input feeding h~ comes last.
    void step(int64_t rows, uintptr_t y, int64_t tokens, int64_t S, const Addresses& source,
              uintptr_t before, uintptr_t after, uintptr_t logits, uintptr_t alignment) {
        nb::gil_scoped_release release;
        AttentionJob<float> job = base_;
        const int64_t offsets[] = {0, rows}, H = job.H, state = rows * H;
        job.steps = Steps{1, offsets, false};
        job.to = rows;
        job.S = S;
        fill(source, job.keys, job.values, job.positions, job.counts, job.sources);
        job.logits = reinterpret_cast<float*>(logits);
        job.alignment = reinterpret_cast<float*>(alignment);
        const auto* old = reinterpret_cast<const float*>(before);
        auto* made = reinterpret_cast<float*>(after);

        const int64_t I = job.layers[0].I;
        const auto scratch = baseline::buffer<float>(
            rows * (I + job.A + job.D + job.D + H + H + H + gates() * H));
        float* next = scratch.get();
        const auto take = [&](int64_t size) { return std::exchange(next, next + rows * size); };
        float* const x = take(I);
        for (int64_t r = 0; r < rows; ++r) {
            std::copy_n(reinterpret_cast<const float*>(y) + r * tokens, tokens, x + r * I);
            std::fill_n(x + r * I + tokens, job.E - tokens, 0.0f);
        }
        float* const query = take(job.A);
        job.context = take(job.D);
        job.joined = take(job.D + H);
        float* const inner = take(H);
        float* const output = take(H);
        float* const gates_of_layer = take(gates() * H);
        for (size_t k = 0; k < job.layers.size(); ++k) {
            Job<float>& layer = job.layers[k];
            const bool lstm = job.kind == Kind::lstm || job.kind == Kind::peephole || job.kind == Kind::coupled;
            layer.x = k ? job.layers[k - 1].h : x;
            layer.h0 = layer.h0_read = old;
            layer.h = layer.h_read = layer.h_end = made;
            layer.gates = gates_of_layer;
            layer.inner = inner;
            old += state;
            made += state;
            if (!lstm) continue;
            layer.c0 = old;
            layer.c = layer.c_end = made;
            old += state;
            made += state;
        }
        job.fed = old;
        job.output = job.feeding ? made : output;
        job.q = job.W_q ? query : job.layers.back().h;
        if (done_by_team([&](Team& team, int rank) { kernels_.forward(job, packed_.get(), team, rank); }))
            return;
        pack();
        done_by_team([&](Team& team, int rank) { kernels_.forward(job, packed_.get(), team, rank); });
    }

  private:
    int gates() const { return kernels_.gates(base_.kind); }

    void pack() {
        const auto work = [&](Team& team, int rank) {
            kernels_.pack(base_, false, packed_.get(), team, rank, 0, 1);
        };
        if (!done_by_team(work)) done_by_team(work);
    }

    // False where OpenMP grants too few threads: from then on, one does all. How weights are packed
    // depends on how many share them.
    template <class Work>
    bool done_by_team(const Work& work) {
        Team team(members_);
        if (on_threads(members_, [&](int rank) { work(team, rank); })) return true;
        members_ = 1;
        return false;
    }

    AttentionKernels<float> kernels_ = single;  // those that the weights are packed for
    AttentionJob<float> base_;
    baseline::Buffer<float> packed_;
    int members_;
};

void define_attention_decoder(nb::module_& module) {
    nb::class_<DecoderShape>(module, "DecoderShape")
        .def(
            "__init__",
            [](DecoderShape* shape, const std::string& kind, bool update_new, bool before, bool tanh,
               bool feeding, bool join, int64_t H, int64_t E, int64_t D, int64_t A) {
                new (shape) DecoderShape{kind, update_new, before, tanh, feeding, join, H, E, D, A};
            },
            nb::arg("kind"), nb::arg("update_new"), nb::arg("before"), nb::arg("tanh"), nb::arg("feeding"),
            nb::arg("join"), nb::arg("hidden"), nb::arg("tokens"), nb::arg("memory"), nb::arg("units"));
    nb::class_<RecurrentSearch>(module, "RecurrentSearch")
        .def(nb::init<const DecoderShape&, int64_t, const std::vector<Addresses>&, const Addresses&, int>(),
             nb::arg("shape"), nb::arg("vocab"), nb::arg("layers"), nb::arg("weights"), nb::arg("threads"))
        .def("step", &RecurrentSearch::step, nb::arg("rows"), nb::arg("y"), nb::arg("tokens"),
             nb::arg("positions"), nb::arg("source"), nb::arg("before"), nb::arg("after"),
             nb::arg("logits"), nb::arg("alignment"));
    const auto define = [&](const char* name, auto function) {
        module.def(name, function, nb::arg("shape"), nb::arg("backward"), nb::arg("positions"),
                   nb::arg("offsets"), nb::arg("steps"), nb::arg("layers"), nb::arg("masks"),
                   nb::arg("arrays"), nb::arg("extra"), nb::arg("threads"));
    };
    define("run_attention", &run_attention<float>);
    define("run_attention_bf16", &run_attention<bf16>);
}

}  // namespace unspool
