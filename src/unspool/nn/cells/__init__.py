"""The recurrent cells, one a file. `CELLS` is the list of valid names."""

from unspool.nn.cells.base import (
    Cell,
    State,
    affine,
    cell_options,
    pack_steps,
    packed_steps,
    steady,
)
from unspool.nn.cells.coupled import Coupled
from unspool.nn.cells.elman import Elman
from unspool.nn.cells.gru import GRU
from unspool.nn.cells.irnn import IRNN
from unspool.nn.cells.lstm import LSTM
from unspool.nn.cells.mingru import MinGRU
from unspool.nn.cells.minlstm import MinLSTM
from unspool.nn.cells.peephole import Peephole

CELLS: dict[str, type[Cell]] = {
    "elman": Elman,
    "irnn": IRNN,
    "lstm": LSTM,
    "peephole": Peephole,
    "coupled": Coupled,
    "gru": GRU,
    "mingru": MinGRU,
    "minlstm": MinLSTM,
}

__all__ = [
    "CELLS",
    "GRU",
    "IRNN",
    "LSTM",
    "Cell",
    "Coupled",
    "Elman",
    "MinGRU",
    "MinLSTM",
    "Peephole",
    "State",
    "affine",
    "cell_options",
    "pack_steps",
    "packed_steps",
    "steady",
]
