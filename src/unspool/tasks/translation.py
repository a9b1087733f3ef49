"""From texts to their translations: batches of similar length, a search, readable text again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.data.batching import Batch, BucketBatches
from unspool.data.paired import Tokenizers, source_frame
from unspool.data.parts import TextPart
from unspool.errors import ConfigError
from unspool.nn.decoders import Decoder, TransformerSeqDecoder
from unspool.nn.recurrent_decoder import RecurrentDecoder
from unspool.nn.seq2seq import Seq2Seq
from unspool.search import Hypothesis, Rules
from unspool.search.packed import PackedSearch, why_not_packed
from unspool.search.packed_recurrent import PackedRecurrentSearch, unsupported_reason
from unspool.tasks.decoding import Decoding
from unspool.text.tokenizers import SubwordTokenizer, WordTokenizer
from unspool.text.vocab import BEGIN_ID, END, END_ID, PAD_ID, UNK_ID
from unspool.text.words import join

SearchDecoder = Decoder | PackedSearch | PackedRecurrentSearch

BATCH = 64  # sentences side by side
BATCH_TOKENS = 4096  # of their sources, padding included


class Candidate(NamedTuple):
    """One sentence of a search; `score` is the log probability over the length penalty."""

    translation: str
    score: float
    log_probability: float


class Translation(NamedTuple):
    """The best translation of a text, and the others that were asked for.

    alignment   (tokens, source_tokens): where each token looked; None where nothing looks, or
                nobody asked
    cut         the text was longer than the model reads
    """

    text: str
    translation: str
    score: float
    nbest: list[Candidate]
    source_tokens: list[str]
    tokens: list[str]
    alignment: np.ndarray | None = None
    cut: bool = False

    def to_json(self) -> dict[str, Any]:
        found = {
            "text": self.text,
            "translation": self.translation,
            "score": self.score,
            "nbest": [candidate._asdict() for candidate in self.nbest],
            "source_tokens": self.source_tokens,
            "tokens": self.tokens,
        }
        if self.alignment is not None:
            found["alignment"] = np.round(self.alignment.astype(float), 4).tolist()
        return found


class Translator:
    """A model as it is now, with the tokenizers of both sides.

    aligns      whether its decoder looks at the source
    max_length  tokens of a source at most (0: no limit)
    most        tokens that it can write at all; None: no limit
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: Tokenizers,
        *,
        aligns: bool,
        max_length: int = 0,
        most: int | None = None,
    ) -> None:
        self.model, self.most = model, most
        self._decoders: dict[bool, SearchDecoder] = {}  # by int8
        self.source, self.target = tokenizers
        self.frame = source_frame(self.source)
        self.max_length, self.aligns = max_length, aligns

    def __call__(self, texts: Sequence[str], decoding: Decoding) -> list[Translation]:
        """In the order of the texts; batching changes no answer, except of sampling."""
        limit = self.max_length or None
        encoded = {i: self.source.encode(text) for i, text in enumerate(texts) if text.strip()}
        found = {
            i: Translation(text, "", 0.0, [Candidate("", 0.0, 0.0)], [END], [])
            for i, text in enumerate(texts)
            if i not in encoded
        }
        places = list(encoded)
        part = TextPart([self.frame.around(ids[:limit]) for ids in encoded.values()])
        generator = torch.Generator().manual_seed(decoding.seed)
        for batch, row, hypotheses in self.search(part, decoding, generator):
            i = places[batch.rows[row]]
            ids = batch.ids[row, : batch.lengths[row]].tolist()
            cut = limit is not None and len(encoded[i]) > limit
            found[i] = self._present(texts[i], ids, hypotheses, decoding, cut=cut)
        return [found[i] for i in range(len(texts))]

    def search(
        self, part: TextPart, decoding: Decoding, generator: torch.Generator
    ) -> Iterator[tuple[Batch, int, list[Hypothesis]]]:
        """Of each framed source, in some order: its batch, its row there, and what was found."""
        if not len(part):
            return
        unknown = self._copies(decoding) or decoding.keep_unknown
        forbidden = (PAD_ID, BEGIN_ID) if unknown else (PAD_ID, BEGIN_ID, UNK_ID)
        aligned = self.aligns and (decoding.alignment or self._copies(decoding))
        batches = BucketBatches(part, size=BATCH, tokens=BATCH_TOKENS, seed=0, shuffle=False)
        for step in range(batches.steps(0)):
            batch = batches.batch(0, step)
            rules = Rules(
                end=END_ID,
                max_length=tuple(
                    decoding.limit(n - self.frame.size, most=self.most)
                    for n in batch.lengths.tolist()
                ),
                min_length=decoding.min_length,
                no_repeat_ngram=decoding.no_repeat_ngram,
                forbidden=forbidden,
            )
            first = torch.full((len(batch.rows),), BEGIN_ID)
            decoder = self.decoder(int8=decoding.int8)
            with torch.inference_mode():
                encoded = self.model.encoder.encode(batch.ids, batch.lengths)
                state = decoder.start(*encoded, aligned=aligned)
                found = decoding.search(decoder, state, first, rules, generator)
            for row, hypotheses in enumerate(found):
                yield batch, row, hypotheses

    def decoder(self, *, int8: bool = False) -> SearchDecoder:
        """What searches alike and fastest: native kernels where there are some for the decoder."""
        if int8 not in self._decoders:
            decoder, reason = self.model.decoder, why_not_packed(self.model.decoder)
            if int8 and reason is not None:
                raise ConfigError(f"int8 is not for this model: {reason}", remedy="leave it out")
            if reason is None and isinstance(decoder, TransformerSeqDecoder):
                self._decoders[int8] = PackedSearch(decoder, as_bytes=int8)
            elif isinstance(decoder, RecurrentDecoder) and unsupported_reason(decoder) is None:
                self._decoders[int8] = PackedRecurrentSearch(decoder)
            else:
                self._decoders[int8] = decoder
        return self._decoders[int8]

    def _copies(self, decoding: Decoding) -> bool:
        """Whether unknown words are to be replaced by those of the source they look at."""
        unknowns = not isinstance(self.target, SubwordTokenizer)
        return self.aligns and unknowns and not decoding.keep_unknown

    def _present(
        self,
        text: str,
        ids: list[int],
        hypotheses: list[Hypothesis],
        decoding: Decoding,
        *,
        cut: bool,
    ) -> Translation:
        pieces = self.source.pieces(text)
        spelt = [self._spell(h, pieces, decoding) for h in hypotheses]
        best = hypotheses[0]
        seen = None
        if decoding.alignment and best.alignment is not None:
            seen = best.alignment[:, : len(ids)].float().numpy()
        return Translation(
            text,
            spelt[0],
            best.score,
            [Candidate(t, h.score, h.log_probability) for t, h in zip(spelt, hypotheses)],
            self.source.shown(ids),
            self.target.shown(best.tokens),
            seen,
            cut,
        )

    def _spell(self, found: Hypothesis, pieces: list[str], decoding: Decoding) -> str:
        """The text of a hypothesis; where a word is unknown, the word of the source it looks at."""
        if UNK_ID not in found.tokens or found.alignment is None or not self._copies(decoding):
            return self.target.decode(found.tokens)
        looks = strongest(found.alignment, len(pieces))
        words = [
            pieces[looks[t]] if token == UNK_ID else self.target.vocab[token]
            for t, token in enumerate(found.tokens)
        ]
        if isinstance(self.target, WordTokenizer):
            return join(words, split=self.target.split)
        return "".join(words)


def strongest(alignment: Tensor, places: int) -> list[int]:
    """Of each token the place of the source, its end left out, that it looks at most."""
    return alignment[:, :places].argmax(1).tolist()
