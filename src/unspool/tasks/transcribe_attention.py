"""Texts of recordings by an attention decoder: what an encoder has read in, texts with the times
and probabilities of their tokens out; and its loss."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from unspool.nn.ctc import TokenSpan, steps_needed
from unspool.nn.decoders import Decoder
from unspool.nn.encoder import Encoded
from unspool.nn.masks import keep_mask, where_kept
from unspool.nn.models.transcriber import Transcriber
from unspool.search import Hypothesis
from unspool.search.batched import DecoderSearch
from unspool.search.ctc import Text
from unspool.search.decoding import Decoding
from unspool.tasks.transcribe_options import Transcribing
from unspool.tasks.transcribe_search import Found, aligned
from unspool.text.tokenizers import Tokenizer
from unspool.text.vocab import BEGIN_ID, END_ID


class AttentionSearch:
    """Greedy or beam search, with the weights as they are now; a text has at most as many tokens as
    its recording has steps."""

    def __init__(self, model: Transcriber, tokenizer: Tokenizer, options: Transcribing) -> None:
        assert model.decoder is not None
        self.model, self.decoder = model, model.decoder
        self.search = DecoderSearch(model.decoder)
        self.decoding = Decoding(beam=options.beam, nbest=options.nbest)
        self.forbidden = tuple(i for i in tokenizer.special_ids() if i != END_ID)

    def __call__(self, encoded: Encoded, steps: Tensor) -> list[Found]:
        """Of each row, of so many steps (B,), what was found. Where the model has CTC, too, that
        gives the times of tokens; otherwise a token is where the decoder attends to most."""
        limits = steps.tolist()
        best = self.search(encoded, self.decoding, limits, forbidden=self.forbidden, aligned=True)
        texts = [list(own[0].tokens) for own in best]
        p = token_probabilities(self.decoder, encoded, texts)
        log_p = self.model.log_p(encoded).cpu() if self.model.scores is not None else None
        found = []
        for row, own in enumerate(best):
            own_log_p = None if log_p is None else log_p[row, : limits[row]]
            kept = [Text(list(h.tokens), h.log_probability, h.score) for h in own]
            found.append(Found(kept, token_spans(own[0], own_log_p), p[row]))
        return found


def token_spans(found: Hypothesis, log_p: Tensor | None) -> list[TokenSpan]:
    """The steps of each token: by CTC (T, V), where there is one and as many steps as the text
    needs, otherwise the step that the decoder attends to most."""
    ids = list(found.tokens)
    if not ids:
        return []
    size = torch.tensor([len(ids)])
    if log_p is not None and int(steps_needed(torch.tensor([ids]), size)) <= len(log_p):
        return aligned(log_p, ids)[0]
    if found.alignment is None:
        return [TokenSpan(0, 1)] * len(ids)
    return [TokenSpan(step, step + 1) for step in found.alignment.argmax(1).tolist()]


def token_probabilities(
    decoder: Decoder, encoded: Encoded, texts: list[list[int]]
) -> list[np.ndarray]:
    """Of each token of each text the probability after those before it."""
    device = encoded.outputs.device
    ids = [torch.tensor([BEGIN_ID, *text], device=device) for text in texts]
    lengths = torch.tensor([len(own) for own in ids])
    logits = decoder.output(
        decoder.vectors(pad_sequence(ids, batch_first=True), encoded, lengths=lengths)
    )
    p = logits.double().softmax(-1).cpu()
    return [own[torch.arange(len(text)), text].numpy() for own, text in zip(p, texts)]


def attention_loss(
    decoder: Decoder, encoded: Encoded, ids: Tensor, lengths: Tensor, *, smoothing: float = 0.0
) -> tuple[Tensor, int]:
    """The mean of -ln p of each token of texts, and of their ends, after those before it; and how
    many these are.

    ids       (B, N) with <s> before and </s> behind each text, padded
    lengths   (B,) of these
    """
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    vectors = decoder.vectors(inputs, encoded, lengths=lengths - 1)
    keep = keep_mask(lengths - 1, targets.shape[1])
    kept = where_kept(targets, keep)
    loss = decoder.output.loss(where_kept(vectors, keep), kept, label_smoothing=smoothing)
    return loss, len(kept)
