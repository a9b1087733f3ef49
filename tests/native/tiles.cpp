// The tile instructions of AMX, imitated where the processor has none: each raises SIGILL, and the
// handler here does what Intel's manual (volume 2, LDTILECFG, TILELOADD, TDPBF16PS, ...) says it does.
// So the very code that runs on a processor with AMX is checked against a plain product.
//
// Built with -mamx-tile -mamx-bf16 but without -mavx512bf16; prints "tiles agree".
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <ucontext.h>
#include <vector>

#include "tiles.h"

using namespace unspool;
using namespace unspool::ISA;

namespace {

struct Shape {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
Shape shape{};
alignas(64) uint8_t tiles[8][16][64];
long executed = 0;

[[noreturn]] void fail(const char* why) {
    std::fprintf(stderr, "tiles: %s\n", why);
    std::_Exit(1);
}

void check(int tile) {
    if (shape.palette != 1 || !shape.rows[tile]) fail("a tile is used that is not configured");
}

float value(const uint8_t* at) {
    uint16_t upper;
    std::memcpy(&upper, at, 2);
    const uint32_t bits = static_cast<uint32_t>(upper) << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

void load_shape(const Shape& wanted) {
    for (int tile = 0; tile < 16; ++tile) {
        const int rows = wanted.rows[tile], bytes = wanted.row_bytes[tile];
        if (tile < 8 ? rows > 16 || bytes > 64 || !rows != !bytes : rows || bytes)
            fail("a shape that the processor would refuse");
    }
    shape = wanted;
    std::memset(tiles, 0, sizeof tiles);
}

void add_product(int sums, int a, int b) {
    for (int tile : {sums, a, b}) check(tile);
    if (shape.rows[a] != shape.rows[sums] || shape.rows[b] * 4 != shape.row_bytes[a] ||
        shape.row_bytes[b] != shape.row_bytes[sums])
        fail("tiles of different shapes in one product");
    for (int m = 0; m < shape.rows[sums]; ++m)
        for (int n = 0; n < shape.row_bytes[sums] / 4; ++n) {
            float sum;
            std::memcpy(&sum, &tiles[sums][m][4 * n], 4);
            for (int k = 0; k < shape.row_bytes[a] / 4; ++k)
                for (int half : {0, 2})
                    sum += value(&tiles[a][m][4 * k + half]) * value(&tiles[b][k][4 * n + half]);
            std::memcpy(&tiles[sums][m][4 * n], &sum, 4);
        }
}

// One instruction: C4, two bytes of prefix, the operation, operands.
struct Instruction {
    const uint8_t* at;
    greg_t* registers;
    int length = 5;

    int reg() const { return (at[4] >> 3 & 7) | (at[1] & 0x80 ? 0 : 8); }
    int rm() const { return at[4] & 7; }
    int vvvv() const { return ~(at[2] >> 3) & 15; }
    int prefix() const { return at[2] & 3; }
    bool in_memory() const { return at[4] >> 6 != 3; }

    greg_t general(int number) const {
        constexpr int ORDER[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                 REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
        return registers[ORDER[number]];
    }
    // [base + index · 2^scale + displacement]; the tile instructions take the index as a stride.
    uint8_t* address(int64_t* stride = nullptr) {
        const int mod = at[4] >> 6;
        int base = rm();
        int64_t index = 0;
        if (base == 4) {
            const uint8_t sib = at[length++];
            base = sib & 7;
            const int number = (sib >> 3 & 7) | (at[1] & 0x40 ? 0 : 8);
            if (number != 4) index = general(number) << (sib >> 6);
        }
        int64_t displacement = 0;
        if (mod == 1) displacement = static_cast<int8_t>(at[length]), length += 1;
        if (mod == 2 || (mod == 0 && base == 5)) {
            int32_t wide;
            std::memcpy(&wide, at + length, 4);
            displacement = wide, length += 4;
        }
        if (mod == 0 && base == 5) fail("an address that is not imitated");
        if (stride) *stride = index, index = 0;
        return reinterpret_cast<uint8_t*>(general(base | (at[1] & 0x20 ? 0 : 8)) + index + displacement);
    }
};

void imitate(int, siginfo_t*, void* context) {
    auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    Instruction i{reinterpret_cast<const uint8_t*>(registers[REG_RIP]), registers};
    if (i.at[0] != 0xC4 || (i.at[1] & 31) != 2) fail("an instruction that is not one of AMX");
    const uint8_t operation = i.at[3];
    int64_t stride;
    if (operation == 0x49 && i.prefix() == 0 && i.in_memory()) {
        load_shape(*reinterpret_cast<const Shape*>(i.address()));
    } else if (operation == 0x49 && i.prefix() == 0) {  // tilerelease
        shape = {};
    } else if (operation == 0x4B && (i.prefix() == 3 || i.prefix() == 2)) {
        uint8_t* memory = i.address(&stride);
        check(i.reg());
        for (int row = 0; row < shape.rows[i.reg()]; ++row) {
            uint8_t* there = memory + row * stride;
            if (i.prefix() == 3) std::memcpy(tiles[i.reg()][row], there, shape.row_bytes[i.reg()]);
            else std::memcpy(there, tiles[i.reg()][row], shape.row_bytes[i.reg()]);
        }
    } else if (operation == 0x5C && i.prefix() == 2) {
        add_product(i.reg(), i.rm(), i.vvvv());
    } else {
        fail("an instruction of AMX that is not imitated");
    }
    ++executed;
    registers[REG_RIP] += i.length;
}

// sums (rows, V·16) for random numbers, by tiles and plainly; the largest difference.
template <int V>
float difference(int rows, int64_t K) {
    std::mt19937 generator(rows * 100 + V);
    std::normal_distribution<float> normal;
    const int64_t stride = K + 32;
    const auto random = [&](int64_t size) {
        std::vector<bf16> found(size);
        for (auto& x : found) {
            const float full = normal(generator);
            std::memcpy(&x, reinterpret_cast<const char*>(&full) + 2, 2);
        }
        return found;
    };
    const auto a = random(rows * stride), panel = random(K * V * 16);
    std::vector<float> sums(rows * V * 16, 1.0f);
    multiply_in_tiles<Amx, V>(rows, a.data(), stride, panel.data(), K, sums.data());
    Amx::release();
    const auto at = [](const bf16& x) { return value(reinterpret_cast<const uint8_t*>(&x)); };
    float worst = 0;
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < V; ++v)
            for (int lane = 0; lane < 16; ++lane) {
                float wanted = 1;
                for (int64_t k = 0; k < K; ++k)
                    wanted += at(a[r * stride + k]) * at(panel[((k / 2 * V + v) * 16 + lane) * 2 + k % 2]);
                worst = std::max(worst, std::abs(wanted - sums[(r * V + v) * 16 + lane]));
            }
    return worst;
}

}  // namespace

int main() {
    struct sigaction action {};
    action.sa_sigaction = imitate;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, nullptr);
    float worst = 0;
    for (int rows : {1, 7, 15, 16, 17, 31, 32})
        for (int64_t K : {32, 96}) {
            worst = std::max({worst, difference<1>(rows, K), difference<2>(rows, K)});
            worst = std::max({worst, difference<3>(rows, K), difference<4>(rows, K)});
        }
    if (!(worst < 1e-3f)) fail("the products differ");
    std::printf("tiles agree, %ld instructions imitated\n", executed);
}
