// The Python face: addresses of arrays in, nothing out but what is written to them. The caller,
// native/operator.py, owns the arrays and has checked their types and shapes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <omp.h>

#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.h"
#include "product.h"

namespace nb = nanobind;

namespace unspool {

const std::map<std::string, Kind> KINDS = {
    {"elman_sigmoid", Kind::elman_sigmoid},
    {"elman_tanh", Kind::elman_tanh},
    {"elman_relu", Kind::elman_relu},
    {"elman_leaky_relu", Kind::elman_leaky_relu},
    {"elman_elu", Kind::elman_elu},
    {"elman_maxout", Kind::elman_maxout},
    {"lstm", Kind::lstm},
    {"peephole", Kind::peephole},
    {"coupled", Kind::coupled},
    {"gru_after", Kind::gru_after},
    {"gru_before", Kind::gru_before},
    {"mingru", Kind::mingru},
    {"minlstm", Kind::minlstm},
};

Find find = baseline::find;

// The instruction sets that this build and this processor have, best first.
std::vector<std::string> instruction_sets() {
    std::vector<std::string> found;
#if defined(UNSPOOL_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        found.push_back("avx512");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back("avx2");
#endif
    found.push_back("baseline");
    return found;
}

void use(const std::string& name) {
    for (const auto& known : instruction_sets())
        if (known == name) {
            find = baseline::find;
#if defined(UNSPOOL_X86)
            if (name == "avx512") find = avx512::find;
            if (name == "avx2") find = avx2::find;
#endif
            return;
        }
    throw std::invalid_argument("this processor has no " + name);
}

using Addresses = std::vector<uintptr_t>;

// The order of the addresses is that of `Job`; for the way forward they end before dh.
Job make_job(const Addresses& a, const Steps& steps, int64_t H, int64_t I, bool take) {
    const auto at = [&](size_t place) {
        return place < a.size() ? reinterpret_cast<float*>(a[place]) : nullptr;
    };
    return {steps,  0,      steps.widest(), H,      I,      take,   at(0),  at(1),  at(2),  at(3),
            at(4),  at(5),  at(6),          at(7),  at(8),  at(9),  at(10), at(11), at(12), at(13),
            at(14), at(15), at(16),         at(17), at(18), at(19)};
}

// With fewer multiplications in all, one thread is done before another has woken up.
constexpr int64_t WORTH_SHARING = 1'000'000;
// With fewer multiplications a step, waiting for another thread costs more than it brings.
constexpr int64_t WORTH_WAITING = 500'000;
// With this many rows in all, packing the weights takes longer than reading them as they are.
constexpr int64_t WORTH_PACKING = 8;
// Weights of this many bytes stay in a core's second cache beside what passes through it.
constexpr int64_t CACHE = 800'000;
// A thread with fewer sequences than this reads weights more than it multiplies.
constexpr int64_t FEW = 12;

// How the threads divide the work. Directions and sequences are independent; within a group of
// sequences a team shares the units and waits for each other at each step.
struct Division {
    bool directions_apart = false;
    int groups = 1;   // of sequences, in each direction
    int members = 1;  // threads of a group's team

    Division(int threads, int directions, const Pair& pair, int64_t H, int64_t I,
             const Steps& steps) {
        const int64_t recurrent = pair.recurrent ? pair.gates * H * H : 0;
        const int64_t work = steps.offsets[steps.count] * (recurrent + pair.gates * H * I + 16 * H);
        if (work < WORTH_SHARING) return;
        directions_apart = threads >= directions;
        const int each = directions_apart ? threads / directions : threads;
        if (!recurrent) {
            groups = static_cast<int>(std::min<int64_t>(each, steps.count));
            members = each / groups;
            return;
        }
        const int64_t batch = steps.widest();
        if (recurrent * 4 <= CACHE && batch >= FEW * each)
            groups = static_cast<int>(std::min<int64_t>(each, batch));
        else if (work / steps.count >= WORTH_WAITING)
            members = static_cast<int>(std::min<int64_t>(each, H / 16));
    }
};

// Calls work(thread) on that many threads at once. False, and nothing done, where OpenMP grants fewer
// (a limit in the environment, a call out of a parallel region): a team would wait for ever.
template <class Work>
bool on_threads(int wanted, const Work& work) {
    if (wanted == 1) {
        work(0);
        return true;
    }
    bool granted = false;
#pragma omp parallel num_threads(wanted)
    {
        if (omp_get_num_threads() == wanted) {
            if (omp_get_thread_num() == 0) granted = true;
            work(omp_get_thread_num());
        }
    }
    return granted;
}

// Runs the kernel on the arrays of each direction.
void run(const std::string& name, bool backward, int64_t H, int64_t I, bool take, uintptr_t offsets,
         int64_t count, const std::vector<bool>& reverse, const std::vector<Addresses>& arrays,
         int threads) {
    const Pair pair = find(KINDS.at(name));
    const Kernel kernel = backward ? pair.backward : pair.forward;
    const auto directions = static_cast<int>(arrays.size());
    const Steps steps{count, reinterpret_cast<const int64_t*>(offsets), false};
    const bool pack = backward || steps.offsets[count] > WORTH_PACKING;
    const int64_t packed_size = pack ? pair.gates * H * (pair.recurrent * H + I) : 0;
    const Division division(threads, directions, pair, H, I, steps);

    nb::gil_scoped_release release;
    struct Group {
        Job job;
        float* packed;
        Team team;
    };
    std::vector<std::unique_ptr<Group>> groups;
    auto packed = baseline::buffer(packed_size * directions * division.groups);
    for (int d = 0; d < directions; ++d) {
        int64_t from = 0;
        for (int g = 0; g < division.groups; ++g) {
            Job job = make_job(arrays[d], steps, H, I, take);
            job.steps.reverse = reverse[d];
            job.from = from;
            job.to = from = pair.recurrent
                                ? steps.share_of_rows(g + 1, division.groups)
                                : steps.share_of_sequences(g + 1, division.groups);
            if (job.dextra) job.dextra += g * pair.extras * H;
            float* to = pack ? packed.get() + packed_size * groups.size() : nullptr;
            groups.emplace_back(new Group{job, to, Team(division.members)});
        }
    }
    // All groups at once, or those of one direction after those of the other.
    const int together = division.groups * (division.directions_apart ? directions : 1);
    for (size_t first = 0; first < groups.size(); first += together) {
        const auto work = [&](int thread) {
            Group& group = *groups[first + thread / division.members];
            kernel(group.job, group.packed, group.team, thread % division.members);
        };
        if (on_threads(together * division.members, work)) continue;
        for (int g = 0; g < together; ++g) {
            Team alone(1);
            kernel(groups[first + g]->job, groups[first + g]->packed, alone, 0);
        }
    }
}

// One step of `batch` sequences, without packing.
void step(const std::string& name, int64_t H, int64_t I, bool take, int64_t batch,
          const Addresses& arrays, int threads) {
    const Pair pair = find(KINDS.at(name));
    std::vector<int64_t> offsets{0, batch};
    if (!pair.recurrent) {  // `batch` sequences of one row each
        offsets.resize(batch + 1);
        std::iota(offsets.begin(), offsets.end(), 0);
    }
    const Steps steps{static_cast<int64_t>(offsets.size()) - 1, offsets.data(), false};
    Job job = make_job(arrays, steps, H, I, take);
    job.to = batch;
    const int64_t work = batch * pair.gates * H * (pair.recurrent * H + I);
    const int members = work < WORTH_WAITING ? 1 : std::min<int64_t>(threads, H / 16);
    Team team(members), alone(1);
    if (!on_threads(members, [&](int rank) { pair.forward(job, nullptr, team, rank); }))
        pair.forward(job, nullptr, alone, 0);
}

}  // namespace unspool

NB_MODULE(_kernels, module) {
    module.def("instruction_sets", &unspool::instruction_sets);
    module.def("use", &unspool::use);
    module.def("step", &unspool::step, nb::arg("kind"), nb::arg("hidden"), nb::arg("inputs"),
               nb::arg("take"), nb::arg("batch"), nb::arg("addresses"), nb::arg("threads"));
    module.def("run", &unspool::run, nb::arg("kind"), nb::arg("backward"), nb::arg("hidden"),
               nb::arg("inputs"), nb::arg("take"), nb::arg("offsets"), nb::arg("steps"), nb::arg("reverse"),
               nb::arg("addresses"), nb::arg("threads"));
}
