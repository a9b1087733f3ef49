// A Transformer's decoder, step by step; nn/transformer.py is its reference. Compiled once for each
// instruction set.
#include "linear.h"
#include "transformer.h"

namespace unspool::ISA {

// The activations of feed-forward layers, see nn/transformer_blocks.py.
INLINE vec silu(vec x) { return x * sigmoid(x); }
INLINE vec gelu_tanh(vec x) {
    return 0.5f * x * (1.0f + tanh(0.79788456f * (x + 0.044715f * x * x * x)));
}
// x Φ(x), with the error function of Abramowitz & Stegun (7.1.26), exact to 1.5e-7.
INLINE vec gelu(vec x) {
    const vec a = x < 0.0f ? -x : x;
    const vec t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * a);
    vec p = splat(1.061405429f);
    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    const vec beyond = 0.5f * p * t * exp(-0.5f * x * x);  // Φ(-|x|)
    return x * (x < 0.0f ? beyond : 1.0f - beyond);
}

struct Norm {
    std::vector<float> w, b;
    float epsilon;

    void apply(const float* x, float* y) const {
        const int64_t E = w.size();
        vec total{}, squares{};
        for (int64_t j = 0; j < E; j += LANES) total += load(x + j);
        const float mean = sum(total) / E;
        for (int64_t j = 0; j < E; j += LANES) {
            const vec d = load(x + j) - mean;
            squares += d * d;
        }
        const float scale = 1 / std::sqrt(sum(squares) / E + epsilon);
        for (int64_t j = 0; j < E; j += LANES)
            store(y + j, (load(x + j) - mean) * scale * load(&w[j]) + load(&b[j]));
    }
};

// softmax(q k' / √d) v for all heads of one query; at(t) gives the keys of place t, E floats with the
// values behind them, or null where the query may not look. Where it sees nothing, y is 0.
class Attention {
  public:
    Attention(int64_t heads, int64_t width)
        : heads_(heads), width_(width), size_(width / heads), nothing_(2 * width) {}

    template <class At>
    void operator()(const float* q, int64_t places, const At& at, float* y) {
        stride_ = (places + LANES - 1) / LANES * LANES;
        weights_.resize(heads_ * stride_);
        keys_.resize(stride_);
        for (int64_t t = 0; t < stride_; ++t) keys_[t] = t < places ? at(t) : nullptr;
        std::fill_n(y, width_, 0.0f);
        for (int64_t t = 0; t < stride_; t += LANES) {
            const Block block = block_of(t);
            for (int64_t a = 0; a < heads_; ++a)
                store(&weights_[a * stride_ + t], block.seen ? scores(q, block.keys, a * size_) : splat(-INFINITY));
            for (int i = 0; i < LANES; ++i)
                if (!keys_[t + i])
                    for (int64_t a = 0; a < heads_; ++a) weights_[a * stride_ + t + i] = -INFINITY;
        }
        for (int64_t a = 0; a < heads_; ++a) softmax(&weights_[a * stride_]);
        for (int64_t t = 0; t < stride_; t += LANES) {
            const Block block = block_of(t);
            for (int64_t a = 0; a < heads_ && block.seen; ++a)
                add_values(&weights_[a * stride_ + t], block.keys, a * size_, y);
        }
    }

    // The mean of the heads' weights at each place, of the latest query.
    void mean_weights(int64_t places, float* to) const {
        for (int64_t t = 0; t < places; ++t) {
            to[t] = 0;
            for (int64_t a = 0; a < heads_; ++a) to[t] += weights_[a * stride_ + t] / heads_;
        }
    }

  private:
    // The keys of LANES places; those of a place that may not be seen are zeros.
    struct Block {
        const float* keys[LANES];
        bool seen = false;
    };

    Block block_of(int64_t t) const {
        Block found;
        for (int i = 0; i < LANES; ++i) {
            found.keys[i] = keys_[t + i] ? keys_[t + i] : nothing_.data();
            found.seen |= keys_[t + i] != nullptr;
        }
        return found;
    }

    // The scores of the head that begins at element `from`, for LANES places.
    vec scores(const float* q, const float* const (&keys)[LANES], int64_t from) const {
        vec totals[LANES] = {};
        int64_t j = from;
        for (; j + LANES <= from + size_; j += LANES)
            for (int i = 0; i < LANES; ++i) totals[i] += load(q + j) * load(keys[i] + j);
        for (; j < from + size_; ++j)
            for (int i = 0; i < LANES; ++i) totals[i][0] += q[j] * keys[i][j];
        return sums(totals) * (1 / std::sqrt(static_cast<float>(size_)));
    }

    // Adds the values of LANES places, weighted, to the head of y that begins at element `from`.
    void add_values(const float* weights, const float* const (&keys)[LANES], int64_t from, float* y) const {
        int64_t j = from;
        for (; j + LANES <= from + size_; j += LANES) {
            vec total = load(y + j);
            for (int i = 0; i < LANES; ++i) total += weights[i] * load(keys[i] + width_ + j);
            store(y + j, total);
        }
        for (; j < from + size_; ++j)
            for (int i = 0; i < LANES; ++i) y[j] += weights[i] * keys[i][width_ + j];
    }

    // The weight of what may not be seen is 1e-38 rather than 0, and 0 where nothing may.
    void softmax(float* w) const {
        vec largest = splat(-INFINITY), total{};
        for (int64_t t = 0; t < stride_; t += LANES) largest = most(largest, load(w + t));
        float top = -INFINITY;
        for (int lane = 0; lane < LANES; ++lane) top = std::max(top, largest[lane]);
        if (top == -INFINITY) {
            std::fill_n(w, stride_, 0.0f);
            return;
        }
        for (int64_t t = 0; t < stride_; t += LANES) {
            const vec e = exp(load(w + t) - top);
            store(w + t, e);
            total += e;
        }
        const float scale = 1 / sum(total);
        for (int64_t t = 0; t < stride_; t += LANES) store(w + t, load(w + t) * scale);
    }

    int64_t heads_, width_, size_, stride_ = 0;
    std::vector<float> weights_, nothing_;  // (heads, stride), (2·E) zeros
    std::vector<const float*> keys_;        // (stride)
};

template <class T>
class Decoder final : public Transformer {
  public:
    Decoder(const Shape& shape, const TransformerWeights& weights) : shape_(shape) {
        const int64_t E = shape.width, F = shape.hidden;
        const int64_t pieces = shape.activation == Activation::swiglu ? 2 : 1;
        const auto norm = [&](const float* w, const float* b) {
            return Norm{{w, w + E}, {b, b + E}, shape.epsilon};
        };
        for (const LayerWeights& of : weights.layers) {
            Layer& layer = layers_.emplace_back();
            layer.norm = norm(of.norm_w, of.norm_b);
            layer.qkv = Linear<T>(of.W_qkv, of.b_qkv, 3 * E, E);
            layer.join = Linear<T>(of.W_o, of.b_o, E, E);
            if (shape.cross) {
                layer.cross_norm = norm(of.cross_norm_w, of.cross_norm_b);
                layer.cross_q = Linear<T>(of.cross_W_q, of.cross_b_q, E, E);
                layer.cross_join = Linear<T>(of.cross_W_o, of.cross_b_o, E, E);
            }
            layer.feed_norm = norm(of.feed_norm_w, of.feed_norm_b);
            layer.up = Linear<T>(of.W_1, of.b_1, pieces * F, E);
            layer.down = Linear<T>(of.W_2, of.b_2, E, F);
        }
        if (shape.pre_norm) norm_ = norm(weights.norm_w, weights.norm_b);
        output_ = Linear<T>(weights.W, weights.b, shape.vocab, E);
    }

    void step(const DecoderStep& s, Scratch& scratch, Team& team, int rank) const override {
        Worker(*this, s, scratch, team, rank).run();
    }

  private:
    struct Layer {
        Norm norm, cross_norm, feed_norm;
        Linear<T> qkv, join, cross_q, cross_join, up, down;
    };

    // One thread's part of a step. Layers share the outputs of each product; what a thread reads, it
    // normalises and rounds for itself, which costs less than to wait for others to do it.
    struct Worker {
        const Decoder& model;
        const DecoderStep& s;
        Scratch& scratch;
        Team& team;
        int rank;
        Share mine;  // rows, of what is done row by row
        Attention attention;
        Reader<T> reader;
        std::vector<float> z;
        const int64_t E = model.shape_.width;

        Worker(const Decoder& model, const DecoderStep& s, Scratch& scratch, Team& team, int rank)
            : model(model), s(s), scratch(scratch), team(team), rank(rank),
              mine(s.rows, rank, team.size), attention(model.shape_.heads, model.shape_.width),
              z(s.rows * model.shape_.width) {}

        void run() {
            for (int64_t l = 0; l < model.shape_.layers; ++l) {
                const Layer& layer = model.layers_[l];
                attend_to_past(layer, l);
                if (model.shape_.cross) attend_to_memory(layer, l);
                feed_forward(layer);
            }
            const Rows<T> x = model.shape_.pre_norm ? normalized(model.norm_) : read(s.x, E);
            const int64_t V = model.shape_.vocab;
            apply(model.output_, x, [&](int64_t r, int64_t n, vec y) { store(s.logits + r * V + n, y); });
        }

        void attend_to_past(const Layer& layer, int64_t l) {
            float* present = s.past.back() + l * s.rows * 2 * E;
            apply(layer.qkv, enter(layer.norm), [&](int64_t r, int64_t n, vec y) {
                store(n < E ? &scratch.q[r * E + n] : present + r * 2 * E + n - E, y);
            });
            for (int64_t r = mine.from; r < mine.to; ++r)
                attention(&scratch.q[r * E], s.steps, [&](int64_t t) -> const float* {
                    return s.past[t] + (l * s.past_rows[t] + s.ancestors[r * s.steps + t]) * 2 * E;
                }, &scratch.attended[r * E]);
            team.wait();
            leave(layer.join, layer.norm);
        }

        void attend_to_memory(const Layer& layer, int64_t l) {
            apply(layer.cross_q, enter(layer.cross_norm),
                  [&](int64_t r, int64_t n, vec y) { store(&scratch.q[r * E + n], y); });
            for (int64_t r = mine.from; r < mine.to; ++r) {
                const int64_t source = s.sources[r] * s.places;
                attention(&scratch.q[r * E], s.places, [&](int64_t t) -> const float* {
                    return s.keep[source + t] ? s.memory[l] + (source + t) * 2 * E : nullptr;
                }, &scratch.attended[r * E]);
                if (s.looked && l == s.aligning)
                    attention.mean_weights(s.places, s.looked + r * s.places);
            }
            team.wait();
            leave(layer.cross_join, layer.cross_norm);
        }

        void feed_forward(const Layer& layer) {
            const int64_t F = model.shape_.hidden, swiglu = model.shape_.activation == Activation::swiglu;
            const int64_t wide = swiglu ? 2 * F : F;
            apply(layer.up, enter(layer.feed_norm), [&](int64_t r, int64_t n, vec y) {
                store(&scratch.hidden[r * wide + n], swiglu ? y : activated(y));
            });
            if (swiglu) {
                for (int64_t r = mine.from; r < mine.to; ++r)
                    for (int64_t j = 0; j < F; j += LANES) {
                        float* a = &scratch.hidden[r * wide + j];
                        store(a, silu(load(a)) * load(a + F));
                    }
                team.wait();
            }
            join(layer.down, swiglu ? gathered(F) : read(scratch.hidden.data(), F), layer.feed_norm);
        }

        vec activated(vec y) const {
            switch (model.shape_.activation) {
                case Activation::relu: return most(y, vec{});
                case Activation::gelu: return gelu(y);
                case Activation::gelu_tanh: return gelu_tanh(y);
                case Activation::swiglu: break;
            }
            return y;
        }

        // The first F of the 2·F values of each hidden row.
        Rows<T> gathered(int64_t F) {
            z.resize(s.rows * F);
            for (int64_t r = 0; r < s.rows; ++r)
                std::copy_n(&scratch.hidden[r * 2 * F], F, &z[r * F]);
            return read(z.data(), F);
        }

        Rows<T> read(const float* x, int64_t K) { return reader.read(x, s.rows, K); }

        Rows<T> normalized(const Norm& norm) {
            z.resize(s.rows * E);
            for (int64_t r = 0; r < s.rows; ++r) norm.apply(s.x + r * E, &z[r * E]);
            return read(z.data(), E);
        }

        // What a sublayer reads of x.
        Rows<T> enter(const Norm& norm) {
            return model.shape_.pre_norm ? normalized(norm) : read(s.x, E);
        }

        void leave(const Linear<T>& linear, const Norm& norm) {
            join(linear, read(scratch.attended.data(), E), norm);
        }

        // x + y, in post-norm normalised.
        void join(const Linear<T>& linear, const Rows<T>& rows, const Norm& norm) {
            apply(linear, rows, [&](int64_t r, int64_t n, vec y) { add_to(s.x + r * E + n, y); });
            if (model.shape_.pre_norm) return;
            for (int64_t r = mine.from; r < mine.to; ++r) norm.apply(s.x + r * E, s.x + r * E);
            team.wait();
        }

        template <class Emit>
        void apply(const Linear<T>& linear, const Rows<T>& rows, const Emit& emit) {
            linear.apply(rows, s.rows, team, rank, emit);
            team.wait();
        }
    };

    Shape shape_;
    std::vector<Layer> layers_;
    Norm norm_;
    Linear<T> output_;
};

std::unique_ptr<Transformer> make(const Shape& shape, const TransformerWeights& weights, bool int8) {
    if (int8) return std::make_unique<Decoder<Quantized>>(shape, weights);
    return std::make_unique<Decoder<float>>(shape, weights);
}

}  // namespace unspool::ISA
