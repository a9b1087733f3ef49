// The kernels on several threads at once, for the thread sanitizer (`make sanitize`), which does not
// understand OpenMP's own synchronisation: here the threads are std::thread. Every kind runs forwards
// and back, once alone and once as a team; the results must agree.
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "kernels.h"

using namespace unspool;

namespace {

constexpr int64_t H = 64, I = 32, B = 9, T = 13, THREADS = 3;
using Array = std::vector<float>;

struct Arrays {
    Array x, W, b, U, extra, h0, c0, gates, h, c, inner, h_end, c_end;
    Array dh, dx, du, dinner, dextra, dh0, dc0, packed;
};

Array random(int64_t size, float scale, std::mt19937& generator) {
    std::normal_distribution<float> normal(0, scale);
    Array found(size);
    for (float& value : found) value = normal(generator);
    return found;
}

Arrays make(int gates, int64_t N) {
    std::mt19937 generator(1);
    const auto filled = [&](int64_t size, float scale) { return random(size, scale, generator); };
    const auto empty = [](int64_t size) { return Array(size); };
    const int64_t G = gates;
    return {filled(N * I, 1),      filled(G * H * I, .1f), filled(G * H, .1f), filled(G * H * H, .1f),
            filled(3 * H, .1f),    filled(B * H, 1),       filled(B * H, 1),   empty(N * G * H),
            empty(N * H),          empty(N * H),           empty(N * H),       empty(B * H),
            empty(B * H),          filled(N * H, 1),       empty(N * I),       empty(N * G * H),
            empty(N * H),          empty(3 * H),           filled(B * H, 1),   filled(B * H, 1),
            empty(G * H * (H + I))};
}

Job<float> job_of(Arrays& a, const Steps& steps) {
    return {steps,          0,              B,              H,              I,
            false,          a.x.data(),     a.W.data(),     a.b.data(),     a.U.data(),
            a.extra.data(), a.h0.data(),    a.c0.data(),    a.gates.data(), a.h.data(),
            a.c.data(),     a.inner.data(), a.h_end.data(), a.c_end.data(), a.h0.data(),
            a.h.data(),     a.dh.data(),    a.dx.data(),    a.du.data(),    a.dinner.data(),
            a.dextra.data(), a.dh0.data(),  a.dc0.data()};
}

void run(Kernel<float> kernel, const Job<float>& job, Arrays& a, int size) {
    Team team(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] { kernel(job, a.packed.data(), team, rank); });
    for (auto& thread : threads) thread.join();
}

float difference(const Array& a, const Array& b) {
    float largest = 0;
    for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
    return largest;
}

}  // namespace

int main() {
    // Lengths 13, 13, 10, 7, 7, 5, 2, 1, 1: the rows of each time, and for scans of each sequence.
    const std::vector<int64_t> lengths{13, 13, 10, 7, 7, 5, 2, 1, 1};
    std::vector<int64_t> by_time{0}, by_sequence{0};
    for (int64_t t = 0; t < T; ++t) {
        int64_t running = 0;
        for (int64_t length : lengths) running += length > t;
        by_time.push_back(by_time.back() + running);
    }
    for (int64_t length : lengths) by_sequence.push_back(by_sequence.back() + length);
    const int64_t N = by_time.back();
    bool failed = false;
    for (int kind = 0; kind <= static_cast<int>(Kind::minlstm); ++kind)
        for (bool reverse : {false, true}) {
            const Pair<float> pair = baseline::find<float>(static_cast<Kind>(kind));
            const Steps steps = pair.recurrent ? Steps{T, by_time.data(), reverse}
                                               : Steps{B, by_sequence.data(), reverse};
            Arrays alone = make(pair.gates, N), team = make(pair.gates, N);
            for (Arrays* arrays : {&alone, &team}) {
                const int size = arrays == &alone ? 1 : THREADS;
                run(pair.forward, job_of(*arrays, steps), *arrays, size);
                run(pair.backward, job_of(*arrays, steps), *arrays, size);
            }
            const float off = std::max({difference(alone.h, team.h), difference(alone.du, team.du),
                                        difference(alone.dx, team.dx),
                                        difference(alone.dh0, team.dh0),
                                        difference(alone.h_end, team.h_end)});
            if (!(off < 1e-4f)) {
                std::printf("kind %d, reverse %d: off by %g\n", kind, reverse, off);
                failed = true;
            }
        }
    std::puts(failed ? "failed" : "every kind agrees");
    return failed;
}
