// Products of bf16 in the tiles of AMX: 16 rows of 32 values times 32 values of 16 columns at once.
//
// `Unit` stands for the processor's instructions, so that tests can put plain code in their place.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vec.h"

namespace unspool::ISA {

constexpr int TILE_ROWS = 16, TILE_DEPTH = 32, TILE_COLUMNS = 16;

// Names of the tiles: sums of the upper and the lower rows, their values, and two panels of weights.
enum Tile { upper_left, upper_right, lower_left, lower_right, upper_rows, lower_rows, left, right };

// sums (rows, V, 16) += a (rows, K) times a panel (K / 2, V, 16, 2); rows <= 32, K a multiple of 32.
template <class Unit, int V>
void multiply_in_tiles(int rows, const bf16* a, int64_t stride, const bf16* panel, int64_t K, float* sums) {
    const int upper = std::min(rows, TILE_ROWS), lower = rows - upper;
    const int64_t row_bytes = stride * sizeof(bf16), sum_bytes = V * TILE_COLUMNS * sizeof(float);
    const int64_t panel_bytes = V * TILE_COLUMNS * 2 * sizeof(bf16);
    const bf16* a_lower = a + TILE_ROWS * stride;
    Unit::configure(upper, lower);
    for (int v = 0; v < V; v += 2) {
        const bool two = v + 1 < V;
        float *to = sums + v * TILE_COLUMNS, *to_lower = to + TILE_ROWS * V * TILE_COLUMNS;
        Unit::template load<upper_left>(to, sum_bytes);
        if (two) Unit::template load<upper_right>(to + TILE_COLUMNS, sum_bytes);
        if (lower) Unit::template load<lower_left>(to_lower, sum_bytes);
        if (lower && two) Unit::template load<lower_right>(to_lower + TILE_COLUMNS, sum_bytes);
        for (int64_t k = 0; k < K; k += TILE_DEPTH) {
            const bf16* weights = panel + (k * V + v * 2) * TILE_COLUMNS;
            Unit::template load<upper_rows>(a + k, row_bytes);
            Unit::template load<left>(weights, panel_bytes);
            Unit::template add_product<upper_left, upper_rows, left>();
            if (lower) {
                Unit::template load<lower_rows>(a_lower + k, row_bytes);
                Unit::template add_product<lower_left, lower_rows, left>();
            }
            if (two) {
                Unit::template load<right>(weights + 2 * TILE_COLUMNS, panel_bytes);
                Unit::template add_product<upper_right, upper_rows, right>();
                if (lower) Unit::template add_product<lower_right, lower_rows, right>();
            }
        }
        Unit::template store<upper_left>(to, sum_bytes);
        if (two) Unit::template store<upper_right>(to + TILE_COLUMNS, sum_bytes);
        if (lower) Unit::template store<lower_left>(to_lower, sum_bytes);
        if (lower && two) Unit::template store<lower_right>(to_lower + TILE_COLUMNS, sum_bytes);
    }
}

#if defined(__AMX_BF16__)

// Assembler, as the compiler's own functions take no template arguments.
struct Amx {
    // Each thread has tiles of its own; `release` gives them back once a kernel is done.
    static inline thread_local int configured = 0;

    // The rows of the upper and the lower tiles; a tile of no rows is not allowed, though not used.
    static void configure(int upper, int lower) {
        const int wanted = upper * 100 + lower;
        if (configured == wanted) return;
        struct {
            uint8_t palette = 1, start_row = 0, reserved[14] = {};
            uint16_t row_bytes[16] = {};
            uint8_t rows[16] = {};
        } shape;
        for (int tile = 0; tile < 8; ++tile) {
            shape.row_bytes[tile] = 64;
            shape.rows[tile] = TILE_ROWS;
        }
        for (Tile tile : {upper_left, upper_right, upper_rows}) shape.rows[tile] = upper;
        for (Tile tile : {lower_left, lower_right, lower_rows}) shape.rows[tile] = std::max(lower, 1);
        asm volatile("ldtilecfg %0" ::"m"(shape));
        configured = wanted;
    }
    static void release() {
        if (configured) asm volatile("tilerelease");
        configured = 0;
    }
    template <int TO>
    static void load(const void* from, int64_t stride) {
        asm volatile("tileloadd (%0, %1, 1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(TO) : "memory");
    }
    template <int FROM>
    static void store(void* to, int64_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0, %1, 1)" ::"r"(to), "r"(stride), "i"(FROM) : "memory");
    }
    template <int SUMS, int A, int B>
    static void add_product() {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(SUMS), "i"(A), "i"(B));
    }
};

#endif

}  // namespace unspool::ISA
