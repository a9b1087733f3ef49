"""From the values of a field to a vector for each step.

In: values (B, T, ...), such as token ids, their lengths (B,), perhaps a state and extra features.
Out: `Encoded`, which a head, a pooling or a decoder reads. An encoder knows no task.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn

from unspool.nn.inputs import AddFeatures, ClassToken, ConcatFeatures, InputLayer
from unspool.nn.masks import check_lengths, keep_mask, reverse, whole_lengths
from unspool.nn.network import Network, map_state
from unspool.nn.pairs import Between, SegmentVectors


class Copies(NamedTuple):
    """Token that a copying decoder would write for each step of a source.

    ids    (B, S): tokens of the decoder's vocabulary; beyond it, a number for each other token
    size   of the vocabulary with those beyond it; None: the numbers are not consecutive
    """

    ids: Tensor
    size: int | None = None


class Encoded(NamedTuple):
    """Output of an encoder.

    outputs   (B, S, D), zeros at padding: the memory of a decoder
    lengths   (B,) on the CPU, None where all S steps are real
    state     the network's final state; None where it has none
    copies    for a decoder that copies
    """

    outputs: Tensor
    lengths: Tensor | None = None
    state: Any = None
    copies: Copies | None = None

    @property
    def keep(self) -> Tensor | None:
        """(B, S), True = real; None where all is."""
        if self.lengths is None:
            return None
        return keep_mask(self.lengths, self.outputs.shape[1], device=self.outputs.device)

    def ragged(self) -> Encoded:
        """With lengths, also where all steps are real."""
        if self.lengths is not None:
            return self
        return self._replace(lengths=whole_lengths(self.outputs))

    def select(self, rows: Tensor) -> Encoded:
        """Some rows of the batch; of a state, that of a recurrent network."""
        here = rows.to(self.outputs.device)
        return Encoded(
            self.outputs[here],
            None if self.lengths is None else self.lengths[rows.cpu()],
            None if self.state is None else map_state(self.state, lambda s: s[here]),
            None if self.copies is None else self.copies._replace(ids=self.copies.ids[here]),
        )


class Encoder(nn.Module):
    """An input layer and a network: x = input(values), outputs = network(x).

    extra     how extra features of the steps join x, where `forward` is given some
    cls       a learned vector before each sequence: outputs are then (B, 1 + T, D), and step 0
              can stand for the sequence
    reverse   read each sequence last to first (Sutskever et al. 2014), so that its first words
              stand next to the first that a decoder writes. The outputs are in the order of the
              values all the same: output t belongs to value t.
    segments  of two texts in one sequence: vectors that tell them apart
    between   of two texts in one sequence: the network reads each by itself, and each looks at the
              other
    """

    def __init__(
        self,
        input_layer: InputLayer,
        network: Network,
        *,
        extra: ConcatFeatures | AddFeatures | None = None,
        cls: ClassToken | None = None,
        reverse: bool = False,
        segments: SegmentVectors | None = None,
        between: Between | None = None,
    ) -> None:
        super().__init__()
        if cls is not None and reverse:
            raise ValueError("a reversed sequence has no step before it: leave out cls or reverse")
        if between is not None and (cls is not None or reverse):
            raise ValueError("two texts that are read apart have no cls and are not reversed")
        self.input = input_layer
        self.extra = extra
        self.cls = cls
        self.network = network
        self.reverse = reverse
        self.segments = segments
        self.between = between
        self.size = network.size if between is None else between.size
        self.bidirectional = network.bidirectional

    def forward(
        self,
        values: Tensor,
        lengths: Tensor | None = None,
        state: Any = None,
        *,
        extra: Tensor | None = None,
        firsts: Tensor | None = None,
    ) -> Encoded:
        """extra (B, T, K): features of the steps that the input layer does not make; firsts (B,),
        on the CPU: of two texts in one sequence, the step where the second begins."""
        lengths = check_lengths(lengths, values)
        if self.reverse:
            values = reverse(values, lengths)
            extra = None if extra is None else reverse(extra, lengths)
        x = self.input(values, lengths)
        lengths = self.input.steps(lengths)
        if self.extra is not None and extra is not None:
            x = self.extra(x, extra)
        if self.segments is not None and firsts is not None:
            x = self.segments(x, firsts)
        if self.between is not None and firsts is not None:
            return Encoded(self.between(x, lengths, firsts, self.network), lengths)
        if self.cls is not None:
            x = self.cls(x)
            lengths = None if lengths is None else lengths + 1
        outputs, state = self.network(x, lengths, state)
        return Encoded(reverse(outputs, lengths) if self.reverse else outputs, lengths, state)

    def extra_repr(self) -> str:
        return "last step first" if self.reverse else ""
