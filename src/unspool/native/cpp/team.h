// The threads that share one job. They come from OpenMP's pool, which torch uses too.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace unspool {

class Team {
  public:
    explicit Team(int size) : size(size) {}

    // Returns in every thread once all have called it.
    void wait() {
        if (size == 1) return;
        const int turn = turn_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size - 1) {
            arrived_.store(0, std::memory_order_relaxed);
            turn_.store(turn + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; turn_.load(std::memory_order_acquire) == turn; ++spins) {
            if (spins < 10000) {
#if defined(__x86_64__)
                __builtin_ia32_pause();
#endif
            } else {
                std::this_thread::yield();  // someone else has the core: let them finish
            }
        }
    }

    const int size;

  private:
    std::atomic<int> arrived_{0};
    std::atomic<int> turn_{0};
};

// A thread's part of `total` things.
struct Share {
    int64_t from, to;
    Share(int64_t total, int rank, int size)
        : from(total * rank / size), to(total * (rank + 1) / size) {}
};

}  // namespace unspool
