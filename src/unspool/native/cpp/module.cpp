// The Python interface of recurrent layers: arrays by name in (kinds.h), nothing out but what is written to them.
// The caller, native/operator.py, owns the arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#if defined(UNSPOOL_BF16)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "attention_decoding.h"
#include "decoding.h"
#include "kernels.h"
#include "kinds.h"
#include "passing.h"
#include "product.h"
#include "threads.h"

namespace nb = nanobind;

namespace unspool {

// The kernels of an instruction set, for float and for bf16.
struct Kernels {
    Find<float> single;
    Find<bf16> half;

    template <class T>
    Pair<T> find(const std::string& kind) const {
        if constexpr (std::is_same_v<T, bf16>) return half(kind_named(kind).kind);
        else return single(kind_named(kind).kind);
    }
};

Kernels kernels{baseline::find<float>, baseline::find<bf16>};

#if defined(UNSPOOL_BF16)
// Linux lets a process use the tiles of AMX only after it has asked.
bool may_use_tiles() {
    constexpr int REQUEST = 0x1023, TILE_DATA = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}
#endif

// The instruction sets that this build and this processor have, best first.
std::vector<std::pair<std::string, Kernels>> sets() {
    std::vector<std::pair<std::string, Kernels>> found;
#if defined(UNSPOOL_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
#if defined(UNSPOOL_BF16)
        if (__builtin_cpu_supports("avx512bf16")) {
            if (__builtin_cpu_supports("amx-bf16") && may_use_tiles())
                found.push_back({"amx", {avx512::find<float>, amx::find<bf16>}});
            found.push_back({"avx512_bf16", {avx512::find<float>, avx512_bf16::find<bf16>}});
        }
#endif
        found.push_back({"avx512", {avx512::find<float>, avx512::find<bf16>}});
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back({"avx2", {avx2::find<float>, avx2::find<bf16>}});
#endif
    found.push_back({"baseline", {baseline::find<float>, baseline::find<bf16>}});
    return found;
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const auto& [name, _] : sets()) names.push_back(name);
    return names;
}

void use(const std::string& wanted) {
    for (const auto& [name, its_kernels] : sets())
        if (name == wanted) {
            kernels = its_kernels;
            let_decoders_use(name);
            let_passes_use(name);
            let_attention_decoders_use(name);
            return;
        }
    throw std::invalid_argument("this processor has no " + wanted);
}

// With fewer multiplications in all, one thread is done before another has woken up.
constexpr int64_t WORTH_SHARING = 1'000'000;
// With fewer multiplications a step, waiting for another thread costs more than it brings.
constexpr int64_t WORTH_WAITING = 500'000;
// With this many rows in all, packing the weights takes longer than reading them as they are.
constexpr int64_t WORTH_PACKING = 8;
// Weights of this many bytes stay in a core's second cache beside what passes through it.
constexpr int64_t CACHE = 1'100'000;
// A thread with fewer sequences than this reads weights more than it multiplies.
constexpr int64_t FEW = 12;
// With this many, weights of so many bytes come fast enough from the cache that all cores share.
constexpr int64_t MANY = 32, SHARED_CACHE = 8'000'000;

// How the threads divide the work. Directions and sequences are independent; within a group of
// sequences a team shares the units and waits for each other at each step.
struct Division {
    bool directions_apart = false;
    int groups = 1;   // of sequences, in each direction
    int members = 1;  // threads of a group's team

    template <class T>
    Division(int threads, int directions, const Pair<T>& pair, int64_t H, int64_t I,
             const Steps& steps) {
        const int64_t recurrent = pair.recurrent * H * H;
        const int64_t work = steps.offsets[steps.count] * (recurrent + pair.gates * H * I + 16 * H);
        if (work < WORTH_SHARING) return;
        directions_apart = threads >= directions;
        const int each = directions_apart ? threads / directions : threads;
        if (!recurrent) {
            groups = static_cast<int>(std::min<int64_t>(each, steps.count));
            members = each / groups;
            return;
        }
        const int64_t batch = steps.widest(), bytes = recurrent * sizeof(T);
        if ((bytes <= CACHE && batch >= FEW * each) ||
            (bytes <= SHARED_CACHE && batch >= MANY * each))
            groups = static_cast<int>(std::min<int64_t>(each, batch));
        else if (work / steps.count >= WORTH_WAITING)
            members = static_cast<int>(std::min<int64_t>(each, H / 16));
    }
};

// Runs the kernel on the arrays of each direction.
template <class T>
void run(const std::string& kind, bool backward, int64_t H, int64_t I, bool update_new, nb::handle offsets,
         const std::vector<bool>& reverse, nb::list arrays, int threads) {
    const Pair<T> pair = kernels.find<T>(kind);
    const Kernel<T> kernel = backward ? pair.backward : pair.forward;
    const auto directions = static_cast<int>(arrays.size());
    constexpr int64_t WIDTH = std::is_same_v<T, bf16> ? 32 : 16;
    check_width(kind, "H", H, WIDTH);
    if (I && (backward || WIDTH == 32)) check_width(kind, "I", I, WIDTH);
    const Steps steps = read_offsets(kind, offsets, !pair.recurrent);
    const int64_t rows = steps.offsets[steps.count];
    const bool pack = backward || std::is_same_v<T, bf16> || rows > WORTH_PACKING;
    const int64_t packed_size = pack ? H * (pair.recurrent * H + pair.gates * I) : 0;
    const Division division(threads, directions, pair, H, I, steps);
    Sizes sizes{{'N', rows}, {'B', pair.recurrent ? steps.widest() : steps.count}, {'G', pair.gates},
                {'H', H}, {'I', I}, {'P', threads}};
    std::vector<Job<T>> jobs;
    for (int d = 0; d < directions; ++d) {
        Job<T>& job = jobs.emplace_back();
        read_job(kind, arrays[d], backward ? BACKWARD : FORWARD, kind_named(kind).traits, sizes, job);
        job.steps = steps;
        job.steps.reverse = reverse.at(d);
        job.update_new = update_new;
        job.pack = true;
    }

    nb::gil_scoped_release release;
    struct Group {
        Job<T> job;
        T* packed;
        Team team;
    };
    std::vector<std::unique_ptr<Group>> groups;
    auto packed = baseline::buffer<T>(packed_size * directions * division.groups);
    for (int d = 0; d < directions; ++d) {
        int64_t from = 0;
        for (int g = 0; g < division.groups; ++g) {
            Job<T> job = jobs[d];
            job.from = from;
            job.to = from = pair.recurrent
                                ? steps.share_of_rows(g + 1, division.groups)
                                : steps.share_of_sequences(g + 1, division.groups);
            if (job.dextra) job.dextra += g * pair.extras * H;
            if (job.db) job.db += g * pair.gates * H;
            T* to = pack ? packed.get() + packed_size * groups.size() : nullptr;
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

// Single steps of a few sequences without gradients, for serving and generation. With `pack` the weights
// are packed once, and must stay as they are; without it they are read where they are.
class Stepper {
  public:
    Stepper(const std::string& kind, int64_t H, int64_t I, bool update_new, nb::handle weights, bool pack,
            int threads)
        : kind_(kind), traits_(kind_named(kind).traits), pair_(kernels.find<float>(kind)), H_(H), I_(I) {
        check_width(kind, "H", H, 16);
        Sizes sizes = sizes_of(0, I);
        read_job(kind, weights, WEIGHTS, traits_, sizes, weights_);
        weights_.update_new = update_new;
        const int64_t size = H * (pair_.recurrent * H + pair_.gates * I);
        members_ = size < WORTH_WAITING ? 1 : static_cast<int>(std::min<int64_t>(threads, H / 16));
        if (!pack) return;
        packed_ = baseline::buffer<float>(size);
        this->pack();
    }

    // x (B, I) or `gates`, which holds u; h0, c0; h and c become the new state.
    void step(int64_t batch, nb::handle arrays) {
        Job<float> job = weights_;
        Sizes sizes = sizes_of(batch, PyMapping_HasKeyString(arrays.ptr(), "x") ? I_ : 0);
        read_job(kind_, arrays, STEP, traits_, sizes, job);
        std::vector<int64_t> offsets{0, batch};
        if (!pair_.recurrent) {  // `batch` sequences of one row each
            offsets.resize(batch + 1);
            std::iota(offsets.begin(), offsets.end(), 0);
        }
        const auto scratch = baseline::buffer<float>(batch * H_ * (pair_.gates + 1));
        job.I = I_;
        job.inner = scratch.get();
        if (job.x) job.gates = scratch.get() + batch * H_;
        job.h_end = job.h;  // one row a sequence: its states are its final states
        job.c_end = job.c;
        job.steps = Steps{static_cast<int64_t>(offsets.size()) - 1, offsets.data(), false};
        job.to = batch;
        if (done_by_team(job)) return;
        if (packed_) pack();
        done_by_team(job);
    }

  private:
    // No steps: the kernels pack and are done.
    void pack() {
        const int64_t none = 0;
        Job<float> job = weights_;
        job.steps = Steps{0, &none, false};
        job.pack = true;
        if (!done_by_team(job)) done_by_team(job);
    }

    // False where OpenMP grants too few threads: from then on, one does all. How weights are packed
    // depends on how many share them.
    bool done_by_team(const Job<float>& job) {
        Team team(members_);
        const auto work = [&](int rank) { pair_.forward(job, packed_.get(), team, rank); };
        if (on_threads(members_, work)) return true;
        members_ = 1;
        return false;
    }

    Sizes sizes_of(int64_t batch, int64_t I) const {
        return {{'N', batch}, {'B', batch}, {'G', pair_.gates}, {'H', H_}, {'I', I}};
    }

    std::string kind_;
    unsigned traits_;
    Pair<float> pair_;
    int64_t H_, I_;
    Job<float> weights_{};
    int members_;
    baseline::Buffer<float> packed_;
};

// Of each kind, what Python has to know of it.
nb::dict kinds() {
    nb::dict found;
    for (const auto& [name, kind] : KINDS) {
        nb::list traits;
        for (const auto& [trait, word] : {std::pair{U_MATRIX, "U"}, {CELL_STATE, "cell state"},
                                          {GATES, "gates"}, {FULL, "full peepholes"}})
            if (kind.traits & trait) traits.append(word);
        found[name.c_str()] = traits;
    }
    return found;
}

}  // namespace unspool

NB_MODULE(_kernels, module) {
    module.def("instruction_sets", &unspool::instruction_sets);
    module.def("use", &unspool::use);
    module.def("kinds", &unspool::kinds);
    nb::class_<unspool::Stepper>(module, "Stepper")
        .def(nb::init<const std::string&, int64_t, int64_t, bool, nb::handle, bool, int>(), nb::arg("kind"),
             nb::arg("hidden"), nb::arg("inputs"), nb::arg("update_new"), nb::arg("weights"), nb::arg("pack"),
             nb::arg("threads"))
        .def("step", &unspool::Stepper::step, nb::arg("batch"), nb::arg("arrays"));
    const auto define = [&](const char* name, auto function) {
        module.def(name, function, nb::arg("kind"), nb::arg("backward"), nb::arg("hidden"),
                   nb::arg("inputs"), nb::arg("update_new"), nb::arg("offsets"), nb::arg("reverse"),
                   nb::arg("arrays"), nb::arg("threads"));
    };
    define("run", &unspool::run<float>);
    define("run_bf16", &unspool::run<unspool::bf16>);
    unspool::define_decoder(module);
    unspool::define_passes(module);
    unspool::define_attention_decoder(module);
}
