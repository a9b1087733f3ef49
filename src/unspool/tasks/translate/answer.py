"""Translations: the two sides of a pair, a search (`search/`) from one to the other, the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.config import TokenizerConfig
from unspool.data.corpus import Fields
from unspool.data.fields.text import TextField
from unspool.data.fields.tokens import TokenBatch, Tokens
from unspool.data.part import Part
from unspool.nn.copying import CopyOutput, copy_shares, number_tokens
from unspool.nn.decoders import Targets
from unspool.nn.encoder import Copies, Encoded
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.search import Hypothesis
from unspool.search.batched import BatchedSearch
from unspool.search.decoding import Decoding
from unspool.tasks.answer import Answer, empty, one_line
from unspool.tasks.metrics import perplexity
from unspool.tasks.task import Report
from unspool.tasks.text_metrics import bleu_statistics, bootstrap_bleu, corpus_bleu, corpus_chrf
from unspool.text.tokenizers import SubwordTokenizer, WordTokenizer
from unspool.text.vocab import BEGIN_ID, END, PAD_ID, UNK_ID
from unspool.text.words import join


def sides(fields: Fields) -> tuple[TextField, TextField]:
    source, target = fields["source"], fields["target"]
    assert isinstance(source, TextField)
    assert isinstance(target, TextField)
    return source, target


def is_joint(settings: TokenizerConfig) -> bool:
    """Whether both sides get one vocabulary; unless it is said, byte pairs do."""
    return settings.kind in ("auto", "bpe") if settings.joint is None else settings.joint


def may_copy(source: TextField) -> bool:
    """Whether what is read has tokens in common with what is written."""
    if source.tokenizer is not None:
        return not isinstance(source.tokenizer, SubwordTokenizer)
    return source.settings.kind != "bpe" or is_joint(source.settings)


def encode(model: Seq2Seq, source: TokenBatch) -> Encoded:
    copies = None if source.copies is None else Copies(source.copies)
    return model.encode(source.ids, source.lengths, copies)


def target_tensors(target: TokenBatch) -> Targets:
    return Targets(target.ids, target.lengths, target.copies)


class Candidate(NamedTuple):
    """One translation of a search; `score` is the log probability over the length penalty."""

    translation: str
    score: float
    log_probability: float


class CopiedToken(NamedTuple):
    """The origin of a written token.

    p_gen      the probability with which the model wrote a token of its vocabulary at this step
    copied     the probability that this token was copied
    position   the source token that it was copied from most probably; None where there is none
    """

    p_gen: float
    copied: float
    position: int | None


@dataclass(frozen=True)
class Translation(Answer):
    """The best translation of a text, and the others that were asked for.

    alignment   (tokens, source_tokens): where each token looked; None where nothing looks, or
                nobody asked
    cut         the text was longer than the model reads
    copied      of each token, where it comes from; None where the model does not copy, or nobody
                asked for the alignment
    """

    plural: ClassVar[str] = "translations"
    noun: ClassVar[str] = "translation"

    text: str
    translation: str
    score: float
    nbest: list[Candidate]
    source_tokens: list[str]
    tokens: list[str]
    alignment: np.ndarray | None = None
    cut: bool = False
    copied: list[CopiedToken] | None = None

    def __str__(self) -> str:
        return one_line(self.translation)

    def lines(self, number: int) -> list[str]:
        """The translation; of several, a line each with number, score and text."""
        if len(self.nbest) == 1:
            return [str(self)]
        return ["\t".join(map(str, row[:3])) for row in self.rows(number)]

    def header(self) -> list[str]:
        return ["number", "score", self.noun, "text"]

    def rows(self, number: int) -> list[list[Any]]:
        return [
            [number, f"{candidate.score:.4f}", one_line(candidate.translation), self.text]
            for candidate in self.nbest
        ]

    @property
    def warning(self) -> str | None:
        return "longer than the model reads, and cut" if self.cut else empty(self.text)

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "text": self.text,
            self.noun: self.translation,
            "score": self.score,
            "nbest": [
                {self.noun: text, "score": score, "log_probability": log_p}
                for text, score, log_p in self.nbest
            ],
            "source_tokens": self.source_tokens,
            "tokens": self.tokens,
        }
        if self.alignment is not None:
            values["alignment"] = np.round(self.alignment.astype(float), 4).tolist()
        if self.copied is not None:
            values["copied"] = [
                {"p_gen": round(p_gen, 4), "copied": round(copied, 4), "position": position}
                for p_gen, copied, position in self.copied
            ]
        return values


class Translator:
    """A model as it is now, with the fields of both sides.

    aligns      whether its decoder looks at the source
    most        tokens that it can write at all; None: no limit
    """

    answer: ClassVar[type[Translation]] = Translation

    def __init__(
        self,
        model: Seq2Seq,
        source: TextField,
        target: TextField,
        *,
        aligns: bool,
        most: int | None = None,
    ) -> None:
        self.model, self.searcher, self.most = model, BatchedSearch(model), most
        self.field, self.aligns = source, aligns
        self.source, self.target = source.fitted, target.fitted

    @property
    def copies(self) -> bool:
        """Whether the model copies tokens of the source."""
        return self.field.copied_into is not None

    def __call__(self, texts: Sequence[str], decoding: Decoding) -> list[Translation]:
        """In the order of the texts; batching changes no answer, except of sampling."""
        numbers = [i for i, text in enumerate(texts) if text.strip()]
        answers = {
            i: self.answer(text, "", 0.0, [Candidate("", 0.0, 0.0)], [END], [])
            for i, text in enumerate(texts)
            if not text.strip()
        }
        if numbers:
            name = self.field.name
            part = Part.of({name: self.field}, **{name: [texts[i] for i in numbers]})
            for row, hypotheses in self.search(part, decoding):
                i = numbers[row]
                answers[i] = self._present(texts[i], part[name], row, hypotheses, decoding)
        return [answers[i] for i in range(len(texts))]

    def search(self, part: Part, decoding: Decoding) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The row of each source, in some order, with its hypotheses, best first."""
        unknown, framing = self._replaces(decoding) or decoding.keep_unknown, self.field.frame.size
        return self.searcher(
            part,
            self.field.name,
            decoding,
            forbidden=(PAD_ID, BEGIN_ID) if unknown else (PAD_ID, BEGIN_ID, UNK_ID),
            aligned=self.aligns and (decoding.alignment or self._replaces(decoding)),
            limit=lambda tokens: self.limit(tokens - framing, decoding),
            generator=torch.Generator().manual_seed(decoding.seed),
        )

    def limit(self, source: int, decoding: Decoding) -> int:
        """The most tokens for a source of so many."""
        return decoding.limit(source, most=self.most)

    def _replaces(self, decoding: Decoding) -> bool:
        """Whether unknown words are to be replaced by those of the source they look at; a model
        that copies has none."""
        unknowns = not isinstance(self.target, SubwordTokenizer)
        return self.aligns and unknowns and not self.copies and not decoding.keep_unknown

    def beyond(self, copies: np.ndarray, pieces: Sequence[str]) -> dict[int, str]:
        """The tokens of a source that the vocabulary of the target does not have, by the numbers
        that a search gives them.

        copies   of the source, as `TextField` numbers them
        pieces   what stands in the text, of which the frame is no part
        """
        size, first = len(self.target), len(self.field.frame.before)
        numbers = number_tokens(torch.from_numpy(copies)[None], size).ids[0].tolist()
        inside = numbers[first : first + len(pieces)]
        return {number: piece for number, piece in zip(inside, pieces) if number >= size}

    def shown(self, tokens: Sequence[int], beyond: Mapping[int, str]) -> list[str]:
        """A readable string for each token of the extended vocabulary."""
        return [beyond[t] if t in beyond else self.target.shown([t])[0] for t in tokens]

    def _present(
        self, text: str, values: Tokens, row: int, hypotheses: list[Hypothesis], decoding: Decoding
    ) -> Translation:
        ids, pieces = values[row].tolist(), self.source.pieces(text)
        beyond = self.beyond(values.copies(row), pieces) if self.copies else {}
        spelt = [self.spell(h, pieces, beyond, decoding) for h in hypotheses]
        best = hypotheses[0]
        seen, copied = None, None
        if decoding.alignment and best.alignment is not None:
            seen = best.alignment[:, : len(ids)].float().cpu().numpy()
        if decoding.alignment and self.copies:
            copied = self.copied(values[row], values.copies(row), best.tokens)
        return self.answer(
            text,
            spelt[0],
            best.score,
            [Candidate(t, h.score, h.log_probability) for t, h in zip(spelt, hypotheses)],
            self._read(ids, pieces),
            self.shown(best.tokens, beyond),
            seen,
            values.is_shortened(row),
            copied,
        )

    def _read(self, ids: list[int], pieces: list[str]) -> list[str]:
        """The tokens of a source; a model that copies knows the words that are unknown."""
        sources, first = self.source.shown(ids), len(self.field.frame.before)
        if self.copies and not isinstance(self.source, SubwordTokenizer):
            inside = pieces[: len(ids) - self.field.frame.size]
            sources[first : first + len(inside)] = inside
        return sources

    def copied(
        self, source: np.ndarray, copies: np.ndarray, tokens: Sequence[int]
    ) -> list[CopiedToken]:
        """The origin of each token of a translation."""
        decoder = self.model.decoder
        assert isinstance(decoder.output, CopyOutput)
        numbered = number_tokens(torch.from_numpy(copies)[None], decoder.output.vocab)
        ids, written = torch.from_numpy(source)[None], torch.tensor(tokens, dtype=torch.int64)
        with torch.inference_mode():
            encoded = self.model.encode(ids, torch.tensor([len(source)]), numbered)
            inputs = torch.tensor([[BEGIN_ID, *tokens]])
            h, alignment = decoder.read(inputs, encoded)
            assert alignment is not None
            shares = copy_shares(
                decoder.output, h[0, :-1], alignment[0, :-1], numbered.ids[0], written
            )
        rows = zip(shares.gate.tolist(), shares.copied.tolist(), shares.position.tolist())
        return [CopiedToken(g, c, None if at < 0 else at) for g, c, at in rows]

    def spell(
        self,
        hypothesis: Hypothesis,
        pieces: list[str],
        beyond: Mapping[int, str],
        decoding: Decoding,
    ) -> str:
        """The text of a hypothesis; where a word is unknown, the word of the source that was
        copied, or that it looks at."""
        looks = None
        if (
            UNK_ID in hypothesis.tokens
            and hypothesis.alignment is not None
            and self._replaces(decoding)
        ):
            looks = strongest(hypothesis.alignment, len(pieces))
        if looks is None and not beyond:
            return self.target.decode(hypothesis.tokens)
        words = [
            beyond[token]
            if token in beyond
            else pieces[looks[t]]
            if token == UNK_ID and looks is not None
            else self.target.vocab[token]
            for t, token in enumerate(hypothesis.tokens)
        ]
        if isinstance(self.target, WordTokenizer):
            return join(words, split=self.target.split)
        return "".join(words)


def strongest(alignment: Tensor, length: int) -> list[int]:
    """The source position that each token attends to most, the end left out."""
    return alignment[:, :length].argmax(1).tolist()


class TranslateReport(Report):
    """BLEU with its interval and signature, chrF, exact matches, loss; keeps the translations."""

    def __init__(
        self,
        translations: Sequence[Translation],
        references: list[str],
        summed_loss: float,
        tokens: int,
    ) -> None:
        texts = [translation.translation for translation in translations]
        self.translations, self.references, self.tokens = translations, references, tokens
        alone = [[wanted] for wanted in references]
        self.statistics = bleu_statistics(texts, alone)
        self.interval = bootstrap_bleu([self.statistics])
        bleu, chrf = corpus_bleu(texts, alone), corpus_chrf(texts, alone)
        self.signatures = {"bleu": bleu.signature, "chrf": chrf.signature}
        self.scores = np.array([text == wanted for text, wanted in zip(texts, references)], float)
        self.metrics = {
            "bleu": bleu.value,
            "chrf": chrf.value,
            "exact": float(self.scores.mean()),
            "loss": summed_loss / tokens,
            "perplexity": perplexity(summed_loss / tokens),
        }

    def interval_over(self, reports: Sequence[Report]) -> tuple[float, float]:
        statistics = [r.statistics for r in reports if isinstance(r, TranslateReport)]
        return bootstrap_bleu(statistics)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "translate",
            "pairs": len(self.references),
            "tokens": self.tokens,
            **self.metrics,
            "bleu_interval": list(self.interval),
            "signatures": self.signatures,
            "translations": [
                {"text": pair.text, "translation": pair.translation, "reference": wanted}
                for pair, wanted in zip(self.translations, self.references)
            ],
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        figures = self.metrics
        return [
            f"{len(self.references)} pairs, {self.tokens} target tokens",
            f"BLEU         {figures['bleu']:6.2f}   "
            f"95 % interval {low:.2f} to {high:.2f} (bootstrap)",
            f"             {self.signatures['bleu']}",
            f"chrF         {figures['chrf']:6.2f}",
            f"             {self.signatures['chrf']}",
            f"exact match  {100 * figures['exact']:6.2f} %",
            f"loss         {figures['loss']:6.4f} nats a token, perplexity "
            f"{figures['perplexity']:.2f}",
        ]
