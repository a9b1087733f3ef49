"""From log probabilities of the steps to texts with the times and probabilities of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.nn.ctc import BLANK, StepSpan, align
from unspool.search.ctc import CtcText, greedy_ctc, prefix_beam
from unspool.tasks.transcribe.answer import Transcribing
from unspool.tasks.transcribe.language import LanguageScores
from unspool.tasks.transcribe.report import edits
from unspool.text.tokenizers import Tokenizer

SEGMENT = 1000  # steps of a long recording that are searched at once
TOGETHER = 16  # segments of a batch


class BestTexts(NamedTuple):
    """Results for a recording: the best texts, and of the tokens of the first of them the
    steps and the network's probability."""

    texts: list[CtcText]
    spans: list[StepSpan]
    p: np.ndarray


class CtcSearch:
    """Texts by CTC: the best path, or a prefix beam search with or without a language model."""

    def __init__(self, tokenizer: Tokenizer, options: Transcribing) -> None:
        self.tokenizer, self.options = tokenizer, options

    def __call__(self, log_p: Tensor, steps: Tensor) -> list[BestTexts]:
        """(B, T, V), (B,) -> of each row what was found; a long row, alone, is searched in
        segments"""
        if len(log_p) == 1 and log_p.shape[1] > SEGMENT:
            return [self._segments(log_p[0, : int(steps[0])])]
        return self._search(log_p, steps, self.options)

    def _search(self, log_p: Tensor, steps: Tensor, options: Transcribing) -> list[BestTexts]:
        forbidden = special_tokens(self.tokenizer)
        texts: list[list[CtcText]]
        if options.greedy:
            masked = log_p.clone()
            masked[..., list(forbidden)] = -torch.inf
            texts = [[CtcText(ids, 0.0, 0.0)] for ids in greedy_ctc(masked, steps)]
        else:
            language = None if options.lm is None else LanguageScores(options.lm, self.tokenizer)
            texts = prefix_beam(
                log_p,
                steps,
                beam=options.beam,
                nbest=options.nbest,
                forbidden=forbidden,
                language=language,
                weight=options.lm_weight if language else 0.0,
                bonus=options.bonus,
            )
        return [
            BestTexts(best, *aligned(row[:count], best[0].ids))
            for row, count, best in zip(log_p, steps.tolist(), texts)
        ]

    def _segments(self, log_p: Tensor) -> BestTexts:
        """The text of one long recording, (T, V), as those of its segments: one candidate alone,
        and a language model begins anew with each."""
        ends = quiet_steps(log_p, SEGMENT)
        pieces = [log_p[first:stop] for first, stop in zip([0, *ends], ends)]
        one = replace(self.options, nbest=1)
        ids, spans, p, scores = list[int](), list[StepSpan](), list[np.ndarray](), np.zeros(2)
        for start in range(0, len(pieces), TOGETHER):
            some = pieces[start : start + TOGETHER]
            sizes = torch.tensor([len(segment) for segment in some])
            batch = torch.nn.utils.rnn.pad_sequence(some, batch_first=True)
            for at, segment in enumerate(self._search(batch, sizes, one), start):
                first = ends[at - 1] if at else 0
                ids += segment.texts[0].ids
                spans += [StepSpan(a + first, b + first) for a, b in segment.spans]
                p.append(segment.p)
                scores += [segment.texts[0].log_p, segment.texts[0].score]
        return BestTexts([CtcText(ids, *scores.tolist())], spans, np.concatenate(p))


def special_tokens(tokenizer: Tokenizer) -> tuple[int, ...]:
    """Tokens that are in no text; the blank has the id of padding."""
    return tuple(i for i in tokenizer.special_ids() if i != BLANK)


def aligned(log_p: Tensor, ids: list[int]) -> tuple[list[StepSpan], np.ndarray]:
    """The steps of each token of a text on its best path through (T, V), and the mean of its
    probability there."""
    spans = align(log_p, ids)
    p = [
        float(log_p[span.start : span.end, token].double().exp().mean())
        for span, token in zip(spans, ids)
    ]
    return spans, np.array(p)


def quiet_steps(log_p: Tensor, size: int) -> list[int]:
    """Cuts of a long row (T, V) into segments of at most `size` steps: behind the step of the
    second half of each that is most surely a blank, so that no token is cut. The last is T."""
    ends, start = [], 0
    while len(log_p) - start > size:
        half = start + size // 2
        start = half + int(log_p[half : start + size, BLANK].argmax()) + 1
        ends.append(start)
    return [*ends, len(log_p)]


def judged(
    results: Sequence[BestTexts], truth: Sequence[str], tokenizer: Tokenizer
) -> tuple[np.ndarray, np.ndarray]:
    """The probability of each written token, and whether it is right."""
    p, right = [], list[bool]()
    for result, text in zip(results, truth):
        shown = tokenizer.shown(result.texts[0].ids)
        path = edits(tokenizer.pieces(text), shown)
        right += [edit.right for edit in path if edit.found is not None]
        p.append(result.p)
    return np.concatenate([*p, np.empty(0)]), np.array(right, dtype=bool)
