// Skip-gram and CBOW with negative sampling (Mikolov et al. 2013). Compiled once for each instruction
// set. The readable reference is native/word2vec_reference.py.
//
// The context words of a centre share its negative samples (Ji et al. 2016), so that a centre is three
// small matrix products: with X (N, E) the vectors of the words that are read, Y (M, E) those of the
// centre and the samples,
//
//     S = X Y^T,   G = rate (L - sigmoid(S)),   X += G Y,   Y += G^T X,
//
// with L 1 in the centre's column, else 0, and G 0 for a sample that is the centre. For CBOW, X is one
// row, the mean of the context, and each word of the context gets the whole of its change, as in
// Mikolov's program.
//
// Threads write the same matrices without asking each other (Hogwild; Niu et al. 2011): two seldom meet
// in a row, and what is then lost is one small step.
#include "word2vec.h"

#include <algorithm>
#include <vector>

#include "vec.h"

namespace unspool::ISA {

constexpr int64_t ROWS = 2;      // of X and
constexpr int64_t COLUMNS = 6;   // of Y in a tile: with one column of sums each, they fit in registers
constexpr int64_t STRETCH = 10000;  // tokens of a piece that are read at once; windows end there

// SplitMix64: number k of the place `state` is mix(state + k STEP).
constexpr uint64_t STEP = 0x9e3779b97f4a7c15;
INLINE uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

INLINE float uniform(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }
INLINE int64_t below(uint64_t limit, uint64_t random) { return ((random >> 32) * limit) >> 32; }

INLINE int64_t rounded_up(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

class Learner {
  public:
    explicit Learner(const Word2vec& job)
        : job_(job),
          M_(job.negatives + 1),
          columns_(rounded_up(M_, COLUMNS)),
          targets_(M_),
          coming_(M_),
          rows_(rounded_up(2 * job.window, ROWS)),
          outputs_(columns_, nullptr),
          G_(rounded_up(rows_.size() * columns_, LANES)),
          Y_(columns_ * job.E),
          zero_(job.E),
          mean_(job.E),
          error_(job.E),
          nowhere_(job.E) {
        std::fill(outputs_.begin(), outputs_.end(), nowhere_.data());
    }

    void piece(int64_t from, int64_t to) {
        for (int64_t start = from; start < to; start += STRETCH)
            stretch(start, std::min(to, start + STRETCH));
    }

  private:
    struct Token {
        int64_t word, place;
        uint64_t state;  // of its random numbers
    };

    int64_t raw(int64_t t) const {
        if (job_.width == 1) return static_cast<const uint8_t*>(job_.ids)[t];
        if (job_.width == 2) return static_cast<const uint16_t*>(job_.ids)[t];
        return static_cast<const uint32_t*>(job_.ids)[t];
    }

    void stretch(int64_t from, int64_t to) {
        tokens_.clear();
        for (int64_t t = from; t < to; ++t) {
            const int64_t word = job_.words[raw(t)];
            if (word < 0) continue;
            const uint64_t state = mix(job_.seed + STEP * static_cast<uint64_t>(t));
            if (uniform(mix(state) >> 32) < job_.keep[word]) tokens_.push_back({word, t, state});
        }
        const auto count = static_cast<int64_t>(tokens_.size());
        if (count < 2) return;
        draw(tokens_[0]);
        for (int64_t i = 0; i < count; ++i) {
            targets_.swap(coming_);
            if (i + 1 < count) draw(tokens_[i + 1]);
            centre(i, count);
        }
    }

    // The words that a centre is to be told from, and first itself; their rows are on the way soon.
    void draw(const Token& token) {
        coming_[0] = token.word;
        for (int64_t k = 1; k < M_; ++k) {
            const uint64_t random = mix(token.state + STEP * (k + 1));
            const int64_t word = below(job_.V, random);
            const bool own = uniform(static_cast<uint32_t>(random)) < job_.share[word];
            coming_[k] = own ? word : job_.alias[word];
        }
        for (int64_t k = 0; k < M_; ++k) {
            const float* row = job_.out + coming_[k] * job_.E;
            for (int64_t e = 0; e < job_.E; e += 16) __builtin_prefetch(row + e, 0, 2);
        }
    }

    void centre(int64_t i, int64_t count) {
        const Token& token = tokens_[i];
        const int64_t reach = 1 + below(job_.window, mix(token.state + STEP));
        N_ = 0;
        for (int64_t j = std::max<int64_t>(0, i - reach); j < std::min(count, i + reach + 1); ++j)
            if (j != i) rows_[N_++] = job_.in + tokens_[j].word * job_.E;
        rate_ = static_cast<float>(std::max(job_.rate - job_.slope * token.place, job_.floor));
        // The products that change X read Y as it was.
        for (int64_t k = 0; k < M_; ++k) {
            const float* row = outputs_[k] = job_.out + targets_[k] * job_.E;
            float* to = Y_.data() + k * job_.E;
            for (int64_t e = 0; e < job_.E; e += LANES) store(to + e, load(row + e));
        }
        if (job_.cbow) read_mean();
        else read_each();
    }

    void read_each() {
        const int64_t N = N_;
        if (N % ROWS) rows_[N] = zero_.data();
        gradients(rounded_up(N, ROWS));
        change_outputs(N);
        change_inputs(N);
    }

    void read_mean() {
        const int64_t N = N_;
        const vec share = splat(1.0f / static_cast<float>(N));
        for (int64_t e = 0; e < job_.E; e += LANES) {
            vec total{};
            for (int64_t n = 0; n < N; ++n) total += load(rows_[n] + e);
            store(mean_.data() + e, total * share);
        }
        std::fill(error_.begin(), error_.end(), 0.0f);
        context_.assign(rows_.begin(), rows_.begin() + N);
        rows_[0] = mean_.data();
        rows_[1] = zero_.data();
        gradients(ROWS);
        change_outputs(1);
        rows_[0] = error_.data();
        change_inputs(1);
        for (float* row : context_)
            for (int64_t e = 0; e < job_.E; e += LANES) add_to(row + e, load(error_.data() + e));
    }

    // G from the first N rows, a multiple of ROWS.
    void gradients(int64_t N) {
        for (int64_t n = 0; n < N; n += ROWS)
            for (int64_t m = 0; m < columns_; m += COLUMNS) scores(n, m);
        for (int64_t i = 0; i < N * columns_; i += LANES)
            store(G_.data() + i, -rate_ * sigmoid(load(G_.data() + i)));
        for (int64_t n = 0; n < N; ++n) {
            G_[n * columns_] += rate_;
            for (int64_t k = 1; k < M_; ++k)
                if (targets_[k] == targets_[0]) G_[n * columns_ + k] = 0;
        }
    }

    INLINE void scores(int64_t n, int64_t m) {
        vec sums[ROWS][COLUMNS]{};
        const float* Y = Y_.data() + m * job_.E;
        for (int64_t e = 0; e < job_.E; e += LANES)
            for (int64_t c = 0; c < COLUMNS; ++c) {
                const vec y = load(Y + c * job_.E + e);
                for (int64_t r = 0; r < ROWS; ++r) sums[r][c] += load(rows_[n + r] + e) * y;
            }
        for (int64_t r = 0; r < ROWS; ++r)
            for (int64_t c = 0; c < COLUMNS; ++c) G_[(n + r) * columns_ + m + c] = sum(sums[r][c]);
    }

    // Y += G^T X, in the matrix of all words.
    void change_outputs(int64_t N) {
        for (int64_t m = 0; m < columns_; m += COLUMNS)
            for (int64_t e = 0; e < job_.E; e += LANES) {
                vec change[COLUMNS]{};
                for (int64_t n = 0; n < N; ++n) {
                    const vec x = load(rows_[n] + e);
                    for (int64_t c = 0; c < COLUMNS; ++c) change[c] += G_[n * columns_ + m + c] * x;
                }
                for (int64_t c = 0; c < COLUMNS; ++c) add_to(outputs_[m + c] + e, change[c]);
            }
    }

    // X += G Y
    void change_inputs(int64_t N) {
        for (int64_t m = 0; m < columns_; m += COLUMNS)
            for (int64_t e = 0; e < job_.E; e += LANES) {
                vec y[COLUMNS];
                for (int64_t c = 0; c < COLUMNS; ++c) y[c] = load(Y_.data() + (m + c) * job_.E + e);
                for (int64_t n = 0; n < N; ++n) {
                    vec x = load(rows_[n] + e);
                    for (int64_t c = 0; c < COLUMNS; ++c) x += G_[n * columns_ + m + c] * y[c];
                    store(rows_[n] + e, x);
                }
            }
    }

    const Word2vec& job_;
    const int64_t M_, columns_;  // of Y: the centre and its samples; with zeros up to a whole tile
    int64_t N_ = 0;              // words in the context
    float rate_ = 0;
    std::vector<Token> tokens_;
    std::vector<int64_t> targets_, coming_;  // of this centre and the next one
    std::vector<float*> rows_, outputs_, context_;  // rows of X, of Y where it comes from, of a mean
    std::vector<float> G_, Y_, zero_, mean_, error_;
    std::vector<float> nowhere_;  // where what is added to columns beyond M goes
};

void train_word2vec(const Word2vec& job, int64_t from, int64_t to, std::atomic<int64_t>& next) {
    Learner learner(job);
    const int64_t *first = job.offsets + from, *last = job.offsets + to;
    for (;;) {
        const int64_t start = job.offsets[from] + BLOCK * next.fetch_add(1, std::memory_order_relaxed);
        if (start >= *last) return;
        // The pieces that begin in this block.
        const int64_t* at = std::lower_bound(first, last, start);
        for (; at < last && *at < start + BLOCK; ++at) learner.piece(at[0], at[1]);
    }
}

}  // namespace unspool::ISA
