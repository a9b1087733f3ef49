// The kernels beside the recurrent ones, without Python, against plain code in double: passes over arrays,
// chains of tags, word2vec and a Transformer's decoder. For other processors (`make arm`) and sanitizers.
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "chain.h"
#include "passes.h"
#include "transformer.h"
#include "vec.h"  // which instruction set this is compiled for
#include "word2vec.h"

// Only the decoder is compiled for processors that multiply bytes.
#if defined(__AVX512F__)
namespace decoders = unspool::avx512_vnni;
#else
namespace decoders = unspool::ISA;
#endif

using namespace unspool;

namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

bool failed = false;
std::mt19937 generator(1);

template <class Numbers = Floats>
Numbers random_numbers(int64_t size, double scale = 1) {
    std::normal_distribution<double> normal(0, scale);
    Numbers found(size);
    for (auto& each : found) each = normal(generator);
    return found;
}

// Relative to the largest value, where that is above 1.
template <class Numbers>
void agree(const char* what, const Numbers& found, const Doubles& wanted, double tolerance) {
    double off = 0, size = 1;
    for (size_t i = 0; i < wanted.size(); ++i) {
        off = std::max(off, std::fabs(found[i] - wanted[i]));
        size = std::max(size, std::fabs(wanted[i]));
        if (!(found[i] == found[i])) off = std::numeric_limits<double>::infinity();
    }
    if (off < tolerance * size) return;
    std::printf("%s: off by %g of %g\n", what, off, size);
    failed = true;
}

void test_dropout() {
    constexpr int64_t SIZE = 103;
    const Floats x = random_numbers(SIZE);
    const uint64_t key = 0x123456789abcdef0;
    const uint32_t threshold = 0x60000000;
    Floats y(SIZE);
    ISA::passes.dropout(x.data(), y.data(), 0, 50, {key, threshold}, 1.6f);
    ISA::passes.dropout(x.data(), y.data(), 50, SIZE, {key, threshold}, 1.6f);
    Doubles wanted;
    for (uint32_t i = 0; i < SIZE; ++i) {
        uint32_t h = (i * 0x9e3779b9u) ^ static_cast<uint32_t>(key);
        h = (h ^ (h >> 16)) * 0x7feb352du + static_cast<uint32_t>(key >> 32);
        h = (h ^ (h >> 15)) * 0x846ca68bu;
        h ^= h >> 16;
        wanted.push_back(h >= threshold ? x[i] * 1.6f : 0.0f);
    }
    agree("dropout", y, wanted, 1e-7);
}

void test_softmax_gradient() {
    constexpr int64_t ROWS = 5, K = 39;
    Floats z = random_numbers(ROWS * K, 5);
    const std::vector<int64_t> targets{0, 38, 7, 16, 31};
    const double epsilon = 0.1, scale = 2;
    Doubles wanted(ROWS * K);
    double loss = 0;
    for (int64_t r = 0; r < ROWS; ++r) {
        double Z = 0;
        for (int64_t k = 0; k < K; ++k) Z += std::exp(double(z[r * K + k]));
        for (int64_t k = 0; k < K; ++k) {
            const double p = std::exp(double(z[r * K + k])) / Z;
            const double y = (k == targets[r]) * (1 - epsilon) + epsilon / K;
            wanted[r * K + k] = scale * (p - y);
            loss -= y * std::log(p);
        }
    }
    const double found = ISA::passes.softmax_gradient(z.data(), targets.data(), 0, ROWS, K, epsilon, scale);
    agree("softmax", z, wanted, 1e-5);
    agree("softmax's loss", Doubles{found}, Doubles{loss}, 1e-5);
}

void test_log_mixture() {
    constexpr int64_t ROWS = 4, V = 37, K = 48, L = 40, S = 6;
    const Floats z = random_numbers(ROWS * K, 3);
    Floats alignment = random_numbers(ROWS * S), y(ROWS * L);
    for (int64_t r = 0; r < ROWS; ++r) {
        double total = 0;
        for (int64_t j = 0; j < S; ++j) total += alignment[r * S + j] = std::fabs(alignment[r * S + j]);
        for (int64_t j = 0; j < S; ++j) alignment[r * S + j] /= total;
    }
    const std::vector<int64_t> tokens{5, 38, 5, 0, -1, 39, 36, 37, 38, 39, -1, -1};
    const std::vector<int32_t> sources{0, 1, 1, 0};
    const Mixture mixture{K, V, L, S, alignment.data(), tokens.data(), sources.data()};
    ISA::passes.log_mixture(z.data(), y.data(), 0, 3, mixture);
    ISA::passes.log_mixture(z.data(), y.data(), 3, ROWS, mixture);
    Doubles wanted(ROWS * L), found(y.begin(), y.end());
    for (int64_t r = 0; r < ROWS; ++r) {
        const double gate = 1 / (1 + std::exp(-double(z[r * K + V])));
        double Z = 0;
        for (int64_t k = 0; k < V; ++k) Z += std::exp(double(z[r * K + k]));
        for (int64_t k = 0; k < V; ++k) wanted[r * L + k] = gate * std::exp(double(z[r * K + k])) / Z;
        for (int64_t j = 0; j < S; ++j)
            if (const int64_t token = tokens[sources[r] * S + j]; token >= 0)
                wanted[r * L + token] += (1 - gate) * alignment[r * S + j];
    }
    for (double& each : found) each = std::exp(each);
    agree("log_mixture", found, wanted, 1e-5);
}

void test_chains() {
    constexpr int64_t B = 3, T = 6, C = 7;
    const std::vector<int64_t> lengths{6, 1, 4};
    const Sequences all{T, C, lengths.data()};
    Doubles e = random_numbers<Doubles>(B * T * C), P = random_numbers<Doubles>(C * C);
    const Doubles x = e, A = P, a = random_numbers<Doubles>(C), b = random_numbers<Doubles>(C);
    for (Doubles* each : {&e, &P})
        for (double& value : *each) value = std::exp(value);
    Doubles p(B * T * C), s(B * T), q(B * T * C), wanted_p(p), wanted_s(s), wanted_q(q), across(C * C);
    for (int64_t i = 0; i < C; ++i)
        for (int64_t j = 0; j < C; ++j) across[j * C + i] = P[i * C + j];
    const Doubles last = random_numbers<Doubles>(B * C);
    std::vector<int64_t> tags(B * T), wanted_tags(B * T);
    ISA::chains.forward(all, e.data(), P.data(), p.data(), s.data(), 0, B);
    ISA::chains.backward(all, e.data(), across.data(), s.data(), last.data(), q.data(), 0, B);
    ISA::chains.viterbi(all, x.data(), A.data(), a.data(), b.data(), tags.data(), 0, B);
    for (int64_t row = 0; row < B; ++row) {
        const int64_t n = lengths[row], at = row * T;
        for (int64_t t = 0; t < n; ++t) {
            for (int64_t j = 0; j < C; ++j) {
                double sum = t == 0;
                for (int64_t i = 0; i < C && t; ++i) sum += wanted_p[(at + t - 1) * C + i] * P[i * C + j];
                wanted_p[(at + t) * C + j] = sum * e[(at + t) * C + j];
                wanted_s[at + t] += wanted_p[(at + t) * C + j];
            }
            for (int64_t j = 0; j < C; ++j) wanted_p[(at + t) * C + j] /= wanted_s[at + t];
        }
        for (int64_t t = n - 1; t >= 0; --t)
            for (int64_t i = 0; i < C; ++i) {
                double sum = t == n - 1 ? last[row * C + i] : 0;
                for (int64_t j = 0; j < C && t < n - 1; ++j) {
                    const int64_t next = (at + t + 1) * C + j;
                    sum += P[i * C + j] * e[next] * wanted_q[next] / wanted_s[at + t + 1];
                }
                wanted_q[(at + t) * C + i] = sum;
            }
        // The best of all C^n ways, each in its turn.
        std::vector<int64_t> way(n), best;
        double most = -std::numeric_limits<double>::infinity();
        for (;;) {
            double score = a[way[0]] + b[way[n - 1]];
            for (int64_t t = 0; t < n; ++t)
                score += x[(at + t) * C + way[t]] + (t ? A[way[t - 1] * C + way[t]] : 0);
            if (score > most) most = score, best = way;
            int64_t t = 0;
            while (t < n && ++way[t] == C) way[t++] = 0;
            if (t == n) break;
        }
        std::copy(best.begin(), best.end(), wanted_tags.begin() + at);
    }
    agree("p", p, wanted_p, 1e-12);
    agree("s", s, wanted_s, 1e-12);
    agree("q", q, wanted_q, 1e-12);
    agree("tags", Doubles(tags.begin(), tags.end()), Doubles(wanted_tags.begin(), wanted_tags.end()), 1e-12);
}

uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

// As native/word2vec_reference.py, one pair of words at a time.
void learn(const Word2vec& job, int64_t from, int64_t to, Doubles& in, Doubles& out) {
    constexpr uint64_t STEP = 0x9e3779b97f4a7c15;
    const int64_t E = job.E;
    const auto uniform = [](uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; };
    const auto below = [](uint64_t limit, uint64_t random) { return int64_t(((random >> 32) * limit) >> 32); };
    struct Token {
        int64_t word, place;
        uint64_t state;
    };
    std::vector<Token> tokens;
    for (int64_t t = from; t < to; ++t) {
        const int64_t word = job.words[static_cast<const uint16_t*>(job.ids)[t]];
        const uint64_t state = mixed(job.seed + STEP * t);
        if (word >= 0 && uniform(mixed(state) >> 32) < job.keep[word]) tokens.push_back({word, t, state});
    }
    const int64_t count = tokens.size();
    for (int64_t i = 0; i < count && count > 1; ++i) {
        const Token& centre = tokens[i];
        std::vector<int64_t> targets{centre.word}, context;
        for (int64_t k = 1; k <= job.negatives; ++k) {
            const uint64_t random = mixed(centre.state + STEP * (k + 1));
            const int64_t word = below(job.V, random);
            targets.push_back(uniform(static_cast<uint32_t>(random)) < job.share[word] ? word : job.alias[word]);
        }
        const int64_t reach = 1 + below(job.window, mixed(centre.state + STEP));
        for (int64_t j = std::max<int64_t>(0, i - reach); j < std::min(count, i + reach + 1); ++j)
            if (j != i) context.push_back(tokens[j].word);
        const double rate = std::max(job.rate - job.slope * centre.place, job.floor);
        const Doubles old_in = in, old_out = out;
        const int64_t N = context.size(), rows = job.cbow ? 1 : N;
        for (int64_t n = 0; n < rows; ++n) {
            Doubles x(E);
            for (int64_t e = 0; e < E; ++e)
                for (int64_t m = 0; m < N; ++m)
                    if (job.cbow || m == n) x[e] += old_in[context[m] * E + e] / (job.cbow ? N : 1);
            for (size_t k = 0; k < targets.size(); ++k) {
                if (k && targets[k] == targets[0]) continue;
                double score = 0;
                for (int64_t e = 0; e < E; ++e) score += x[e] * old_out[targets[k] * E + e];
                const double g = rate * ((k == 0) - 1 / (1 + std::exp(-score)));
                for (int64_t e = 0; e < E; ++e) {
                    out[targets[k] * E + e] += g * x[e];
                    for (int64_t m = 0; m < N; ++m)
                        if (job.cbow || m == n) in[context[m] * E + e] += g * old_out[targets[k] * E + e];
                }
            }
        }
    }
}

void test_word2vec(bool cbow) {
    constexpr int64_t V = 30, E = 32, TOKENS = 200;
    std::vector<uint16_t> ids(TOKENS);
    for (auto& id : ids) id = generator() % (V + 2);
    const std::vector<int64_t> offsets{0, 80, 81, TOKENS};
    std::vector<int32_t> words{-1, -1}, alias(V);
    for (int32_t word = 0; word < V; ++word) {
        words.push_back(word);
        alias[word] = (word + 7) % V;
    }
    const Floats keep(V, 0.8f), share(V, 0.6f);
    Floats in = random_numbers(V * E, .3), out = random_numbers(V * E, .3);
    Doubles wanted_in(in.begin(), in.end()), wanted_out(out.begin(), out.end());
    const Word2vec job{ids.data(), 2, offsets.data(), words.data(), V, keep.data(), share.data(), alias.data(),
                       E, in.data(), out.data(), 5, 5, cbow, 0x8000000000003039, 0.1, 0.1 / TOKENS, 0.02};
    std::atomic<int64_t> next{0};
    ISA::train_word2vec(job, 0, 3, next);
    for (int piece = 0; piece < 3; ++piece)
        learn(job, offsets[piece], offsets[piece + 1], wanted_in, wanted_out);
    agree(cbow ? "cbow" : "skip-gram", in, wanted_in, 1e-4);
    agree("the other vectors", out, wanted_out, 1e-4);
}

// A decoder of two layers, one sequence at a time.
class PlainDecoder {
  public:
    PlainDecoder(const Shape& shape, const std::vector<Floats>& weights) : shape_(shape), weights_(weights) {}

    // Logits of a sequence's next token; `keys` has for each layer what the tokens before it left.
    Doubles step(Doubles x, std::vector<std::vector<Doubles>>& past,
                 const std::vector<std::vector<Doubles>>& memory) {
        next_ = 0;
        const int64_t E = shape_.width, F = shape_.hidden;
        const auto sublayer = [&](const auto& body) {
            const Floats &w = weights_[next_], &b = weights_[next_ + 1];
            next_ += 2;
            const Doubles y = body(shape_.pre_norm ? normalized(x, w, b) : x);
            for (int64_t e = 0; e < E; ++e) x[e] += y[e];
            if (!shape_.pre_norm) x = normalized(x, w, b);
        };
        for (int64_t l = 0; l < shape_.layers; ++l) {
            sublayer([&](const Doubles& z) {
                const Doubles qkv = linear(z, 3 * E);
                past[l].emplace_back(qkv.begin() + E, qkv.end());
                return linear(attend({qkv.begin(), qkv.begin() + E}, past[l]), E);
            });
            sublayer([&](const Doubles& z) { return linear(attend(linear(z, E), memory[l]), E); });
            sublayer([&](const Doubles& z) {
                const bool swiglu = shape_.activation == Activation::swiglu;
                Doubles hidden = linear(z, swiglu ? 2 * F : F);
                for (int64_t f = 0; f < F; ++f)
                    hidden[f] = activated(hidden[f]) * (swiglu ? hidden[F + f] : 1);
                hidden.resize(F);
                return linear(hidden, E);
            });
        }
        if (shape_.pre_norm) x = normalized(x, weights_[next_], weights_[next_ + 1]), next_ += 2;
        return linear(x, shape_.vocab);
    }

  private:
    Doubles normalized(const Doubles& x, const Floats& w, const Floats& b) const {
        double mean = 0, square = 0;
        for (double each : x) mean += each / x.size();
        for (double each : x) square += (each - mean) * (each - mean) / x.size();
        Doubles y;
        for (size_t e = 0; e < x.size(); ++e)
            y.push_back((x[e] - mean) / std::sqrt(square + shape_.epsilon) * w[e] + b[e]);
        return y;
    }
    Doubles linear(const Doubles& x, int64_t N) {
        const Floats &W = weights_[next_], &b = weights_[next_ + 1];
        next_ += 2;
        Doubles y(b.begin(), b.end());
        for (int64_t n = 0; n < N; ++n)
            for (size_t k = 0; k < x.size(); ++k) y[n] += W[n * x.size() + k] * x[k];
        return y;
    }
    Doubles attend(const Doubles& q, const std::vector<Doubles>& keys) const {
        const int64_t E = shape_.width, size = E / shape_.heads;
        Doubles y(E);
        for (int64_t from = 0; from < E; from += size) {
            Doubles weights;
            double total = 0;
            for (const Doubles& key : keys) {
                double score = 0;
                for (int64_t e = from; e < from + size; ++e) score += q[e] * key[e];
                weights.push_back(std::exp(score / std::sqrt(size)));
                total += weights.back();
            }
            for (size_t t = 0; t < keys.size(); ++t)
                for (int64_t e = from; e < from + size; ++e) y[e] += weights[t] / total * keys[t][E + e];
        }
        return y;
    }
    double activated(double x) const {
        switch (shape_.activation) {
            case Activation::relu: return std::max(x, 0.0);
            case Activation::gelu: return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5)));
            case Activation::gelu_tanh:
                return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
            case Activation::swiglu: return x / (1 + std::exp(-x));
        }
        return 0;
    }

    Shape shape_;
    const std::vector<Floats>& weights_;
    size_t next_ = 0;
};

// Three steps of two sequences; before each of them both go on from the second one.
template <bool INT8>
void test_decoder(bool pre_norm, Activation activation, double tolerance) {
    constexpr int64_t E = 32, F = 48, V = 48, S = 5, R = 2, LAYERS = 2;
    const Shape shape{LAYERS, E, 4, F, V, true, pre_norm, activation, 1e-5f};
    std::vector<Floats> weights;
    const auto norm = [&] {
        weights.push_back(random_numbers(E, .2));
        for (float& w : weights.back()) w += 1;
        weights.push_back(random_numbers(E, .2));
    };
    const auto linear = [&](int64_t N, int64_t K) {
        weights.push_back(random_numbers(N * K, 1 / std::sqrt(K)));
        weights.push_back(random_numbers(N, .1));
    };
    for (int64_t l = 0; l < LAYERS; ++l) {
        norm(), linear(3 * E, E), linear(E, E);
        norm(), linear(E, E), linear(E, E);
        norm(), linear(activation == Activation::swiglu ? 2 * F : F, E), linear(E, F);
    }
    if (pre_norm) norm();
    linear(V, E);
    auto next = weights.begin();
    const auto pointer = [&] { return (next++)->data(); };
    TransformerWeights pointers;
    for (int64_t l = 0; l < LAYERS; ++l) {
        LayerWeights& of = pointers.layers.emplace_back();
        for (const float** field : {&of.norm_w, &of.norm_b, &of.W_qkv, &of.b_qkv, &of.W_o, &of.b_o,
                                    &of.cross_norm_w, &of.cross_norm_b, &of.cross_W_q, &of.cross_b_q,
                                    &of.cross_W_o, &of.cross_b_o, &of.feed_norm_w, &of.feed_norm_b, &of.W_1,
                                    &of.b_1, &of.W_2, &of.b_2})
            *field = pointer();
    }
    if (pre_norm) pointers.norm_w = pointer(), pointers.norm_b = pointer();
    pointers.W = pointer(), pointers.b = pointer();
    const auto model = decoders::make(shape, pointers, INT8);

    std::vector<Floats> memory, past;
    std::vector<std::vector<Doubles>> plain_memory(LAYERS);
    const bool keep[S] = {true, true, false, true, true};
    for (int64_t l = 0; l < LAYERS; ++l) {
        memory.push_back(random_numbers(S * 2 * E));
        for (int64_t t = 0; t < S; ++t)
            if (keep[t]) plain_memory[l].emplace_back(&memory[l][t * 2 * E], &memory[l][t * 2 * E] + 2 * E);
    }
    const std::vector<int32_t> sources(R, 0);
    PlainDecoder plain(shape, weights);
    std::vector<std::vector<std::vector<Doubles>>> plain_past(R, std::vector<std::vector<Doubles>>(LAYERS));
    for (int64_t step = 0; step < 3; ++step) {
        Floats x = random_numbers(R * E), logits(R * V), looked(R * S);
        Doubles wanted;
        if (step) plain_past[0] = plain_past[1];
        for (int64_t r = 0; r < R; ++r) {
            const Doubles found = plain.step({&x[r * E], &x[r * E] + E}, plain_past[r], plain_memory);
            wanted.insert(wanted.end(), found.begin(), found.end());
        }
        past.emplace_back(LAYERS * R * 2 * E);
        std::vector<float*> places;
        for (Floats& each : past) places.push_back(each.data());
        std::vector<int32_t> ancestors;
        for (int32_t r = 0; r < R; ++r)
            for (int64_t t = 0; t <= step; ++t) ancestors.push_back(t == step ? r : 1);
        const DecoderStep given{R, step + 1, x.data(), places, std::vector<int64_t>(step + 1, R), ancestors.data(),
                                S, {memory[0].data(), memory[1].data()}, keep, sources.data(),
                                logits.data(), looked.data(), LAYERS - 1};
        Scratch scratch(shape, R);
        Team alone(1);
        model->step(given, scratch, alone, 0);
        agree(INT8 ? "decoder in int8" : "decoder", logits, wanted, tolerance);
        for (int64_t r = 0; r < R; ++r) {
            double all = 0;
            for (int64_t t = 0; t < S; ++t) all += looked[r * S + t];
            agree("weights of the memory", Doubles{all, looked[r * S + 2]}, {1, 0}, 1e-6);
        }
    }
}

}  // namespace

int main() {
    test_dropout();
    test_softmax_gradient();
    test_log_mixture();
    test_chains();
    for (bool cbow : {false, true}) test_word2vec(cbow);
    for (bool pre_norm : {false, true})
        for (auto activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::swiglu}) {
            test_decoder<false>(pre_norm, activation, 1e-5);
            test_decoder<true>(pre_norm, activation, 0.1);
        }
    std::puts(failed ? "failed" : "passes, chains, word2vec and decoder agree");
    return failed;
}
