// Compiled once for each instruction set and each kind of NUMBER.
#include "kernels.h"

#include "gru_before.h"
#include "peephole_full.h"
#include "scan.h"

namespace unspool::ISA {

template <class T, Kernel<T> kernel>
void run(const Job<T>& job, T* packed, Team& team, int rank) {
    kernel(job, packed, team, rank);
#if defined(__AMX_BF16__)
    Amx::release();
#endif
}

template <class Cell, class T>
Pair<T> recurrent() {
    return {run<T, forward<Cell, T>>, run<T, backward<Cell, T>>, Cell::GATES, Cell::EXTRAS,
            Cell::GATES};
}

template <class Cell, class T>
Pair<T> scan() {
    return {run<T, scan_forward<Cell, T>>, run<T, scan_backward<Cell, T>>, Cell::GATES, 0, 0};
}

template <class T>
Pair<T> find(Kind kind) {
    switch (kind) {
        case Kind::elman_sigmoid: return recurrent<Elman<Sigmoid>, T>();
        case Kind::elman_tanh: return recurrent<Elman<Tanh>, T>();
        case Kind::elman_relu: return recurrent<Elman<Relu>, T>();
        case Kind::elman_leaky_relu: return recurrent<Elman<LeakyRelu>, T>();
        case Kind::elman_elu: return recurrent<Elman<Elu>, T>();
        case Kind::elman_maxout: return recurrent<Maxout, T>();
        case Kind::lstm: return recurrent<Lstm<false>, T>();
        case Kind::peephole: return recurrent<Lstm<true>, T>();
        case Kind::peephole_full:
            return {run<T, peephole_full_forward<T>>, run<T, peephole_full_backward<T>>, 4, 0, 7};
        case Kind::coupled: return recurrent<Coupled, T>();
        case Kind::gru_after: return recurrent<GruAfter, T>();
        case Kind::gru_before:
            return {run<T, gru_before_forward<T>>, run<T, gru_before_backward<T>>, 3, 0, 3};
        case Kind::mingru: return scan<MinGru, T>();
        case Kind::minlstm: return scan<MinLstm, T>();
    }
    return {};
}

template Pair<NUMBER> find(Kind);

}  // namespace unspool::ISA
