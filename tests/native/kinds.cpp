// Every recurrent kernel on its own, without Python, for the sanitizers (`make sanitize`) and for other
// processors (`make arm`): forwards and back, once alone and once as a team of std::thread, as the thread
// sanitizer does not understand OpenMP's own synchronisation. Both must agree, with each other and with the
// equations in plain code (plain_cells.h).
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "kernels.h"
#include "plain_cells.h"
#include "vec.h"  // which instruction set this is compiled for

using namespace unspool;

namespace {

using T = NUMBER;
constexpr int64_t H = 64, I = 32, B = 9, TIMES = 13, THREADS = 3;
using Array = std::vector<float>;
using Numbers = std::vector<T>;

struct Arrays {
    Numbers x;
    Array W, b, U, extra, h0, c0, gates, h, c;
    Numbers inner;
    Array h_end, c_end;
    Numbers h0_read, h_read, c0_read, c_read;
    Array dh, dx;
    Numbers du, dinner;
    Array dextra, dh0, dc0, db;
    Numbers packed;
};

T number(float value) {
    T upper;  // of a float, all of it
    std::memcpy(&upper, reinterpret_cast<const char*>(&value) + 4 - sizeof upper, sizeof upper);
    return upper;
}

float value(T number) {
    float found = 0;
    std::memcpy(reinterpret_cast<char*>(&found) + 4 - sizeof number, &number, sizeof number);
    return found;
}

Array values(const Numbers& numbers) {
    Array found;
    for (T each : numbers) found.push_back(value(each));
    return found;
}

Arrays make(int64_t G, int64_t N) {
    std::mt19937 generator(1);
    const auto random = [&](int64_t size, float scale) {
        std::normal_distribution<float> normal(0, scale);
        Array found(size);
        for (float& each : found) each = normal(generator);
        return found;
    };
    const auto numbers = [](const Array& from) {
        Numbers found;
        for (float each : from) found.push_back(number(each));
        return found;
    };
    Arrays a;
    a.x = numbers(random(N * I, 1));
    // Weights that T holds exactly.
    const auto exact = [&](const Array& from) { return values(numbers(from)); };
    a.W = exact(random(G * H * I, .1f));
    a.b = random(G * H, .1f);
    a.U = exact(random(G * H * H, .1f));
    a.extra = exact(random(3 * H * H, .1f));
    a.h0 = random(B * H, 1);
    a.c0 = random(B * H, 1);
    a.h0_read = numbers(a.h0);
    a.c0_read = numbers(a.c0);
    for (Array* rows : {&a.h, &a.c}) rows->resize(N * H);
    for (Numbers* rows : {&a.inner, &a.h_read, &a.c_read, &a.dinner}) rows->resize(N * H);
    for (Array* ends : {&a.h_end, &a.c_end}) ends->resize(B * H);
    a.gates.resize(N * G * H);
    a.dh = random(N * H, 1);
    a.dx.resize(N * I);
    a.du.resize(N * G * H);
    a.dextra.resize(3 * H);
    a.dh0 = random(B * H, 1);
    a.dc0 = random(B * H, 1);
    a.db.resize(G * H);
    a.packed.resize(H * (7 * H + G * I));
    return a;
}

Job<T> job_of(Arrays& a, const Steps& steps) {
    constexpr bool same = std::is_same_v<T, float>;
    T* h_read = same ? reinterpret_cast<T*>(a.h.data()) : a.h_read.data();
    const T* h0_read = same ? reinterpret_cast<T*>(a.h0.data()) : a.h0_read.data();
    T* c_read = same ? reinterpret_cast<T*>(a.c.data()) : a.c_read.data();
    const T* c0_read = same ? reinterpret_cast<T*>(a.c0.data()) : a.c0_read.data();
    return {.steps = steps, .from = 0, .to = B, .H = H, .I = I, .update_new = false, .pack = true,
            .x = a.x.data(), .W = a.W.data(), .b = a.b.data(), .U = a.U.data(), .extra = a.extra.data(),
            .h0 = a.h0.data(), .c0 = a.c0.data(), .gates = a.gates.data(), .h = a.h.data(), .c = a.c.data(),
            .inner = a.inner.data(), .h_end = a.h_end.data(), .c_end = a.c_end.data(),
            .h0_read = h0_read, .h_read = h_read, .c0_read = c0_read, .c_read = c_read, .mask = nullptr,
            .dh = a.dh.data(), .dx = a.dx.data(), .du = a.du.data(), .dinner = a.dinner.data(),
            .dextra = a.dextra.data(), .dh0 = a.dh0.data(), .dc0 = a.dc0.data(), .db = a.db.data()};
}

void run(Kernel<T> kernel, const Job<T>& job, Arrays& a, int size) {
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

// The largest value, at least 1.
template <class Values>
double size_of(const Values& values) {
    double largest = 1;
    for (double each : values) largest = std::max(largest, std::fabs(each));
    return largest;
}

// Both are of rounding: of sums of H + I products over TIMES steps in float, of factors in bf16.
const double OUTPUT = sizeof(T) == 4 ? 8 * 6e-8 * std::sqrt((H + I) * TIMES) : 4 * 4e-3 * std::sqrt(TIMES);
const double GRADIENT = sizeof(T) == 4 ? 1e-4 : 4 * 4e-3 * std::sqrt(TIMES);

// Whether states and gradients are those of the equations. Of the gradient by everything that goes in,
// what is looked at is its product with a random direction, which the equations give by differences.
bool follows_equations(Kind kind, const Arrays& given, const Arrays& found, int64_t G,
                       const plain::Rows& rows) {
    plain::Point point{{}, plain::doubles(given.h0), plain::doubles(given.c0), plain::doubles(given.extra)};
    const Array x = values(given.x), du = values(found.du);
    for (int64_t n = 0; n < rows.count(); ++n)
        for (int64_t g = 0; g < G * H; ++g) {
            double u = given.b[g];
            for (int64_t k = 0; k < I; ++k) u += double(given.W[g * I + k]) * x[n * I + k];
            point.u.push_back(u);
        }
    const plain::States wanted = plain::run(kind, H, G, given.U, point, rows);
    double off = 0;
    for (size_t i = 0; i < wanted.h.size(); ++i) off = std::max(off, std::fabs(wanted.h[i] - found.h[i]));
    for (size_t i = 0; i < wanted.h_end.size(); ++i)
        off = std::max(off, std::fabs(wanted.h_end[i] - found.h_end[i]));
    bool good = off < OUTPUT * size_of(wanted.h);
    if (!good) std::printf("kind %d: states off by %g\n", static_cast<int>(kind), off);

    std::mt19937 generator(2);
    std::normal_distribution<double> normal;
    plain::Point ahead = point, behind = point;
    double along = 0, length = 0;
    const auto move = [&](std::vector<double> plain::Point::*field, const Array& gradient) {
        for (size_t i = 0; i < gradient.size(); ++i) {  // of `extra` only vectors have one
            const double direction = normal(generator);
            (ahead.*field)[i] += 1e-6 * direction;
            (behind.*field)[i] -= 1e-6 * direction;
            along += direction * gradient[i];
            length += gradient[i] * gradient[i];
        }
    };
    move(&plain::Point::u, du);
    move(&plain::Point::h0, found.dh0);
    if (plain::has_cell_state(kind)) move(&plain::Point::c0, found.dc0);
    if (kind == Kind::peephole || kind == Kind::gru_after) move(&plain::Point::extra, found.dextra);
    const auto loss = [&](const plain::Point& at) {
        const plain::States states = plain::run(kind, H, G, given.U, at, rows);
        double total = 0;
        for (size_t i = 0; i < states.h.size(); ++i) total += given.dh[i] * states.h[i];
        for (size_t i = 0; i < states.h_end.size(); ++i) total += given.dh0[i] * states.h_end[i];
        for (size_t i = 0; i < states.c_end.size(); ++i) total += given.dc0[i] * states.c_end[i];
        return total;
    };
    const double slope = (loss(ahead) - loss(behind)) / 2e-6;
    // Rounded to bf16, a unit may lie on the other side of a kink: there only float can be compared.
    const bool kink = kind == Kind::elman_relu || kind == Kind::elman_leaky_relu || kind == Kind::elman_maxout;
    const bool comparable = sizeof(T) == 4 || !kink;
    if (comparable && !(std::fabs(slope - along) < GRADIENT * std::sqrt(length))) {
        std::printf("kind %d: a slope of %g, not %g\n", static_cast<int>(kind), along, slope);
        good = false;
    }

    Array dx(found.dx.size()), db(found.db.size());
    for (int64_t n = 0; n < rows.count(); ++n)
        for (int64_t g = 0; g < G * H; ++g) {
            db[g] += du[n * G * H + g];
            for (int64_t k = 0; k < I; ++k) dx[n * I + k] += du[n * G * H + g] * given.W[g * I + k];
        }
    for (const auto& [mine, plain] : {std::pair{&found.dx, &dx}, {&found.db, &db}})
        if (!(difference(*mine, *plain) < OUTPUT * size_of(*plain))) {
            std::printf("kind %d: dx or db off\n", static_cast<int>(kind));
            good = false;
        }
    return good;
}

}  // namespace

int main() {
    // Lengths 13, 13, 10, 7, 7, 5, 2, 1, 1: the rows of each time, and for scans of each sequence.
    const std::vector<int64_t> lengths{13, 13, 10, 7, 7, 5, 2, 1, 1};
    std::vector<int64_t> by_time{0}, by_sequence{0};
    for (int64_t t = 0; t < TIMES; ++t) {
        int64_t running = 0;
        for (int64_t length : lengths) running += length > t;
        by_time.push_back(by_time.back() + running);
    }
    for (int64_t length : lengths) by_sequence.push_back(by_sequence.back() + length);
    const int64_t N = by_time.back();
    bool failed = false;
    for (int kind = 0; kind <= static_cast<int>(Kind::minlstm); ++kind)
        for (bool reverse : {false, true}) {
            const Pair<T> pair = ISA::find<T>(static_cast<Kind>(kind));
            const Steps steps = pair.recurrent ? Steps{TIMES, by_time.data(), reverse}
                                               : Steps{B, by_sequence.data(), reverse};
            Arrays alone = make(pair.gates, N), team = make(pair.gates, N);
            const Arrays given = alone;
            for (Arrays* arrays : {&alone, &team}) {
                const int size = arrays == &alone ? 1 : THREADS;
                run(pair.forward, job_of(*arrays, steps), *arrays, size);
                run(pair.backward, job_of(*arrays, steps), *arrays, size);
            }
            const float off = std::max({difference(alone.h, team.h),
                                        difference(values(alone.du), values(team.du)),
                                        difference(alone.dx, team.dx), difference(alone.dh0, team.dh0),
                                        difference(alone.h_end, team.h_end)});
            // Other shares of the units, other orders of the sums: in bf16 a number may round the other way.
            if (!(off < (sizeof(T) == 4 ? 1e-4f : 1e-2f))) {
                std::printf("kind %d, reverse %d: off by %g\n", kind, reverse, off);
                failed = true;
            }
            const plain::Rows rows{lengths, by_time, by_sequence, !pair.recurrent, reverse};
            if (!follows_equations(static_cast<Kind>(kind), given, alone, pair.gates, rows)) failed = true;
        }
    std::puts(failed ? "failed" : "every kind agrees");
    return failed;
}
