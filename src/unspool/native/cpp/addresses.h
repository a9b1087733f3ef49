// From what Python hands over, names and addresses, to what the kernels are given.
#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "job.h"

namespace unspool {

inline const std::map<std::string, Kind> KINDS = {
    {"elman_sigmoid", Kind::elman_sigmoid},
    {"elman_tanh", Kind::elman_tanh},
    {"elman_relu", Kind::elman_relu},
    {"elman_leaky_relu", Kind::elman_leaky_relu},
    {"elman_elu", Kind::elman_elu},
    {"elman_maxout", Kind::elman_maxout},
    {"lstm", Kind::lstm},
    {"peephole", Kind::peephole},
    {"peephole_full", Kind::peephole_full},
    {"coupled", Kind::coupled},
    {"gru_after", Kind::gru_after},
    {"gru_before", Kind::gru_before},
    {"mingru", Kind::mingru},
    {"minlstm", Kind::minlstm},
};

using Addresses = std::vector<uintptr_t>;

// Sets pointers to the addresses in their order, those beyond the last one to null.
inline void fill(const Addresses& addresses, auto*&... fields) {
    auto next = addresses.begin();
    ((fields = next == addresses.end()
                   ? nullptr
                   : reinterpret_cast<std::remove_reference_t<decltype(fields)>>(*next++)),
     ...);
}

// The order of the addresses is that of `Job`; for the way forward they end before dh.
template <class T>
inline Job<T> make_job(const Addresses& addresses, const Steps& steps, int64_t H, int64_t I, bool update_new) {
    Job<T> job{};
    job.steps = steps;
    job.from = 0;
    job.to = steps.count ? steps.widest() : 0;
    job.H = H;
    job.I = I;
    job.update_new = update_new;
    job.pack = true;
    fill(addresses, job.x, job.W, job.b, job.U, job.extra, job.h0, job.c0, job.gates, job.h, job.c, job.inner,
         job.h_end, job.c_end, job.h0_read, job.h_read, job.c0_read, job.c_read, job.dh, job.dx,
         job.du, job.dinner, job.dextra, job.dh0, job.dc0, job.db);
    return job;
}

}  // namespace unspool
