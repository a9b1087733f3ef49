// The Python interface of recurrent decoders with attention: arrays by name in, nothing out but what is written to
// them. The callers, native/attention_operator.py and native/recurrent_search.py, own the arrays.
#include "attention_decoding.h"

#include <nanobind/stl/string.h>

#include <utility>

#include "attention_decoder.h"
#include "kinds.h"
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

// What a decoder has, beside its cells.
enum DecoderTrait : unsigned {
    QUERY = 1,  // attention waits for W_q
    TANH = 2,
    JOIN = 4,
    FEEDING = 8,
    COVERAGE = 16,
};

// N target tokens of R sequences, M memories of S positions, P threads; H units, vectors of memories of D, A units of
// the score, C = D + H; V tokens of the vocabulary.
template <class T>
const Fields<AttentionJob<T>>& attention_fields() {
    using J = AttentionJob<T>;
    constexpr unsigned SEQUENCES = FORWARD | BACKWARD, ALL = WEIGHTS | SEQUENCES;
    static const Fields<J> fields{
        field<&J::keys>("keys", "M,S,A", SEQUENCES),
        field<&J::values>("values", "M,S,D", SEQUENCES),
        field<&J::positions>("positions", "M,S", SEQUENCES),
        field<&J::counts>("counts", "M", SEQUENCES),
        field<&J::sources>("sources", "R", SEQUENCES),
        field<&J::W_q>("W_q", "A,H", ALL, QUERY),
        field<&J::W_q>("W_q", "A,H", ALL, OPTIONAL),
        field<&J::b_q>("b_q", "A", WEIGHTS | FORWARD, OPTIONAL),
        field<&J::v>("v", "A", ALL, TANH),
        field<&J::w_k>("w_k", "A", ALL, TANH | COVERAGE),
        field<&J::W_c>("W_c", "H,C", ALL, JOIN),
        field<&J::W_o>("W_o", "V,H", WEIGHTS),
        field<&J::b_o>("b_o", "V", WEIGHTS),
        field<&J::mask>("mask", "N,H", SEQUENCES, JOIN | OPTIONAL),
        field<&J::q>("q", "N,A", SEQUENCES),
        field<&J::alignment>("alignment", "N,S", SEQUENCES),
        field<&J::coverage>("coverage", "N,S", SEQUENCES, COVERAGE),
        field<&J::context>("context", "N,D", SEQUENCES),
        field<&J::joined>("joined", "N,C", SEQUENCES, JOIN),
        field<&J::output>("output", "N,H", SEQUENCES, JOIN),
        field<&J::doutput>("doutput", "N,H", BACKWARD, JOIN),
        field<&J::dstates>("dstates", "N,H", BACKWARD),
        field<&J::dalignment>("dalignment", "N,S", BACKWARD, OPTIONAL),
        field<&J::dcoverage>("dcoverage", "R,S", BACKWARD, COVERAGE),
        field<&J::dw_k>("dw_k", "P,A", BACKWARD, COVERAGE),
        field<&J::dcontext>("dcontext", "N,D", BACKWARD),
        field<&J::dq>("dq", "N,A", BACKWARD),
        field<&J::dscores>("dscores", "N,S", BACKWARD),
        field<&J::djoin>("djoin", "N,H", BACKWARD, JOIN),
        field<&J::dkeys>("dkeys", "M,S,A", BACKWARD),
        field<&J::dvalues>("dvalues", "M,S,D", BACKWARD),
        field<&J::dv>("dv", "P,A", BACKWARD, TANH),
        field<&J::dfed>("dfed", "R,H", BACKWARD, FEEDING),
    };
    return fields;
}

// One step of a search. Q states of R rows, K elements of a token's vector; the rest as above.
struct SearchStep {
    const float *y, *keys, *values, *state;
    const int32_t *positions, *counts, *sources;
    float *new_state, *logits, *alignment, *coverage;
};

const Fields<SearchStep>& search_fields() {
    using J = SearchStep;
    static const Fields<J> fields{
        field<&J::y>("y", "R,K"),
        field<&J::keys>("keys", "M,S,A"),
        field<&J::values>("values", "M,S,D"),
        field<&J::positions>("positions", "M,S"),
        field<&J::counts>("counts", "M"),
        field<&J::sources>("sources", "R"),
        field<&J::state>("state", "Q,R,H"),
        field<&J::new_state>("new_state", "Q,R,H"),
        field<&J::logits>("logits", "R,V"),
        field<&J::alignment>("alignment", "R,S"),
        field<&J::coverage>("coverage", "R,S", ~0u, COVERAGE),
    };
    return fields;
}

// Indices that lead out of a memory are refused.
template <class Read>
void check_indices(const Read& read, Sizes& sizes) {
    const int64_t M = sizes.of('M'), S = sizes.of('S');
    for (int64_t r = 0; r < sizes.of('R'); ++r)
        if (read.sources[r] < 0 || read.sources[r] >= M)
            throw nb::index_error(("sources must be of the " + std::to_string(M) + " memories").c_str());
    for (int64_t m = 0; m < M; ++m) {
        bool good = read.counts[m] >= 0 && read.counts[m] <= S;
        for (int64_t i = 0; good && i < read.counts[m]; ++i)
            good = read.positions[m * S + i] >= 0 && read.positions[m * S + i] < S;
        if (!good)
            throw nb::index_error(("counts and positions must be of the " + std::to_string(S) + " positions").c_str());
    }
}

// All but the steps. The arrays of each layer are those of a `Job`.
template <class T>
AttentionJob<T> read_attention_job(const DecoderShape& shape, unsigned use, nb::handle layers, nb::handle arrays,
                                   Sizes& sizes) {
    const KindOfCell& kind = kind_named(shape.kind);
    const std::string name = "decoder of " + shape.kind;
    constexpr int64_t WIDTH = std::is_same_v<T, bf16> ? 32 : 16;
    for (const auto& [of, size] : {std::pair{"H", shape.H}, {"E", shape.E}, {"D", shape.D}, {"A", shape.A}})
        check_width(name, of, size, WIDTH);
    if (!(kind.traits & U_MATRIX) || (kind.traits & FULL))
        throw nb::value_error(("there is no kernel of a " + name).c_str());
    AttentionJob<T> job{};
    job.kind = kind.kind;
    job.before = shape.before;
    job.tanh = shape.tanh;
    job.feeding = shape.feeding;
    job.join = shape.join;
    job.H = sizes.of('H') = shape.H;
    job.E = shape.E;
    job.D = sizes.of('D') = shape.D;
    job.A = sizes.of('A') = shape.A;
    sizes.of('C') = shape.D + shape.H;
    sizes.of('G') = kernels_of<T>().gates(kind.kind);
    const bool coverage = PyDict_Check(arrays.ptr()) && PyDict_GetItemString(arrays.ptr(), "w_k");
    const unsigned traits = (shape.before ? QUERY : 0u) | (shape.tanh ? TANH : 0u) | (shape.join ? JOIN : 0u) |
                            (shape.feeding ? FEEDING : 0u) | (coverage ? COVERAGE : 0u);
    attention_fields<T>().read(name, arrays, use, traits, sizes, job);
    if (!job.W_q && shape.A != shape.H) throw nb::value_error(("the " + name + " needs W_q").c_str());
    if (use != WEIGHTS) check_indices(job, sizes);
    job.S = use == WEIGHTS ? 0 : sizes.of('S');
    int64_t I = shape.E + (shape.before ? shape.D : shape.feeding ? shape.H : 0);
    for (const nb::handle layer : layers) {
        sizes.of('I') = I;
        read_job(shape.kind, layer, use, kind.traits, sizes, job.layers.emplace_back());
        job.layers.back().update_new = shape.update_new;
        I = shape.H;
    }
    if (job.layers.empty()) throw nb::value_error(("the " + name + " needs a layer").c_str());
    return job;
}

// With fewer multiplications in all, one thread is done before another has woken up.
constexpr int64_t WORTH_SHARING = 1'000'000;
// With fewer multiplications a step, waiting for another thread costs more than it brings.
constexpr int64_t WORTH_WAITING = 1'000'000;
// A thread with fewer sequences than this reads weights more than it multiplies.
constexpr int64_t FEW = 8;

// Whole target sequences. The threads share the sequences and do not wait for one another; where these are
// too few, they share the units and wait several times a step.
template <class T>
void run_attention(const DecoderShape& shape, bool backward, nb::handle offsets, nb::list layers, nb::handle arrays,
                   int threads) {
    const auto& kernels = kernels_of<T>();
    const Steps steps = read_offsets(shape.kind, offsets, false);
    const int64_t count = steps.count;
    Sizes sizes{{'N', steps.offsets[count]}, {'R', steps.widest()}, {'B', steps.widest()}, {'P', threads}};
    AttentionJob<T> whole =
        read_attention_job<T>(shape, backward ? BACKWARD : FORWARD, layers, arrays, sizes);
    whole.steps = steps;
    whole.to = steps.widest();
    const unsigned traits = kind_named(shape.kind).traits;
    const int64_t extra = traits & PEEPHOLES ? 3 * shape.H : traits & HIDDEN_BIAS ? shape.H : 0;
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
        if (job.dw_k) job.dw_k += g * shape.A;
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
    // Biases and vectors are not copied.
    RecurrentSearch(const DecoderShape& shape, int64_t vocab, nb::list layers, nb::handle weights, int threads)
        : shape_(shape), members_(threads) {
        Sizes sizes{{'V', vocab}};
        check_width("decoder of " + shape.kind, "V", vocab, 16);
        base_ = read_attention_job<float>(shape, WEIGHTS, layers, weights, sizes);
        base_.vocab = vocab;
        packed_ = baseline::buffer<float>(packed_size(base_, gates()));
        pack();
    }

    // y (R, K): the vectors of the latest tokens, padded here. A state (Q, R, H) has h, and of LSTMs c, of each
    // layer; with input feeding h~ comes last.
    void step(nb::handle arrays) {
        const bool lstm = kind_named(shape_.kind).traits & CELL_STATE;
        const auto parts = static_cast<int64_t>(base_.layers.size()) * (lstm ? 2 : 1) + base_.feeding;
        Sizes sizes{{'H', base_.H}, {'D', base_.D}, {'A', base_.A}, {'V', base_.vocab}, {'Q', parts}};
        SearchStep given{};
        search_fields().read("search", arrays, STEP, base_.w_k ? COVERAGE : 0u, sizes, given);
        check_indices(given, sizes);
        const int64_t rows = sizes.of('R'), tokens = sizes.of('K');
        if (tokens > base_.E) throw nb::value_error("the vectors y are longer than those that W reads");

        nb::gil_scoped_release release;
        AttentionJob<float> job = base_;
        const int64_t offsets[] = {0, rows}, H = job.H, state = rows * H;
        job.steps = Steps{1, offsets, false};
        job.to = rows;
        job.S = sizes.of('S');
        job.keys = given.keys;
        job.values = given.values;
        job.positions = given.positions;
        job.counts = given.counts;
        job.sources = given.sources;
        job.logits = given.logits;
        job.alignment = given.alignment;
        job.coverage = given.coverage;
        const float* old = given.state;
        float* made = given.new_state;

        const int64_t I = job.layers[0].I;
        const auto scratch = baseline::buffer<float>(
            rows * (I + job.A + job.D + job.D + H + H + H + gates() * H));
        float* next = scratch.get();
        const auto take = [&](int64_t size) { return std::exchange(next, next + rows * size); };
        float* const x = take(I);
        for (int64_t r = 0; r < rows; ++r) {
            std::copy_n(given.y + r * tokens, tokens, x + r * I);
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

    DecoderShape shape_;
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
        .def(nb::init<const DecoderShape&, int64_t, nb::list, nb::handle, int>(), nb::arg("shape"),
             nb::arg("vocab"), nb::arg("layers"), nb::arg("weights"), nb::arg("threads"))
        .def("step", &RecurrentSearch::step, nb::arg("arrays"));
    const auto define = [&](const char* name, auto function) {
        module.def(name, function, nb::arg("shape"), nb::arg("backward"), nb::arg("offsets"),
                   nb::arg("layers"), nb::arg("arrays"), nb::arg("threads"));
    };
    define("run_attention", &run_attention<float>);
    define("run_attention_bf16", &run_attention<bf16>);
}

}  // namespace unspool
