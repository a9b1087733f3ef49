// The kernels of recurrent decoders with attention on their own, without Python, for the sanitizers
// (`make sanitize`): whole targets forwards and back, and steps of a search. Once alone, once with threads that share
// the units and once with threads that share the sequences, all of std::thread; all must agree, and in float the
// gradients with differences of the loss. Every array is a block of memory of its own, so that none can be read or
// written beyond its end unseen.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <list>
#include <random>
#include <thread>
#include <vector>

#include "attention_decoder.h"
#include "vec.h"  // which instruction set this is compiled for

using namespace unspool;

namespace {

using T = NUMBER;
constexpr int64_t H = 32, E = 32, D = 64, A = 32, S = 5, B = 7, TIMES = 6, LAYERS = 2, VOCAB = 48;
constexpr int THREADS = 3;
const std::vector<int64_t> lengths{6, 6, 5, 3, 3, 1, 1};

struct Case {
    Kind kind;
    bool before, tanh, feeding;
};

enum class Way { alone, units, sequences };

std::vector<int64_t> offsets_of() {
    std::vector<int64_t> found{0};
    for (int64_t t = 0; t < TIMES; ++t) {
        int64_t running = 0;
        for (int64_t length : lengths) running += length > t;
        found.push_back(found.back() + running);
    }
    return found;
}
const std::vector<int64_t> offsets = offsets_of();
const int64_t N = offsets.back();

T number(float value) {
    T upper;  // of a float, all of it
    std::memcpy(&upper, reinterpret_cast<const char*>(&value) + 4 - sizeof upper, sizeof upper);
    return upper;
}

// Owns the arrays of a job. The same seed makes the same numbers.
struct Arrays {
    std::list<std::vector<float>> floats;
    std::list<std::vector<T>> numbers;
    std::list<std::vector<int32_t>> integers;
    std::mt19937 generator{1};

    float* zeros(int64_t size) { return floats.emplace_back(size).data(); }
    T* none(int64_t size) { return numbers.emplace_back(size).data(); }
    float* random(int64_t size, float scale) {
        std::normal_distribution<float> normal(0, scale);
        float* const found = zeros(size);
        for (int64_t i = 0; i < size; ++i) found[i] = normal(generator);
        return found;
    }
    T* read(const float* from, int64_t size) {
        if constexpr (std::is_same_v<T, float>) return const_cast<float*>(from);
        T* const found = none(size);
        for (int64_t i = 0; i < size; ++i) found[i] = number(from[i]);
        return found;
    }
};

bool has_cell_state(Kind kind) { return kind == Kind::lstm || kind == Kind::peephole || kind == Kind::coupled; }

int64_t extra_size(Kind kind) { return kind == Kind::peephole ? 3 * H : kind == Kind::gru_after ? H : 0; }

// A job of whole targets; of a search, one step of B rows.
AttentionJob<T> make(const Case& of, Arrays& a, int64_t G, bool search) {
    const int64_t rows = search ? B : N;
    AttentionJob<T> job{};
    job.kind = of.kind;
    job.before = of.before;
    job.tanh = of.tanh;
    job.feeding = of.feeding;
    job.join = of.feeding || search;
    static const int64_t one_step[] = {0, B};
    job.steps = search ? Steps{1, one_step, false} : Steps{TIMES, offsets.data(), false};
    job.to = B;
    job.H = H, job.E = E, job.D = D, job.A = A, job.S = S;
    const int64_t wide = E + (of.before ? D : of.feeding ? H : 0);
    for (int64_t k = 0; k < LAYERS; ++k) {
        Job<T> layer{};
        layer.to = B;
        layer.H = H;
        layer.I = k ? H : wide;
        layer.W = a.random(G * H * layer.I, .2f);
        layer.b = a.random(G * H, .1f);
        layer.U = a.random(G * H * H, .2f);
        if (extra_size(of.kind)) layer.extra = a.random(extra_size(of.kind), .2f);
        layer.h0 = a.random(B * H, 1);
        layer.h0_read = a.read(layer.h0, B * H);
        layer.h = a.zeros(rows * H);
        layer.h_read = std::is_same_v<T, float> ? reinterpret_cast<T*>(layer.h) : a.none(rows * H);
        layer.h_end = a.zeros(B * H);
        layer.gates = a.zeros(rows * G * H);
        layer.inner = a.none(rows * H);
        if (has_cell_state(of.kind)) {
            layer.c0 = a.random(B * H, 1);
            layer.c = a.zeros(rows * H);
            layer.c_end = a.zeros(B * H);
        }
        if (k) {
            layer.mask = search ? nullptr : a.random(rows * H, 1);
            layer.x = search ? job.layers[0].h_read : a.none(rows * H);
        } else {
            T* const x = a.none(rows * wide);
            const float* const y = a.random(rows * E, 1);
            for (int64_t n = 0; n < rows; ++n)
                for (int64_t e = 0; e < E; ++e) x[n * wide + e] = number(y[n * E + e]);
            layer.x = x;
        }
        layer.dh = a.zeros(rows * H);
        layer.dx = a.zeros(rows * layer.I);
        layer.du = a.none(rows * G * H);
        layer.dinner = a.none(rows * H);
        layer.dextra = a.zeros(THREADS * extra_size(of.kind));
        layer.dh0 = a.zeros(B * H);
        layer.dc0 = a.zeros(B * H);
        layer.db = a.zeros(THREADS * G * H);
        job.layers.push_back(layer);
    }
    job.keys = a.random(B * S * A, 1);
    job.values = a.random(B * S * D, 1);
    auto &positions = a.integers.emplace_back(), &counts = a.integers.emplace_back(), &sources = a.integers.emplace_back();
    for (int64_t m = 0; m < B; ++m) {
        for (int64_t s = 0; s < S; ++s) positions.push_back((s + m) % S);
        counts.push_back(m % (S + 1));  // one of nothing
        sources.push_back((m + 2) % B);
    }
    job.positions = positions.data(), job.counts = counts.data(), job.sources = sources.data();
    if (of.before || of.tanh) {
        job.W_q = a.random(A * H, .2f);
        job.b_q = a.random(A, .1f);
    }
    if (of.tanh) job.v = a.random(A, .5f);
    if (of.tanh && of.before) {
        job.w_k = a.random(A, .5f);
        job.coverage = search ? a.random(rows * S, .5f) : a.zeros(rows * S);
        job.dcoverage = a.zeros(B * S);
        job.dw_k = a.zeros(THREADS * A);
    }
    if (job.join) job.W_c = a.random(H * (D + H), .2f);
    if (job.join && !search) job.mask = a.random(rows * H, 1);
    job.q = job.W_q ? a.zeros(rows * A) : job.layers.back().h;
    job.alignment = a.zeros(rows * S);
    job.context = a.zeros(rows * D);
    if (job.join) {
        job.joined = a.none(rows * (D + H));
        job.output = a.zeros(rows * H);
        job.doutput = a.random(rows * H, 1);
        job.djoin = a.none(rows * H);
    }
    if (search) {
        job.vocab = VOCAB;
        job.W_o = a.random(VOCAB * H, .2f);
        job.b_o = a.random(VOCAB, .1f);
        job.logits = a.zeros(rows * VOCAB);
        job.fed = a.random(B * H, 1);
    }
    float* const dstates = a.random(rows * H, 1);
    job.dstates = dstates;
    if (of.before) job.layers.back().dh = dstates;
    job.dcontext = job.join ? a.zeros(rows * D) : a.random(rows * D, 1);
    job.dq = a.none(rows * A);
    job.dscores = a.zeros(rows * S);
    job.dalignment = a.random(rows * S, 1);
    job.dkeys = a.zeros(B * S * A);
    job.dvalues = a.zeros(B * S * D);
    job.dv = a.zeros(THREADS * A);
    job.dfed = a.zeros(B * H);
    return job;
}

template <class Work>
void on_threads(int size, const Work& work) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { work(rank); });
    for (auto& thread : threads) thread.join();
}

void run(const AttentionKernels<T>& kernels, const AttentionJob<T>& job, int64_t G, bool backward, Way way) {
    std::vector<T> packed(packed_size(job, G));
    const auto kernel = backward ? kernels.backward : kernels.forward;
    const int size = way == Way::alone ? 1 : THREADS;
    Team team(size);
    on_threads(size, [&](int rank) {
        if (way != Way::sequences) {
            kernels.pack(job, backward, packed.data(), team, rank, 0, 1);
            team.wait();
            kernel(job, packed.data(), team, rank);
            return;
        }
        Team alone(1);
        kernels.pack(job, backward, packed.data(), alone, 0, rank, size);
        team.wait();
        AttentionJob<T> part = job;
        part.from = job.steps.share_of_rows(rank, size);
        part.to = job.steps.share_of_rows(rank + 1, size);
        part.dv += rank * A;
        if (part.dw_k) part.dw_k += rank * A;
        for (Job<T>& layer : part.layers) {
            layer.dextra += rank * extra_size(job.kind);
            layer.db += rank * G * H;
        }
        kernel(part, packed.data(), alone, 0);
    });
}

// Sums of what each thread has of its own.
std::vector<float> total(const float* from, int64_t size) {
    std::vector<float> found(size);
    for (int64_t i = 0; i < THREADS * size; ++i) found[i % size] += from[i];
    return found;
}

struct Result {
    std::vector<std::vector<float>> arrays;

    void add(const float* from, int64_t size) { arrays.emplace_back(from, from + size); }
};

Result result_of(const AttentionJob<T>& job, int64_t G, bool backward) {
    const int64_t rows = job.steps.offsets[job.steps.count];
    Result found;
    found.add(job.layers.back().h, rows * H);
    found.add(job.alignment, rows * S);
    if (job.vocab) found.add(job.logits, rows * VOCAB);
    if (!backward) return found;
    found.add(job.dkeys, B * S * A);
    found.add(job.dvalues, B * S * D);
    for (const Job<T>& layer : job.layers) {
        found.add(layer.dh0, B * H);
        found.add(layer.dx, rows * layer.I);
        found.arrays.push_back(total(layer.db, G * H));
        if (extra_size(job.kind)) found.arrays.push_back(total(layer.dextra, extra_size(job.kind)));
    }
    if (job.tanh) found.arrays.push_back(total(job.dv, A));
    if (job.w_k) found.arrays.push_back(total(job.dw_k, A));
    return found;
}

double difference(const Result& a, const Result& b) {
    double largest = 0;
    for (size_t k = 0; k < a.arrays.size(); ++k) {
        double size = 1;
        for (float each : a.arrays[k]) size = std::max<double>(size, std::fabs(each));
        for (size_t i = 0; i < a.arrays[k].size(); ++i) {
            const double off = std::fabs(a.arrays[k][i] - b.arrays[k][i]) / size;
            if (!(off <= largest)) largest = off;  // not a number, too
        }
    }
    return largest;
}

// The loss of which dalignment and doutput, or dstates and dcontext, are the gradients.
double loss(const AttentionJob<T>& job, const std::vector<float>& dstates, const std::vector<float>& dcontext) {
    double found = 0;
    if (job.join)
        for (int64_t i = 0; i < N * H; ++i) found += double(job.doutput[i]) * job.output[i];
    else
        for (int64_t i = 0; i < N * H; ++i) found += double(dstates[i]) * job.layers.back().h[i];
    for (int64_t i = 0; i < N * D && !job.join; ++i) found += double(dcontext[i]) * job.context[i];
    for (int64_t i = 0; i < N * S; ++i) found += double(job.dalignment[i]) * job.alignment[i];
    return found;
}

// Whether the gradients by the keys, the values, the first states and w_k are the slope of the loss.
bool has_gradient(const AttentionKernels<T>& kernels, const Case& of, int64_t G) {
    Arrays owned;
    const AttentionJob<T> job = make(of, owned, G, false);
    const std::vector<float> dstates(job.dstates, job.dstates + N * H), dcontext(job.dcontext, job.dcontext + N * D);
    run(kernels, job, G, false, Way::alone);
    run(kernels, job, G, true, Way::alone);
    std::mt19937 generator(2);
    std::normal_distribution<float> normal;
    double along = 0, length = 0;
    std::vector<std::pair<float*, float>> moves;
    const auto move = [&](const float* values, const float* gradient, int64_t size) {
        for (int64_t i = 0; i < size; ++i) {
            const float direction = normal(generator);
            moves.emplace_back(const_cast<float*>(values) + i, direction);
            along += direction * gradient[i];
            length += gradient[i] * gradient[i];
        }
    };
    move(job.keys, job.dkeys, B * S * A);
    move(job.values, job.dvalues, B * S * D);
    for (const Job<T>& layer : job.layers) move(layer.h0, layer.dh0, B * H);
    if (job.w_k) move(job.w_k, job.dw_k, A);
    double slope = 0;
    constexpr float STEP = 2e-3f;
    for (const float sign : {1.0f, -2.0f}) {
        for (const auto& [at, direction] : moves) *at += sign * STEP * direction;
        run(kernels, job, G, false, Way::alone);
        slope += (sign > 0 ? 1 : -1) * loss(job, dstates, dcontext) / (2 * STEP);
    }
    if (std::fabs(slope - along) < 2e-2 * std::sqrt(length)) return true;
    std::printf("kind %d, before %d, tanh %d, feeding %d: a slope of %g, not %g\n", static_cast<int>(of.kind),
                of.before, of.tanh, of.feeding, along, slope);
    return false;
}

}  // namespace

int main() {
    bool failed = false;
    const AttentionKernels<T> kernels = ISA::attention_kernels<T>();
    for (int kind = 0; kind < static_cast<int>(Kind::mingru); ++kind) {
        if (static_cast<Kind>(kind) == Kind::peephole_full) continue;  // has none
        const int64_t G = kernels.gates(static_cast<Kind>(kind));
        for (const auto& [before, tanh, feeding] :
             {std::array{true, true, false}, {false, false, true}, {false, true, true}, {false, false, false}})
            for (const bool search : {false, true}) {
                if (search && sizeof(T) == 2) continue;
                const Case of{static_cast<Kind>(kind), before, tanh, feeding};
                std::vector<Result> results;
                for (const Way way : {Way::alone, Way::units, Way::sequences}) {
                    if (search && way == Way::sequences) continue;
                    Arrays owned;
                    const AttentionJob<T> job = make(of, owned, G, search);
                    run(kernels, job, G, false, way);
                    if (!search) run(kernels, job, G, true, way);
                    results.push_back(result_of(job, G, !search));
                }
                for (const Result& other : results) {
                    const double off = difference(results[0], other);
                    if (off < (sizeof(T) == 4 ? 1e-4 : 5e-2)) continue;
                    std::printf("kind %d, before %d, tanh %d, feeding %d, search %d: off by %g\n", kind, before, tanh,
                                feeding, search, off);
                    failed = true;
                }
                const bool kink = of.kind == Kind::elman_relu || of.kind == Kind::elman_leaky_relu ||
                                  of.kind == Kind::elman_maxout;
                if (sizeof(T) == 4 && !search && !kink && !has_gradient(kernels, of, G)) failed = true;
            }
    }
    std::puts(failed ? "failed" : "every decoder with attention agrees");
    return failed;
}
