// The kernels of one instruction set, as functions that each thread of a team calls.
#pragma once

#include "job.h"
#include "team.h"

namespace unspool {

using Kernel = void (*)(const Job&, float* packed, Team&, int rank);

struct Pair {
    Kernel forward, backward;
    int gates;       // blocks of u
    int extras;      // blocks of extra
    bool recurrent;  // has products with U, which want `packed` (G·H·H)
};

using Find = Pair (*)(Kind);

namespace avx512 { Pair find(Kind); }
namespace avx2 { Pair find(Kind); }
namespace baseline { Pair find(Kind); }

}  // namespace unspool
