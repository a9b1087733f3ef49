// Compiled once for each instruction set and each kind of NUMBER.
#include "attention_decoder.h"

#include <cmath>

#include "sequence.h"

namespace unspool::ISA {

// Vectors of a memory that are read together.
constexpr int WIDE = 64 / LANES > 1 ? 64 / LANES : 2;

INLINE float top(vec v) {
    float highest = v[0];
    for (int lane = 1; lane < LANES; ++lane) highest = std::max(highest, v[lane]);
    return highest;
}

// Calls body(Int<V>, j) for blocks of V vectors that cover `size` values.
template <int V, class Body>
INLINE void for_values(int64_t size, const Body& body) {
    int64_t j = 0;
    for (; j + V * LANES <= size; j += V * LANES) body(Int<V>{}, j);
    for (; j < size; j += LANES) body(Int<1>{}, j);
}

// One memory as attention reads it.
template <class T>
struct Reading {
    const AttentionJob<T>& job;
    const float *keys, *values;
    const int32_t* positions;
    int64_t count, source;

    Reading(const AttentionJob<T>& job, int64_t row) : job(job) {
        source = job.sources[row];
        keys = job.keys + source * job.S * job.A;
        values = job.values + source * job.S * job.D;
        positions = job.positions + source * job.S;
        count = job.counts[source];
    }

    // `covered`: κ of the position.
    float score(const float* q, const float* key, float covered) const {
        vec total[2] = {};
        if (job.tanh && job.w_k) {
            for (int64_t a = 0; a < job.A; a += LANES)
                total[0] += load(job.v + a) * ISA::tanh(load(q + a) + load(key + a) + covered * load(job.w_k + a));
        } else if (job.tanh) {
            for (int64_t a = 0; a < job.A; a += LANES)
                total[0] += load(job.v + a) * ISA::tanh(load(q + a) + load(key + a));
        } else {
            for_values<2>(job.A, [&]<int V>(Int<V>, int64_t a) {
                for (int v = 0; v < V; ++v)
                    total[v] += load(q + a + v * LANES) * load(key + a + v * LANES);
            });
        }
        return sum(total[0] + total[1]);
    }

    // α (S) and c (D), zeros where nothing is real.
    void forward(const float* q, const float* coverage, float* alignment, float* context) const {
        std::fill_n(alignment, job.S, 0.0f);
        float highest = -INFINITY, total = 0;
        for (int64_t i = 0; i < count; ++i) {
            const float e = score(q, keys + positions[i] * job.A, coverage ? coverage[positions[i]] : 0.0f);
            highest = std::max(highest, e);
            alignment[positions[i]] = e;
        }
        for (int64_t i = 0; i < count; ++i) {
            float& e = alignment[positions[i]];
            total += e = std::exp(e - highest);
        }
        for (int64_t i = 0; i < count; ++i) alignment[positions[i]] /= total;
        for_values<WIDE>(job.D, [&]<int V>(Int<V>, int64_t d) {
            vec c[V] = {};
            for (int64_t i = 0; i < count; ++i) {
                const int64_t p = positions[i];
                for (int v = 0; v < V; ++v)
                    c[v] += alignment[p] * load(values + p * job.D + d + v * LANES);
            }
            for (int v = 0; v < V; ++v) store(context + d + v * LANES, c[v]);
        });
    }

    // From the gradient by c that by e: de = α ⊙ (v dc - α' v dc). What else comes by α is added to v dc.
    void scores_gradient(const float* alignment, const float* dcontext, const float* dalignment,
                         const float* dcoverage, float* de) const {
        float mean = 0;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t p = positions[i];
            vec total[2] = {};
            for_values<2>(job.D, [&]<int V>(Int<V>, int64_t d) {
                for (int v = 0; v < V; ++v)
                    total[v] += load(dcontext + d + v * LANES) * load(values + p * job.D + d + v * LANES);
            });
            de[p] = sum(total[0] + total[1]);
            if (dalignment) de[p] += dalignment[p];
            if (dcoverage) de[p] += dcoverage[p];  // α is part of κ in all later steps
            mean += alignment[p] * de[p];
        }
        for (int64_t i = 0; i < count; ++i) {
            const int64_t p = positions[i];
            de[p] = alignment[p] * (de[p] - mean);
        }
    }

    // dq; with tanh also what this row adds to the gradients by the keys, by v, by w_k and by κ.
    void query_gradient(const float* q, const float* de, T* dq, float* dv, const float* coverage, float* dcoverage,
                        float* dw_k) const {
        float* const dkeys = job.dkeys + source * job.S * job.A;
        for_values<WIDE>(job.A, [&]<int V>(Int<V>, int64_t a) {
            vec by_q[V] = {}, by_v[V] = {}, by_w[V] = {}, query[V], weight[V], w_k[V];
            for (int v = 0; v < V; ++v) {
                query[v] = load(q + a + v * LANES);
                if (job.tanh) weight[v] = load(job.v + a + v * LANES);
                if (coverage) w_k[v] = load(job.w_k + a + v * LANES);
            }
            for (int64_t i = 0; i < count; ++i) {
                const int64_t p = positions[i];
                vec by_coverage{};
                for (int v = 0; v < V; ++v) {
                    const int64_t at = p * job.A + a + v * LANES;
                    const vec key = load(keys + at);
                    if (!job.tanh) {
                        by_q[v] += de[p] * key;
                        continue;
                    }
                    vec inner = query[v] + key;
                    if (coverage) inner += coverage[p] * w_k[v];
                    const vec z = ISA::tanh(inner);
                    const vec dz = de[p] * weight[v] * (1.0f - z * z);
                    by_v[v] += de[p] * z;
                    by_q[v] += dz;
                    add_to(dkeys + at, dz);
                    if (coverage) {
                        by_w[v] += coverage[p] * dz;
                        by_coverage += w_k[v] * dz;
                    }
                }
                if (coverage) dcoverage[p] += sum(by_coverage);
            }
            for (int v = 0; v < V; ++v) {
                store(dq + a + v * LANES, by_q[v]);
                if (job.tanh) add_to(dv + a + v * LANES, by_v[v]);
                if (coverage) add_to(dw_k + a + v * LANES, by_w[v]);
            }
        });
    }
};

template <class T>
class Pass {
  public:
    Pass(const AttentionJob<T>& job, const T* packed, Team& team, int rank)
        : job_(job), pair_(find<T>(job.kind)), team_(team), rank_(rank), packed_(const_cast<T*>(packed)) {
        T* next = packed_;
        for (const Job<T>& layer : job.layers) {
            of_layers_.push_back(next);
            next += layer_size(layer, pair_.gates);
        }
        W_q_ = next;
        W_c_ = next + job.A * job.H;
        W_o_ = W_c_ + job.H * (job.D + job.H);
        dv_ = at_or_null(job.dv, rank * job.A);
        dw_k_ = at_or_null(job.dw_k, rank * job.A);
    }

    void pack(bool backward, int part, int parts) {
        int64_t piece = 0;
        const auto mine = [&] { return piece++ % parts == part; };
        for (size_t k = 0; k < job_.layers.size(); ++k) {
            if (!mine()) continue;
            const int64_t none = 0;
            Job<T> layer = job_.layers[k];
            layer.steps = Steps{0, &none, false};  // no steps: the kernels pack and are done
            layer.from = layer.to = 0;
            layer.pack = true;
            (backward ? pair_.backward : pair_.forward)(layer, of_layers_[k], team_, rank_);
        }
        if (job_.W_q && mine()) pack_matrix(backward, job_.W_q, job_.A, job_.H, W_q_);
        if (job_.join && mine()) pack_matrix(backward, job_.W_c, job_.H, job_.D + job_.H, W_c_);
        if (job_.vocab && mine()) pack_matrix(backward, job_.W_o, job_.vocab, job_.H, W_o_);
    }

    void forward() {
        for (int64_t t = 0; t < job_.steps.count; ++t) {
            begin(t);
            if (from_ >= to_) break;
            if (job_.before) {
                make_query(t > 0 ? top().h_read + earlier_ * H : top().h0_read);
                attend(t);
            } else if (job_.feeding) {
                feed(t);
            }
            for (size_t k = 0; k < job_.layers.size(); ++k) {
                if (k) mask_states(k);
                run_layer(k, t, pair_.forward);
            }
            if (!job_.before) {
                if (job_.W_q) make_query(top().h_read + first_ * H);
                attend(t);
            }
            if (job_.join) join();
            if constexpr (std::is_same_v<T, float>)
                if (job_.vocab) score_tokens();
        }
    }

    void backward() {
        for (int64_t t = job_.steps.count - 1; t >= 0; --t) {
            begin(t);
            if (from_ >= to_) continue;
            if (job_.join) join_gradient();
            if (!job_.before) {
                attend_gradient();
                for_my_rows([&](int64_t row) { top_gradient(row); });
                team_.wait();
                if (job_.W_q) query_gradient(top().dh + first_ * H);
            }
            for (size_t k = job_.layers.size(); k-- > 0;) {
                run_layer(k, t, pair_.backward);
                team_.wait();
                if (k) for_my_rows([&](int64_t row) { below_gradient(k, row); });
                team_.wait();
            }
            if (job_.before) {
                for_my_rows([&](int64_t row) { context_gradient(row); });
                attend_gradient();
                query_gradient(top().dh0);
            } else if (job_.feeding) {
                for_my_rows([&](int64_t row) { fed_gradient(row); });
                team_.wait();  // the step before divides its rows otherwise
            }
        }
        memory_gradients();
    }

  private:
    // Which rows step t has.
    void begin(int64_t t) {
        first_ = job_.steps.first(t);
        earlier_ = t > 0 ? job_.steps.first(t - 1) : 0;
        from_ = job_.from;
        to_ = std::min(job_.to, job_.steps.rows(t));
    }

    const Job<T>& bottom() const { return job_.layers.front(); }
    const Job<T>& top() const { return job_.layers.back(); }
    T* fed(int64_t row) const {
        return const_cast<T*>(bottom().x) + (first_ + row) * bottom().I + job_.E;
    }

    // What is done row by row, each by one thread.
    template <class Body>
    void for_my_rows(const Body& body) const {
        const Share share(to_ - from_, rank_, team_.size);
        for (int64_t row = from_ + share.from; row < from_ + share.to; ++row) body(row);
    }

    template <class Row>
    void for_units(int64_t size, const Row& body) const {
        for (int64_t j = 0; j < size; j += LANES) body(j);
    }

    void run_layer(size_t k, int64_t t, Kernel<T> kernel) const {
        Job<T> layer = job_.layers[k];
        layer.steps = Steps{1, job_.steps.offsets + t, false};
        layer.from = from_;
        layer.to = to_;
        layer.pack = false;
        if (t > 0) {
            layer.h0 = layer.h + earlier_ * H;
            layer.c0 = at_or_null(layer.c, earlier_ * H);
            layer.h0_read = at_or_null(layer.h_read, earlier_ * H);
        }
        kernel(layer, of_layers_[k], team_, rank_);
    }

    // emit(row, j, y) with y = x W' for LANES of the outputs; x (rows, K) from row `from_` on.
    template <class Emit>
    void multiply_rows_by(const T* x, int64_t stride, int64_t K, int64_t outputs, const T* packed,
                          const Emit& emit) const {
        for_panels<PANEL>(Share(outputs / LANES, rank_, team_.size), [&]<int V>(Int<V>, int64_t group) {
            for_rows(from_, to_, [&](int64_t row, int rows) {
                vec sums[ROWS][V];
                std::fill_n(&sums[0][0], rows * V, vec{});
                multiply(rows, x + row * stride, stride, packed + group * K * LANES, K, sums);
                for (int r = 0; r < rows; ++r)
                    for (int v = 0; v < V; ++v) emit(row + r, (group + v) * LANES, sums[r][v]);
            });
        });
        team_.wait();
    }

    // W (N, K) for products with rows of K, or on the way back with rows of N.
    void pack_matrix(bool backward, const float* W, int64_t N, int64_t K, T* to) const {
        for_panels<PANEL>(Share((backward ? K : N) / LANES, rank_, team_.size),
                          [&]<int V>(Int<V>, int64_t group) {
                              if (backward) Columns<T>{W, K, N, to}.pack(group, V);
                              else Gates<1, T>{W, N, K, to}.pack(group, V);
                          });
    }

    void make_query(const T* states) const {
        multiply_rows_by(states, H, H, job_.A, W_q_, [&](int64_t row, int64_t a, vec q) {
            if (job_.b_q) q += load(job_.b_q + a);
            store(job_.q + (first_ + row) * job_.A + a, q);
        });
    }

    void attend(int64_t t) const {
        for_my_rows([&](int64_t row) {
            const int64_t n = first_ + row, S = job_.S;
            float* const context = job_.context + n * job_.D;
            float* const coverage = at_or_null(job_.coverage, n * S);
            if (coverage && t > 0) {
                const int64_t before = (earlier_ + row) * S;
                for (int64_t p = 0; p < S; ++p)
                    coverage[p] = job_.coverage[before + p] + job_.alignment[before + p];
            }
            Reading<T>(job_, row).forward(job_.q + n * job_.A, coverage, job_.alignment + n * S, context);
            if (job_.before)
                for_units(job_.D, [&](int64_t d) { store(fed(row) + d, load(context + d)); });
        });
        team_.wait();
    }

    void feed(int64_t t) const {
        for_my_rows([&](int64_t row) {
            const float* from = t > 0     ? job_.output + (earlier_ + row) * H
                                : job_.fed ? job_.fed + row * H
                                           : nullptr;
            for_units(H, [&](int64_t j) { store(fed(row) + j, from ? load(from + j) : vec{}); });
        });
        team_.wait();
    }

    void mask_states(size_t k) const {
        const Job<T>& layer = job_.layers[k];
        if (!layer.mask) return;
        for_my_rows([&](int64_t row) {
            const int64_t at = (first_ + row) * H;
            for_units(H, [&](int64_t j) {
                store(const_cast<T*>(layer.x) + at + j,
                      load(job_.layers[k - 1].h + at + j) * load(layer.mask + at + j));
            });
        });
        team_.wait();
    }

    void join() const {
        const int64_t D = job_.D, K = D + H;
        for_my_rows([&](int64_t row) {
            const int64_t n = first_ + row;
            T* const to = job_.joined + n * K;
            for_units(D, [&](int64_t d) { store(to + d, load(job_.context + n * D + d)); });
            for_units(H, [&](int64_t j) { store(to + D + j, load(top().h + n * H + j)); });
        });
        team_.wait();
        multiply_rows_by(job_.joined + first_ * K, K, K, H, W_c_, [&](int64_t row, int64_t j, vec a) {
            const int64_t at = (first_ + row) * H + j;
            const vec h = ISA::tanh(a);
            store(job_.output + at, job_.mask ? h * load(job_.mask + at) : h);
        });
    }

    void score_tokens() const {
        multiply_rows_by(job_.output + first_ * H, H, H, job_.vocab, W_o_,
                         [&](int64_t row, int64_t j, vec z) {
                             store(job_.logits + (first_ + row) * job_.vocab + j, z + load(job_.b_o + j));
                         });
    }

    // By what is inside the tanh, then by [c; s].
    void join_gradient() const {
        for_my_rows([&](int64_t row) {
            for_units(H, [&](int64_t j) {
                const int64_t at = (first_ + row) * H + j;
                vec h = load(job_.output + at), dh = load(job_.doutput + at);
                if (job_.feeding) dh += load(job_.dfed + row * H + j);
                if (job_.mask) {
                    const vec m = load(job_.mask + at);
                    h = m == 0.0f ? vec{} : h / m;
                    dh *= m;
                }
                store(job_.djoin + at, dh * (1.0f - h * h));
            });
        });
        team_.wait();
        multiply_rows_by(job_.djoin + first_ * H, H, H, job_.D + H, W_c_,
                         [&](int64_t row, int64_t j, vec d) {
                             const int64_t n = first_ + row;
                             if (j < job_.D) store(job_.dcontext + n * job_.D + j, d);
                             else store(top().dh + n * H + j - job_.D, d);
                         });
    }

    // What reaches the states of the top layer from outside, and of dot products through the query.
    void top_gradient(int64_t row) const {
        const int64_t n = first_ + row;
        for_units(H, [&](int64_t j) {
            float* const to = top().dh + n * H + j;
            vec dh = job_.join ? load(to) : load(job_.dstates + n * H + j);
            if (!job_.W_q) dh += load(job_.dq + n * job_.A + j);
            store(to, dh);
        });
    }

    void attend_gradient() const {
        for_my_rows([&](int64_t row) {
            const int64_t n = first_ + row;
            const Reading<T> reading(job_, row);
            const int64_t S = job_.S;
            float* const de = job_.dscores + n * S;
            float* const dcoverage = at_or_null(job_.dcoverage, row * S);
            reading.scores_gradient(job_.alignment + n * S, job_.dcontext + n * job_.D,
                                    at_or_null(job_.dalignment, n * S), dcoverage, de);
            reading.query_gradient(job_.q + n * job_.A, de, job_.dq + n * job_.A, dv_,
                                   at_or_null(job_.coverage, n * S), dcoverage, dw_k_);
        });
        team_.wait();
    }

    // The rows of `to` (·, H) += dq W_q.
    void query_gradient(float* to) const {
        multiply_rows_by(job_.dq + first_ * job_.A, job_.A, job_.A, H, W_q_,
                         [&](int64_t row, int64_t j, vec d) { add_to(to + row * H + j, d); });
    }

    void below_gradient(size_t k, int64_t row) const {
        const int64_t at = (first_ + row) * H;
        for_units(H, [&](int64_t j) {
            const vec d = load(job_.layers[k].dx + at + j);
            const float* const mask = job_.layers[k].mask;
            store(job_.layers[k - 1].dh + at + j, mask ? d * load(mask + at + j) : d);
        });
    }

    const float* dfed_at(int64_t row) const {
        return bottom().dx + (first_ + row) * bottom().I + job_.E;
    }

    void context_gradient(int64_t row) const {
        float* const to = job_.dcontext + (first_ + row) * job_.D;
        for_units(job_.D, [&](int64_t d) { add_to(to + d, load(dfed_at(row) + d)); });
    }

    void fed_gradient(int64_t row) const {
        for_units(H, [&](int64_t j) { store(job_.dfed + row * H + j, load(dfed_at(row) + j)); });
    }

    // dvalues_j = Σ_t α_tj dc_t, and of dot products dkeys_j = Σ_t de_tj q_t, of each whole sequence.
    void memory_gradients() const {
        const Share share(job_.to - job_.from, rank_, team_.size);
        for (int64_t row = job_.from + share.from; row < job_.from + share.to; ++row) {
            int64_t length = 0;
            while (length < job_.steps.count && job_.steps.rows(length) > row) ++length;
            const Reading<T> reading(job_, row);
            add_outer(reading, row, length, job_.alignment, job_.dcontext, job_.D, job_.dvalues);
            if (!job_.tanh)
                add_outer(reading, row, length, job_.dscores, job_.q, job_.A, job_.dkeys);
        }
    }

    void add_outer(const Reading<T>& reading, int64_t row, int64_t length, const float* weights,
                   const float* vectors, int64_t size, float* to) const {
        for (int64_t i = 0; i < reading.count; ++i) {
            const int64_t p = reading.positions[i];
            float* const row_of_memory = to + (reading.source * job_.S + p) * size;
            for_values<4>(size, [&]<int V>(Int<V>, int64_t d) {
                vec total[V] = {};
                for (int64_t t = 0; t < length; ++t) {
                    const int64_t n = job_.steps.first(t) + row;
                    const float weight = weights[n * job_.S + p];
                    for (int v = 0; v < V; ++v)
                        total[v] += weight * load(vectors + n * size + d + v * LANES);
                }
                for (int v = 0; v < V; ++v) add_to(row_of_memory + d + v * LANES, total[v]);
            });
        }
    }

    static constexpr int PANEL = 3;

    const AttentionJob<T>& job_;
    const int64_t H = job_.H;
    Pair<T> pair_;
    Team& team_;
    int rank_;
    T* packed_;
    std::vector<T*> of_layers_;
    T *W_q_, *W_c_, *W_o_;
    float *dv_, *dw_k_;
    int64_t first_ = 0, earlier_ = 0, from_ = 0, to_ = 0;
};

template <class T>
void release_tiles() {
#if defined(__AMX_BF16__)
    Amx::release();
#endif
}

template <class T>
AttentionKernels<T> attention_kernels() {
    return {
        [](const AttentionJob<T>& job, bool backward, T* packed, Team& team, int rank, int part,
           int parts) { Pass<T>(job, packed, team, rank).pack(backward, part, parts); },
        [](const AttentionJob<T>& job, const T* packed, Team& team, int rank) {
            Pass<T>(job, packed, team, rank).forward();
            release_tiles<T>();
        },
        [](const AttentionJob<T>& job, const T* packed, Team& team, int rank) {
            Pass<T>(job, packed, team, rank).backward();
            release_tiles<T>();
        },
        [](Kind kind) { return find<T>(kind).gates; },
    };
}

template AttentionKernels<NUMBER> attention_kernels();

}  // namespace unspool::ISA
