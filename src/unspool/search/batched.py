"""Search over many sources: batches of similar length in, the hypotheses of each source out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from unspool.data.batching import BucketBatches
from unspool.data.part import Part, moved
from unspool.errors import ConfigError
from unspool.nn.decoders import Decoder, TransformerSeqDecoder
from unspool.nn.encoder import Copies, Encoded
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.search.decoding import Decoding
from unspool.search.packed import (
    PackedRecurrentSearch,
    PackedSearch,
    recurrent_unsupported_reason,
    unsupported_reason,
)
from unspool.search.rules import Hypothesis, SearchRules
from unspool.text.vocab import BEGIN_ID, END_ID

SearchDecoder = Decoder | PackedSearch | PackedRecurrentSearch

BATCH = 64  # sources side by side
HYPOTHESES = 4096  # of all sources side by side; one with a wider beam is searched alone
BATCH_TOKENS = 4096  # of the sources, padding included


class DecoderSearch:
    """The search of a decoder, with its weights as they are now.

    fused   makes of it the one that is searched, such as one with a language model beside it
    """

    def __init__(
        self, decoder: Decoder, fused: Callable[[SearchDecoder], Any] | None = None
    ) -> None:
        self.decoder, self.fused = decoder, fused
        self._fastest: dict[bool, SearchDecoder] = {}  # by int8

    def __call__(
        self,
        encoded: Encoded,
        decoding: Decoding,
        limits: Sequence[int],
        *,
        forbidden: tuple[int, ...],
        aligned: bool,
        generator: torch.Generator | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source, best first.

        limits     most tokens of each
        forbidden  tokens that are never written
        aligned    whether hypotheses have their alignment
        """
        decoder: Any = self.fastest(int8=decoding.int8)
        if self.fused is not None:
            decoder = self.fused(decoder)
        decoding.refuse_too_many(len(limits), max(limits), len(self.decoder.output.b))
        rules = SearchRules(
            end=END_ID,
            max_length=tuple(limits),
            min_length=decoding.min_length,
            no_repeat_ngram=decoding.no_repeat_ngram,
            forbidden=forbidden,
        )
        first = torch.full((len(limits),), BEGIN_ID, device=encoded.outputs.device)
        with torch.inference_mode():
            state = decoder.start(encoded, aligned=aligned)
            return decoding.search(decoder, state, first, rules, generator)

    def fastest(self, *, int8: bool = False) -> SearchDecoder:
        """The fastest equivalent decoder: with native kernels where they support it."""
        if int8 not in self._fastest:
            decoder = self.decoder
            reason = unsupported_reason(decoder)
            if int8 and reason is not None:
                raise ConfigError(f"int8 is not for this model: {reason}", remedy="leave it out")
            if reason is None and isinstance(decoder, TransformerSeqDecoder):
                self._fastest[int8] = PackedSearch(decoder, as_bytes=int8)
            elif (
                isinstance(decoder, RecurrentDecoder)
                and recurrent_unsupported_reason(decoder) is None
            ):
                self._fastest[int8] = PackedRecurrentSearch(decoder)
            else:
                self._fastest[int8] = decoder
        return self._fastest[int8]


class BatchedSearch:
    """The search of an encoder-decoder model, with its weights as they are now."""

    def __init__(self, model: Seq2Seq) -> None:
        self.model = model
        self.search = DecoderSearch(model.decoder)

    def __call__(
        self,
        part: Part,
        field: str,
        decoding: Decoding,
        *,
        forbidden: tuple[int, ...],
        aligned: bool,
        limit: Callable[[int], int],
        generator: torch.Generator,
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The row of each source in the part, in some order, with its hypotheses, best first.

        field      of the part, that holds the sources
        limit      most tokens for a source of so many steps
        """
        device = next(self.model.parameters()).device
        size = max(1, min(BATCH, HYPOTHESES // decoding.width))
        batches = BucketBatches(part, size=size, tokens=BATCH_TOKENS, seed=0, shuffle=False)
        for step in range(batches.steps(0)):
            batch = moved(batches.batch(0, step), device)
            source = batch[field]
            limits = [limit(steps) for steps in source.lengths.tolist()]
            with torch.inference_mode():
                encoded = self.model.encoder(*source.inputs)
            copies = getattr(source, "copies", None)
            if copies is not None:
                encoded = encoded._replace(copies=Copies(copies))
            hypotheses = self.search(
                encoded, decoding, limits, forbidden=forbidden, aligned=aligned, generator=generator
            )
            yield from zip(batch.rows.tolist(), hypotheses)
