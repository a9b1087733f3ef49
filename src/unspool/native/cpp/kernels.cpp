// Compiled once for each instruction set.
#include "kernels.h"

#include "gru_before.h"
#include "scan.h"

namespace unspool::ISA {

template <class Cell>
Pair recurrent() {
    return {forward<Cell>, backward<Cell>, Cell::GATES, Cell::EXTRAS, true};
}

template <class Cell>
Pair scan() {
    return {scan_forward<Cell>, scan_backward<Cell>, Cell::GATES, 0, false};
}

Pair find(Kind kind) {
    switch (kind) {
        case Kind::elman_sigmoid: return recurrent<Elman<Sigmoid>>();
        case Kind::elman_tanh: return recurrent<Elman<Tanh>>();
        case Kind::elman_relu: return recurrent<Elman<Relu>>();
        case Kind::elman_leaky_relu: return recurrent<Elman<LeakyRelu>>();
        case Kind::elman_elu: return recurrent<Elman<Elu>>();
        case Kind::elman_maxout: return recurrent<Maxout>();
        case Kind::lstm: return recurrent<Lstm<false>>();
        case Kind::peephole: return recurrent<Lstm<true>>();
        case Kind::coupled: return recurrent<Coupled>();
        case Kind::gru_after: return recurrent<GruAfter>();
        case Kind::gru_before: return {gru_before_forward, gru_before_backward, 3, 0, true};
        case Kind::mingru: return scan<MinGru>();
        case Kind::minlstm: return scan<MinLstm>();
    }
    return {};
}

}  // namespace unspool::ISA
