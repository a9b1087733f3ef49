// What the word2vec kernel is given: a part of a corpus, and the two matrices it learns.
#pragma once

#include <atomic>
#include <cstdint>

namespace unspool {

struct Word2vec {
    // The corpus: raw ids of `width` bytes each, cut into pieces at `offsets`.
    const void* ids;
    int64_t width;
    const int64_t* offsets;
    const int32_t* words;  // raw id -> word, or -1: left out

    // The vocabulary, V words.
    int64_t V;
    const float* keep;     // (V) probability that an occurrence is read
    const float* share;    // (V) alias table of the noise distribution:
    const int32_t* alias;  // (V) word i with probability share[i], otherwise word alias[i]

    // The vectors: (V, E) of words that are read and of words that are predicted. E is a multiple
    // of 16; the elements beyond the vectors' own size are zero and stay so.
    int64_t E;
    float* in;
    float* out;

    int64_t window, negatives;
    bool cbow;
    uint64_t seed;             // of this epoch
    double rate, slope, floor;  // the learning rate at token t: max(rate - slope * t, floor)
};

// A block of about this many tokens at a time goes to the next thread that is free.
constexpr int64_t BLOCK = 8192;

// Learns from pieces `from` to `to`; called by each thread, with one `next` (0 at first) for all.
using TrainWord2vec = void (*)(const Word2vec&, int64_t from, int64_t to, std::atomic<int64_t>& next);

// Defined by word2vec.cpp, once for each instruction set.
namespace baseline { void train_word2vec(const Word2vec&, int64_t, int64_t, std::atomic<int64_t>&); }
namespace avx2 { void train_word2vec(const Word2vec&, int64_t, int64_t, std::atomic<int64_t>&); }
namespace avx512 { void train_word2vec(const Word2vec&, int64_t, int64_t, std::atomic<int64_t>&); }

}  // namespace unspool
