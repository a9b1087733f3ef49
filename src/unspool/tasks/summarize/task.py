"""summarize: a text in, a shorter one out. It is `translate` with copying, its own way to read a
table, and ROUGE for BLEU.

A document that is longer than data.max_length is cut, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from torch import nn

from unspool.config import Config
from unspool.data.corpus import Corpus
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.data.store.columns import Progress
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.search.decoding import Decoding
from unspool.search.rules import Hypothesis
from unspool.tasks.metrics import Metric, bootstrap_mean, perplexity
from unspool.tasks.roles import Roles
from unspool.tasks.summarize.plan import DOCUMENTS, SUMMARIES, further_references, plan_summaries
from unspool.tasks.task import Report, RowInfo, encode_rows
from unspool.tasks.text_metrics import ROUGE_METRICS, rouge, rouge_tokens
from unspool.tasks.translate.answer import Translation, Translator
from unspool.tasks.translate.task import MODELS, Translate
from unspool.text.tokenizers import Tokenizer

TITLES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}


def lead(documents: Sequence[str], words: int) -> list[str]:
    """The first words of each document."""
    return [" ".join(document.split()[:words]) for document in documents]


class SummarizeReport(Report):
    """ROUGE of the summaries, of the beginning of each document ("lead"), and of the difference.

    The lead is as long as the references are on average, which nobody knows beforehand: it is no
    weaker than it has to be. All are 0 to 100; of several references the best one counts.
    """

    def __init__(
        self,
        summaries: Sequence[Translation],
        references: Sequence[Sequence[str]],
        summed_loss: float,
        count: int,
    ) -> None:
        self.summaries, self.references, self.tokens = summaries, references, count
        self.words = max(1, round(np.mean([len(texts[0].split()) for texts in references])))
        documents = [summary.text for summary in summaries]
        self.each = 100 * rouge(
            [summary.translation for summary in summaries], references
        )  # (N, 3)
        self.lead = 100 * rouge(lead(documents, self.words), references)
        self.scores = self.each[:, ROUGE_METRICS.index("rougeL")]
        self.intervals = {
            name: bootstrap_mean(self.each[:, k]) for k, name in enumerate(ROUGE_METRICS)
        }
        self.interval = self.intervals["rougeL"]
        self.metrics = {
            **dict(zip(ROUGE_METRICS, self.each.mean(0).tolist())),
            **{
                f"lead_{name}": value
                for name, value in zip(ROUGE_METRICS, self.lead.mean(0).tolist())
            },
            "loss": summed_loss / count,
            "perplexity": perplexity(summed_loss / count),
        }
        blank = sum(not any(map(rouge_tokens, text)) for text in references)
        cut = sum(bool(summary.cut) for summary in summaries)
        if blank:
            self.notes += (
                f"{blank:,} references have no a-z or 0-9, which is all that ROUGE compares",
            )
        if cut:
            self.notes += (f"{cut:,} documents are longer than the model reads, and were cut",)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "summarize",
            "documents": len(self.references),
            "tokens": self.tokens,
            **self.metrics,
            "intervals": {name: list(interval) for name, interval in self.intervals.items()},
            "lead_words": self.words,
            "summaries": [
                {"text": summary.text, "summary": summary.translation, "references": list(wanted)}
                for summary, wanted in zip(self.summaries, self.references)
            ],
        }

    def lines(self) -> list[str]:
        several = max(map(len, self.references))
        of = f", up to {several} references each, the best counts" if several > 1 else ""
        figures = self.metrics
        lines = [f"{len(self.references)} documents, {self.tokens} summary tokens{of}"]
        for name, title in TITLES.items():
            low, high = self.intervals[name]
            lines.append(
                f"{title}      {figures[name]:6.2f}   95 % interval {low:.2f} to {high:.2f}"
                f" (bootstrap)   lead {figures[f'lead_{name}']:.2f}"
            )
        return [
            *lines,
            f"lead         the first {self.words} words of a document, as many as references have",
            f"loss         {figures['loss']:6.4f} nats a token, perplexity "
            f"{figures['perplexity']:.2f}",
        ]


class SummaryAnswer(Translation):
    """The best summary of a text, and the others that were asked for."""

    plural = "summaries"
    noun = "summary"


SHORT = 10  # tokens that every summary may have


class Summarizer(Translator):
    """A summary is never empty, and unless it was asked for not longer than its document."""

    answer = SummaryAnswer

    def search(self, part: Part, decoding: Decoding) -> Iterator[tuple[int, list[Hypothesis]]]:
        return super().search(part, replace(decoding, min_length=max(1, decoding.min_length)))

    def limit(self, source: int, decoding: Decoding) -> int:
        most = super().limit(source, decoding)
        if decoding.max_length:
            return most
        return min(most, max(source, decoding.min_length, SHORT))


class Summarize(Translate):
    """The best weights are those with the highest ROUGE-L of greedy summaries."""

    name = "summarize"
    roles = Roles(plan=plan_summaries, columns=(DOCUMENTS, SUMMARIES))
    metric = Metric("rougeL", ties=("exact",))
    default_model = "bahdanau"
    answer = SummaryAnswer
    translates: ClassVar[type[Translator]] = Summarizer
    too_long: ClassVar[Literal["cut", "leave out"]] = "cut"
    rows = RowInfo("documents", most_held_out=5000)
    defaults: ClassVar[Mapping[str, Any]] = {
        **Translate.defaults,
        "data.max_length": 400,
        "tokenizer.kind": "word",
        "tokenizer.joint": True,
        "tokenizer.vocab": 20_000,
        "model.hidden": 128,
        "model.embedding": 128,
        "model.copy": True,
        "train.batch": 32,
        "train.batch_tokens": 16_384,
        "train.label_smoothing": 0.0,
    }

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        """Without attention there is nothing to copy by."""
        return {
            name: {**preset, "model.copy": False}
            if preset.get("model.attention") == "none"
            else preset
            for name, preset in MODELS.items()
        }

    @classmethod
    def prepare(cls, config: Config, corpus: Corpus, fitted: Tokenizer | None) -> None:
        for name, part in corpus.parts.items():
            corpus.notes += [f"{name}: {note}" for note in longer_summaries(part)]

    def encode(self, plan: Plan, progress: Progress | None = None) -> tuple[Part, list[str]]:
        part, notes = encode_rows(self, plan, progress)
        return part, [*notes, *longer_summaries(part)]

    def export_limits(self) -> dict[str, Any]:
        return {"min_length": 1, "grows": False, "short": SHORT}

    def judge(self, texts: Sequence[str], references: Sequence[str]) -> dict[str, float]:
        means = 100 * rouge(texts, [[text] for text in references]).mean(0)
        return dict(zip(ROUGE_METRICS, means.tolist()))

    def evaluate(
        self, model: nn.Module, part: Part, options: Decoding | None = None
    ) -> SummarizeReport:
        assert isinstance(model, Seq2Seq)
        rows = np.arange(len(part))
        summaries, first_references = self._translate(model, part, rows, options or Decoding())
        further = further_references(part.plan) if part.plan is not None else []
        references = [
            [text, *(further[row] if further else [])]
            for text, row in zip(first_references, part.rows)
        ]
        return SummarizeReport(summaries, references, *self._summed_loss(model, part))


def longer_summaries(part: Part) -> list[str]:
    """A note on rows whose summary is longer than its document: they are read all the same."""
    if "target" not in part:
        return []
    longer = part["target"].raw.lengths > part["source"].raw.lengths
    if not longer.any():
        return []
    first = part.where(int(np.argmax(longer)))
    return [f"{longer.sum():,} summaries are longer than their documents, the first at {first}"]
