// Work on several threads of OpenMP's pool.
#pragma once

#include <omp.h>

namespace unspool {

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

}  // namespace unspool
