"""Layers for sequence models, usable in any PyTorch program.

Shapes, the same letters everywhere:

    B  sequences in a batch     T  time steps, padding included     I  inputs of a layer
    H  hidden units             D  directions, 1 or 2               E  size of an embedding

Reading order: `cells/base.py`, `cells/lstm.py` and its neighbours, `recurrent.py`, then `taps.py`,
`masks.py`, `fused.py`, `scan.py`; `embeddings.py`, `encoders.py`, `pooling.py`, `heads.py`.
"""

from unspool.nn.activations import ACTIVATIONS
from unspool.nn.cells import (
    CELLS,
    GRU,
    IRNN,
    LSTM,
    Cell,
    Coupled,
    Elman,
    MinGRU,
    MinLSTM,
    Peephole,
    cell_options,
)
from unspool.nn.embeddings import OneHot, TokenEmbedding, WordDropout
from unspool.nn.encoders import TextEncoder
from unspool.nn.heads import TokenOutput
from unspool.nn.masks import keep_mask, masked_softmax
from unspool.nn.pooling import POOLINGS, Pooling
from unspool.nn.recurrent import Recurrent, RecurrentOutput
from unspool.nn.scan import linear_scan
from unspool.nn.state import RecurrentState, State, map_state
from unspool.nn.taps import Tap, Trace, record, taps

__all__ = [
    "ACTIVATIONS",
    "CELLS",
    "GRU",
    "IRNN",
    "LSTM",
    "POOLINGS",
    "Cell",
    "Coupled",
    "Elman",
    "MinGRU",
    "MinLSTM",
    "OneHot",
    "Peephole",
    "Pooling",
    "Recurrent",
    "RecurrentOutput",
    "RecurrentState",
    "State",
    "Tap",
    "TextEncoder",
    "TokenEmbedding",
    "TokenOutput",
    "Trace",
    "WordDropout",
    "cell_options",
    "keep_mask",
    "linear_scan",
    "map_state",
    "masked_softmax",
    "record",
    "taps",
]
