"""Texts of recordings by an attention decoder: what an encoder has read in, texts with the times
and probabilities of their tokens out; and its loss."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from unspool.nn.ctc import StepSpan, ctc_losses, steps_needed
from unspool.nn.decoders import Decoder, Targets
from unspool.nn.encoder import Encoded
from unspool.nn.models.transcriber import Transcriber
from unspool.search import Hypothesis
from unspool.search.batched import DecoderSearch, SearchDecoder
from unspool.search.ctc import CtcText
from unspool.search.decoding import Decoding
from unspool.tasks.transcribe.answer import Transcribing
from unspool.tasks.transcribe.language import LanguageScores
from unspool.tasks.transcribe.search import BestTexts, CtcSearch, aligned
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, END_ID


class FusedState(NamedTuple):
    """The states of the decoder and of the language model."""

    inner: Any
    language: Any

    @property
    def alignment(self) -> Tensor | None:
        return getattr(self.inner, "alignment", None)


class FusedDecoder:
    """Scores of the next token, up to a constant that a search normalises away at each step:

        ln p(y_t | y_<t, x) + w ln p_language(y_t | y_<t) + bonus, which the end has not

    The language model reads the end of a line where the decoder begins, and where it ends.
    """

    def __init__(
        self, decoder: SearchDecoder, language: LanguageScores, *, weight: float, bonus: float
    ) -> None:
        self.decoder, self.language, self.weight = decoder, language, weight
        self.read = language.ids.clone()
        self.read[BEGIN_ID] = language.newline
        self.written, self.known = language.ids.clone(), language.known.clone()
        self.written[END_ID], self.known[END_ID] = language.newline, True
        self.bonus = torch.full((len(self.read),), bonus)
        self.bonus[END_ID] = 0.0

    def start(self, encoded: Encoded, *, aligned: bool = False) -> FusedState:
        language = self.language.model.start(len(encoded.outputs))
        return FusedState(self.decoder.start(encoded, aligned=aligned), language)

    def step(self, ids: Tensor, state: FusedState) -> tuple[Tensor, FusedState]:
        logits, inner = self.decoder.step(ids, state.inner)
        following, language = self.language.model.step(self.read[ids.cpu()], state.language)
        language_scores = self.language.of_tokens(
            following.log_softmax(-1)[:, self.written], self.known
        )
        added = (self.weight * language_scores + self.bonus).to(logits.device)
        return logits.float().log_softmax(-1) + added, FusedState(inner, language)

    def select(self, state: FusedState, rows: Tensor) -> FusedState:
        language = self.language.model.select(state.language, rows.cpu())
        return FusedState(self.decoder.select(state.inner, rows), language)


class AttentionSearch:
    """Greedy or beam search, with the weights as they are now, and a language model where there is
    one; a text has at most as many tokens as its recording has steps."""

    def __init__(self, model: Transcriber, tokenizer: Tokenizer, options: Transcribing) -> None:
        assert model.decoder is not None
        self.model, self.decoder = model, model.decoder
        self.fused = options.lm is not None
        self.search = DecoderSearch(
            model.decoder,
            partial(
                FusedDecoder,
                language=LanguageScores(options.lm, tokenizer),
                weight=options.lm_weight,
                bonus=options.bonus,
            )
            if self.fused
            else None,
        )
        self.decoding = Decoding(beam=options.beam, nbest=options.nbest)
        self.forbidden = tuple(i for i in tokenizer.special_ids() if i != END_ID)

    def __call__(self, encoded: Encoded, steps: Tensor) -> list[BestTexts]:
        """The best texts of each row of so many steps (B,). Where the model has CTC, too, that
        gives the times of tokens; otherwise a token is where the decoder attends to most."""
        limits = steps.tolist()
        best = self.search(encoded, self.decoding, limits, forbidden=self.forbidden, aligned=True)
        texts = [list(hypothesis[0].tokens) for hypothesis in best]
        token_scores = token_log_p(self.decoder, encoded, texts)
        log_p = self.model.log_p(encoded).cpu() if self.model.scores is not None else None
        results = []
        for row, hypotheses in enumerate(best):
            own_log_p = None if log_p is None else log_p[row, : limits[row]]
            kept = [CtcText(list(h.tokens), h.log_probability, h.score) for h in hypotheses]
            if self.fused:
                kept = self._by_decoder(kept, encoded.select(torch.tensor([row])))
            spans = token_spans(hypotheses[0], own_log_p)
            results.append(BestTexts(kept, spans, np.exp(token_scores[row])))
        return results

    def _by_decoder(self, texts: list[CtcText], encoded: Encoded) -> list[CtcText]:
        """With the log probabilities of the decoder alone, of texts of one row."""
        whole = [[*text.ids, END_ID] for text in texts]
        many = encoded.select(torch.zeros(len(texts), dtype=torch.int64))
        log_p = token_log_p(self.decoder, many, whole)
        return [text._replace(log_p=float(scores.sum())) for text, scores in zip(texts, log_p)]


class HybridSearch:
    """The texts that the searches of CTC and of the decoder find, ranked by both (Watanabe et al.
    2017, by rescoring):

        λ ln p_ctc(y | x) + (1 - λ) ln p_att(y | x)
    """

    def __init__(
        self, model: Transcriber, tokenizer: Tokenizer, options: Transcribing, weight: float
    ) -> None:
        assert model.decoder is not None
        self.model, self.decoder, self.weight, self.options = model, model.decoder, weight, options
        every = replace(options, nbest=options.beam)
        self.by_decoder = AttentionSearch(model, tokenizer, every)
        self.by_ctc = CtcSearch(tokenizer, every)

    def __call__(self, encoded: Encoded, steps: Tensor) -> list[BestTexts]:
        """The best texts of each row of so many steps (B,)."""
        log_p = self.model.log_p(encoded).cpu()
        results = []
        searched = zip(self.by_decoder(encoded, steps), self.by_ctc(log_p, steps))
        for row, both in enumerate(searched):
            texts = {tuple(text.ids) for ids in both for text in ids.texts}
            candidates = [list(ids) for ids in sorted(texts)]
            memory = encoded.select(torch.full((len(candidates),), row))
            results.append(self._ranked(candidates, memory, log_p[row, : int(steps[row])]))
        return results

    def _ranked(self, candidates: list[list[int]], encoded: Encoded, log_p: Tensor) -> BestTexts:
        """`encoded` has a row for each of the candidates; log_p (T, V)"""
        size = torch.tensor([len(ids) for ids in candidates])
        padded = pad_sequence([torch.tensor(ids) for ids in candidates], batch_first=True)
        many = log_p.expand(len(candidates), -1, -1)
        by_ctc = -ctc_losses(many, torch.full_like(size, len(log_p)), padded.long(), size).double()
        tokens = token_log_p(self.decoder, encoded, [[*ids, END_ID] for ids in candidates])
        by_decoder = torch.tensor([float(token.sum()) for token in tokens])
        scores = self.weight * by_ctc + (1 - self.weight) * by_decoder
        order = scores.sort(descending=True, stable=True).indices.tolist()[: self.options.nbest]
        texts = [CtcText(candidates[i], float(by_ctc[i]), float(scores[i])) for i in order]
        spans, _ = aligned(log_p, texts[0].ids)  # at least those that CTC has found fit
        return BestTexts(texts, spans, np.exp(tokens[order[0]][:-1]))


def token_spans(hypothesis: Hypothesis, log_p: Tensor | None) -> list[StepSpan]:
    """The steps of each token: by CTC (T, V), where there is one and as many steps as the text
    needs, otherwise the step that the decoder attends to most."""
    ids = list(hypothesis.tokens)
    if not ids:
        return []
    size = torch.tensor([len(ids)])
    if log_p is not None and int(steps_needed(torch.tensor([ids]), size)) <= len(log_p):
        return aligned(log_p, ids)[0]
    if hypothesis.alignment is None:
        return [StepSpan(0, 1)] * len(ids)
    return [StepSpan(step, step + 1) for step in hypothesis.alignment.argmax(1).tolist()]


def token_log_p(decoder: Decoder, encoded: Encoded, texts: list[list[int]]) -> list[np.ndarray]:
    """The log probability of each token of each text, given those before it."""
    device = encoded.outputs.device
    ids = [torch.tensor([BEGIN_ID, *text], device=device) for text in texts]
    lengths = torch.tensor([len(row) for row in ids])
    logits = decoder.output(
        decoder.vectors(pad_sequence(ids, batch_first=True), encoded, lengths=lengths)
    )
    log_p = logits.double().log_softmax(-1).cpu()
    return [row[torch.arange(len(text)), text].numpy() for row, text in zip(log_p, texts)]


def attention_loss(
    decoder: Decoder, encoded: Encoded, ids: Tensor, lengths: Tensor, *, smoothing: float = 0.0
) -> tuple[Tensor, int]:
    """The mean of -ln p of each token of texts, and of their ends, after those before it; and how
    many these are.

    ids       (B, N) with <s> before and </s> behind each text, padded
    lengths   (B,) of these
    """
    loss = decoder.loss(Targets(ids, lengths), encoded, label_smoothing=smoothing)
    return loss, int((lengths - 1).sum())
