"""pretrain: some tokens of a text are hidden, and the model predicts them.

tokens (B, T), about 15 % hidden -> Transformer (B, T, E) -> scores (N, V) at the N masked ones.
No labels are needed; what the encoder has learnt is where other tasks can start (`--from`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, declare
from unspool.config.numbers import check_numbers
from unspool.data.fields.field import Field
from unspool.data.fields.text import TextField
from unspool.data.masking import MaskedBatch, MaskedBatches, encode_masked
from unspool.data.part import Part
from unspool.errors import ConfigError, DataError
from unspool.nn.masks import where_kept
from unspool.nn.models.language_model import MaskedModel
from unspool.tasks.answer import Answer, one_line
from unspool.tasks.encoder import build_encoder, check_learned_positions
from unspool.tasks.examples import Example, row_example
from unspool.tasks.metrics import Metric, bootstrap_mean, perplexity
from unspool.tasks.plan import plan_documents
from unspool.tasks.reading import AnswerText, longest, longest_token
from unspool.tasks.reading_answers import NextTokenView
from unspool.tasks.reading_inputs import TokensView
from unspool.tasks.roles import Roles
from unspool.tasks.size import longest_document
from unspool.tasks.task import Report, Step, Task, as_array, row_batches, walk
from unspool.text.vocab import MASK, MASK_ID, MASK_SPECIALS

TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 4,
    "model.hidden": 128,
    "model.heads": 4,
    "model.dropout": 0.1,
    "model.positions": "rotary",
    "model.pooling": "mean",
    "train.lr": 1e-3,
    "train.warmup": 0.05,
}


class MaskCandidate(NamedTuple):
    token: str
    probability: float


@dataclass(frozen=True)
class Filled(Answer):
    """A text with `<mask>`s, and the candidates for each of them, the most probable first."""

    text: str
    masks: list[list[MaskCandidate]]

    def __str__(self) -> str:
        return "\n".join(self.lines(1))

    def lines(self, number: int) -> list[str]:
        """A line a mask."""
        text = one_line(self.text)
        masks = ("  ".join(f"{token} {p:.4f}" for token, p in mask) for mask in self.masks)
        return [f"{candidates}\t{text}" for candidates in masks]

    def header(self) -> list[str]:
        return ["number", "mask", "token", "probability", "text"]

    def rows(self, number: int) -> list[list[Any]]:
        """A row a candidate."""
        return [
            [number, i, token, f"{p:.6f}", self.text]
            for i, mask in enumerate(self.masks, 1)
            for token, p in mask
        ]

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "masks": [[c._asdict() for c in mask] for mask in self.masks]}


@dataclass(frozen=True, kw_only=True)
class Filling:
    """top   how many candidates for each <mask>"""

    top: int = 5

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.top < 1:
            raise ConfigError("top must be 1 or more", got=self.top)


class PretrainReport(Report):
    """Loss and accuracy at the masked positions."""

    def __init__(self, losses: np.ndarray, right: np.ndarray, counts: np.ndarray) -> None:
        """Total loss, right guesses and masked positions of each document."""
        self.scores, self.weights = losses / counts, counts
        self.interval = bootstrap_mean(self.scores, counts)
        self.documents, self.count = len(counts), int(counts.sum())
        mean = float(losses.sum() / counts.sum())
        self.metrics = {
            "loss": mean,
            "perplexity": perplexity(mean),
            "accuracy": float(right.sum() / counts.sum()),
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "task": "pretrain",
            "documents": self.documents,
            "masked": self.count,
            **self.metrics,
            "loss_interval": list(self.interval),
        }

    def lines(self) -> list[str]:
        low, high = self.interval
        return [
            f"{self.count} tokens predicted in {self.documents} pieces of text",
            f"loss        {self.metrics['loss']:.4f} nats a token   "
            f"95 % interval {low:.4f} to {high:.4f} (bootstrap)",
            f"perplexity  {self.metrics['perplexity']:.2f}",
            f"accuracy    {self.metrics['accuracy']:.4f}",
        ]


class MaskedView(TokensView):
    """A text in which tokens may be hidden behind <mask>."""

    def __init__(self, task: Any, model: Any, text: str) -> None:
        tokenizer = task.tokenizer
        ids = encode_masked(tokenizer, text) if MASK in text else tokenizer.encode(text)
        between = [tokenizer.pieces(stretch) for stretch in text.split(MASK)]
        pieces = [piece for stretch in between for piece in (*stretch, MASK)][:-1]
        limit = longest(model)
        if task.config.model.positions == "learned":
            limit = min(limit, task.config.data.max_length)
        super().__init__(task, model, text, ids, pieces, limit)
        self.masks: list[int] = np.flatnonzero(self.ids == MASK_ID).tolist()


class FillingView(NextTokenView):
    """At each step a token: what may be hidden behind a <mask>, or what stands there."""

    causal = False

    def default_step(self) -> int:
        """The first <mask>; without one the longest token."""
        return self.input.masks[0] if self.input.masks else longest_token(self.input.tokens)

    def scores(self, batch: tuple[Any, ...]) -> Tensor:
        return self.model(*batch)

    def chosen(self, scores: Tensor) -> list[int]:
        specials = self.task.tokenizer.special_ids()
        return scores.index_fill(1, torch.tensor(specials), -torch.inf).argmax(1).tolist()

    def summary(self, scores: Tensor) -> AnswerText:
        """The tokens in place of each <mask>."""
        chosen, values, masks = self.chosen(scores), self.values(scores), self.input.masks
        figures = ", ".join(f"{float(values[at, chosen[at]]):.4f}" for at in masks)
        names = ", ".join(self.name(chosen[at]) for at in masks)
        return AnswerText(names, f"probability {figures}" if masks else f"no {MASK} to fill in")


class Pretrain(Task):
    name = "pretrain"
    roles = Roles(plan=plan_documents, guessed=False)
    metric = Metric("loss", higher_is_better=False)
    settings = declare(train="label_smoothing")
    default_model = "transformer"
    input_view = MaskedView
    answer_view = FillingView
    answer = Filled
    options = Filling
    usage = 'unspool predict {run} "some <mask> text"'
    defaults: ClassVar[Mapping[str, Any]] = {"data.max_length": 128}

    @classmethod
    def make_fields(cls, config: Config) -> dict[str, Field]:
        """Texts are read whole, in pieces of `data.max_length`."""
        return {"text": TextField("text", config.tokenizer, specials=MASK_SPECIALS)}

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {"transformer": TRANSFORMER}

    @classmethod
    def check_config(cls, config: Config) -> None:
        check_learned_positions(config)

    def build(self) -> MaskedModel:
        model = self.config.model
        encoder = build_encoder(model, self.input_field, length=self.config.data.max_length)
        return MaskedModel(encoder, activation=model.activation)

    def example_inputs(self) -> tuple[Tensor, ...]:
        return torch.ones(1, 3, dtype=torch.int64), torch.tensor([3])

    def batches(self, part: Part, *, training: bool) -> MaskedBatches:
        pieces = part.in_pieces(self.input, longest_document(self.config))
        return MaskedBatches(
            row_batches(self.config, pieces, training=training),
            vocab=len(self.tokenizer.vocab),
            specials=len(self.tokenizer.vocab.specials),
            # Models that differ in their seed are judged by the same hidden tokens.
            seed=self.config.train.seed if training else 0,
            anew=training,
        )

    def loss(self, model: nn.Module, batch: MaskedBatch, carry: Any) -> Step:
        assert isinstance(model, MaskedModel)
        h = model.output.vectors(
            where_kept(model.read(batch.ids, batch.lengths), batch.chosen)
        )  # (N, E)
        smoothing = self.config.train.label_smoothing
        loss = model.output.output.loss(h, batch.targets, label_smoothing=smoothing)
        return Step(loss, len(batch.targets), int(batch.lengths.sum()), carry=None)

    def validate(self, model: nn.Module, part: Part) -> dict[str, float]:
        return self.evaluate(model, part).metrics

    def evaluate(
        self, model: nn.Module, part: Part, options: Filling | None = None
    ) -> PretrainReport:
        assert isinstance(model, MaskedModel)
        batches = self.batches(part, training=False)
        size = len(batches.inner.part)
        sums, right, counts = np.zeros(size), np.zeros(size), np.zeros(size)
        with torch.inference_mode():
            for batch in walk(batches, model):
                h = model.output.vectors(
                    where_kept(model.read(batch.ids, batch.lengths), batch.chosen)
                )
                scores = model.output.output(h).float()  # (N, V)
                losses = nn.functional.cross_entropy(scores, batch.targets, reduction="none")
                rows = batch.rows[as_array(batch.chosen.nonzero()[:, 0])]
                np.add.at(sums, rows, as_array(losses.double()))
                np.add.at(right, rows, as_array(scores.argmax(1) == batch.targets))
                np.add.at(counts, rows, 1)
        return PretrainReport(sums, right, counts)

    def predict(
        self, model: nn.Module, items: Iterable[str], options: Filling | None = None
    ) -> Iterator[Filled]:
        """The most probable tokens for every mask; each text is read by itself, and as a whole."""
        assert isinstance(model, MaskedModel)
        top = (options or Filling()).top
        specials = self.tokenizer.special_ids()
        limit = self.config.data.max_length if self.config.model.positions == "learned" else 0
        for text in items:
            ids = encode_masked(self.tokenizer, text)
            if limit and len(ids) > limit:
                raise DataError(
                    f"the model reads at most {limit} tokens",
                    got=f"{len(ids)} in {text!r}",
                    remedy="give a shorter text",
                )
            with torch.inference_mode():
                row = torch.from_numpy(ids)[None]
                h = model.read(row, torch.tensor([len(ids)]))[row == MASK_ID]  # (N, E)
                scores = model.output(h).double()  # (N, V)
                scores[:, specials] = -torch.inf
                best = scores.softmax(1).topk(min(top, scores.shape[1] - len(specials)))
            yield Filled(
                text,
                [
                    [
                        MaskCandidate(self.tokenizer.decode([token]).strip(), p)
                        for token, p in zip(tokens, probabilities)
                    ]
                    for tokens, probabilities in zip(best.indices.tolist(), best.values.tolist())
                ],
            )

    def example(self, words: list[str]) -> str:
        hidden = len(words) // 2
        return " ".join([*words[:hidden], MASK, *words[hidden + 1 :]])

    def examples_of(self, part: Part, row: int, raw: Mapping[str, Any]) -> list[Example]:
        """Hide one word of the text."""
        words = row_example(self, raw).text.split()
        return [Example(self.example(words), words[len(words) // 2])]
