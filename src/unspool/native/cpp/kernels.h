// The kernels of one instruction set, as functions that each thread of a team calls.
#pragma once

#include "job.h"
#include "team.h"

namespace unspool {

template <class T>
using Kernel = void (*)(const Job<T>&, T* packed, Team&, int rank);

template <class T>
struct Pair {
    Kernel<T> forward, backward;
    int gates;       // blocks of u
    int extras;      // blocks of extra
    int recurrent;   // matrices (H, H) that a step multiplies with; 0: a scan
};

template <class T>
using Find = Pair<T> (*)(Kind);

// Defined by kernels.cpp, once for each instruction set and each kind of number.
namespace baseline { template <class T> Pair<T> find(Kind); }
namespace avx2 { template <class T> Pair<T> find(Kind); }
namespace avx512 { template <class T> Pair<T> find(Kind); }
namespace avx512_bf16 { template <class T> Pair<T> find(Kind); }
namespace amx { template <class T> Pair<T> find(Kind); }

}  // namespace unspool
