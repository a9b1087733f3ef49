"""Base of the tasks that give one answer to a document (many-to-one).

tokens (B, T) -> encoder (B, T, D·H) -> pooling (B, D·H) [-> dense] -> scores (B, C).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from unspool.config import Config, ModelConfig
from unspool.data.batching import BucketBatches
from unspool.data.fields.bags import NgramField
from unspool.data.fields.features import FeatureField
from unspool.data.fields.field import Chunk
from unspool.data.fields.joined import JoinedField, JoinedValues
from unspool.data.fields.pair import PairField, shown_pair
from unspool.data.fields.tokens import Tokens
from unspool.data.fields.vectors import VectorField
from unspool.data.groups import read_groups
from unspool.data.part import Part
from unspool.data.plan import Plan
from unspool.errors import ConfigError, Option
from unspool.nn.models.ensemble import Ensemble, Kind, average
from unspool.nn.models.linear import Constant, Linear, LinearFeatures, LinearText
from unspool.tasks.answer import Answer
from unspool.tasks.decision import FEWEST
from unspool.tasks.embedding import (
    build_contextual,
    contextual_size,
    example_words,
    refuse_other_tokens,
)
from unspool.tasks.encoder import build_encoder, check_learned_positions, recurrent_models
from unspool.tasks.inputs import input_kind, reads_text, recommended_settings
from unspool.tasks.inputs.kind import merged, windows_of
from unspool.tasks.inputs.text import DIRECT_FIT
from unspool.tasks.linear import (
    CONSTANT,
    LINEAR,
    ROCKET,
    Fitting,
    Solver,
    baseline_config,
    fit_constant,
    fit_linear,
    largest_weights,
)
from unspool.tasks.reading import Reading
from unspool.tasks.size import longest_document
from unspool.tasks.streaming import StreamState
from unspool.tasks.task import Report, Task, Transfer, as_array, fits_directly, row_batches, walk

A = TypeVar("A", bound=Answer)
CHUNK = 4096  # documents predicted at once

# Kim (2014), as some thousand sentences want it (chosen on a held-out part of MR). Many words are
# rare there, and vectors that start small keep them from being noise.
CNN: dict[str, Any] = {
    "model.network": "cnn",
    "model.embedding": 300,
    "model.embedding_std": 0.05,
    "model.dropout": 0.6,
    "model.word_dropout": 0.3,
    "train.lr": 2e-3,
    "train.weight_decay": 0.1,
}
# Chosen on SST-2 (seven thousand sentences), from scratch: small, and much dropped.
TRANSFORMER: dict[str, Any] = {
    "model.network": "transformer",
    "model.layers": 2,
    "model.hidden": 128,
    "model.heads": 4,
    "model.dropout": 0.4,
    "model.word_dropout": 0.3,
    "model.positions": "rotary",
    "model.pooling": "mean",
    "train.lr": 5e-4,
    "train.warmup": 0.1,
}


class DocumentTask(Task):
    """One answer to a document, by any network."""

    default_model = "bilstm"
    defaults: ClassVar[Mapping[str, Any]] = {"train.epochs": 0}
    transfer = Transfer(reads_contextual=True, fine_tunes=True)
    least_rows = FEWEST
    constant: ClassVar[str]  # the name of the model whose answer is always the same

    @classmethod
    def recommended_settings(
        cls, settings: Mapping[str, Any], plan: Plan | None = None
    ) -> dict[str, Any]:
        return recommended_settings(settings, plan)

    @classmethod
    def check_config(cls, config: Config) -> None:
        input_kind(config.data).check(config)
        if config.model.network in DIRECT_FIT and reads_text(config):
            check_baseline(config)
        if config.model.rocket and "model.rocket" not in input_kind(config.data).settings:
            raise ConfigError(
                "rocket reads vectors over time: series, sound, strokes or music",
                got=f"input {config.data.input}",
                remedy=("use ", Option(model="linear")),
            )
        if config.model.pooling == "cls" and config.model.network != "transformer":
            raise ConfigError(
                "model.pooling=cls reads a token before the text, which only a transformer has",
                got=config.model_name,
                remedy=("use ", Option(model="transformer"), ", or another pooling"),
            )
        check_learned_positions(config)

    @classmethod
    def models(cls) -> dict[str, dict[str, Any]]:
        return {
            **recurrent_models(),
            "cnn": CNN,
            "transformer": TRANSFORMER,
            "linear": LINEAR,
            "rocket": ROCKET,
            cls.constant: CONSTANT,
        }

    @classmethod
    def baselines(cls, config: Config) -> list[Config]:
        named = {cls.constant: CONSTANT, "linear": LINEAR}
        if "model.rocket" in input_kind(config.data).settings:
            named["rocket"] = ROCKET
        return [baseline_config(config, name, preset) for name, preset in named.items()]

    @property
    def at_once(self) -> bool:
        return self.config.model.network in DIRECT_FIT

    def fit_model(self, parts: Mapping[str, Part]) -> Fitting:
        linear = self.config.model.network == "linear" and len(self.features)
        return fit_linear(self, parts) if linear else fit_constant(self, parts)

    @classmethod
    def candidates(cls) -> list[str]:
        return ["bilstm", "cnn", "bigru", "transformer"]

    @classmethod
    def quick_candidates(cls, config: Config) -> list[Config]:
        return cls.baselines(config)

    def members(self) -> list[DocumentTask]:
        """The tasks of the models of an ensemble."""
        texts: Any = self.fields[self.input]
        return [
            type(self)(config, {**self.fields, self.input: text})
            for config, text in zip(self.config.members, texts.members)
        ]

    @property
    @abstractmethod
    def averaging(self) -> Kind:
        """The function by which the scores of several models are averaged."""

    @property
    def temperature(self) -> float:
        """Softmax temperature."""
        return 1.0

    def ensemble(self) -> Ensemble:
        return Ensemble([task.build() for task in self.members()], self.averaging)

    def averaged(self, scores: Sequence[np.ndarray]) -> np.ndarray:
        return average(torch.from_numpy(np.stack(scores)), self.averaging).numpy()

    @classmethod
    def joined(
        cls,
        tasks: Sequence[Any],
        models: Sequence[nn.Module],
        weights: Sequence[float],
        temperatures: Sequence[float],
    ) -> tuple[DocumentTask, nn.Module]:
        """The ensemble of models with weights that add up to 1."""
        first = tasks[0]
        config = first.config.model_copy(
            update={
                "model_name": "ensemble",
                "model": ModelConfig(network="ensemble"),
                "members": tuple(task.config for task in tasks),
            }
        )
        text = JoinedField(first.input, [task.fields[task.input] for task in tasks])
        made = cls(config, {**first.fields, first.input: text})
        model = made.ensemble()
        for member, trained in zip(model.members, models):
            member.load_state_dict(trained.state_dict())
        model.weights.copy_(torch.tensor(weights))
        model.temperatures.copy_(torch.tensor(temperatures))
        return made, model.eval()

    def joined_parts(self, parts: Sequence[Mapping[str, Part]]) -> dict[str, Part]:
        """The parts of which the models of an ensemble have the same rows, as its own."""
        joined = {}
        for name, first in parts[0].items():
            if not all(np.array_equal(part[name].rows, first.rows) for part in parts):
                continue
            values = JoinedValues([part[name][self.input] for part in parts])
            joined[name] = Part(
                self.fields,
                {**first.values, self.input: values},
                rows=first.rows,
                lines=first.lines,
                files=first.files,
                plan=first.plan,
            )
        return joined

    @property
    def features(self) -> NgramField | FeatureField:
        """The field of features that a linear model reads."""
        field = self.fields[self.input]
        assert isinstance(field, NgramField | FeatureField)
        return field

    def baseline(self, outputs: int, *, pair: bool = False) -> Linear | Constant:
        """The model of a network that is fitted at once; `pair`: two classes, of which one is
        scored."""
        if self.config.model.network == "constant":
            return Constant(outputs)
        field = self.features
        if isinstance(field, FeatureField):
            return LinearFeatures(len(field), outputs=outputs, pair=pair)
        idf = None if field.idf is None else torch.from_numpy(field.idf)
        return LinearText(
            len(field.words), len(field.spelling), outputs=outputs, pair=pair, idf=idf
        )

    @abstractmethod
    def solver(self) -> Solver:
        """The solver of a linear model."""

    def group_names(self, part: Part) -> np.ndarray | None:
        """(N,) the groups of rows that stay together; None: there are none."""
        if part.plan is None or not self.config.data.grouped:
            return None
        return read_groups(part.plan, self.config.data.group)[part.rows]

    @abstractmethod
    def truth(self, part: Part) -> np.ndarray:
        """(N, ...) what the rows of a part should be answered with."""

    @abstractmethod
    def figures(self, scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
        """The metrics of scores (N, C)."""

    @abstractmethod
    def report(self, scores: np.ndarray, truth: np.ndarray) -> Report:
        """The report on scores (N, C)."""

    def calibrate_by(self, scores: np.ndarray, truth: np.ndarray) -> list[str]:
        """Calibrate by the scores (N, C) of held-out rows."""
        return []

    def metrics(
        self, part: Part, scores: np.ndarray, rows: np.ndarray | None = None
    ) -> dict[str, float]:
        """The figures of scores (N, C) of some rows; None: of all."""
        truth = self.truth(part)
        return self.figures(scores, truth if rows is None else truth[rows])

    def fits_folds(
        self, parts: Mapping[str, Part], folds: int, groups: np.ndarray | None = None
    ) -> bool:
        """Whether models of several folds of these rows give scores of the same meaning, so that
        they have a mean. `groups`: names of those that stay together, of all rows."""
        return False

    def findings(self, model: nn.Module) -> list[str]:
        if not isinstance(model, Linear):
            return []
        return largest_weights(model, self.features.names, self.outputs)

    @property
    @abstractmethod
    def outputs(self) -> list[str]:
        """Names of the columns of the scores."""

    def reading(self, model: nn.Module, item: Any) -> Reading:
        if self.at_once:
            raise ConfigError(
                f"a {self.config.model_name} model has no steps to look at",
                remedy=(
                    "`unspool look RUN INPUT` shows what each feature contributes; the largest"
                    " weights are in README.md of the run"
                ),
            )
        return super().reading(model, item)

    def network(self) -> dict[str, Any]:
        """The parts of a model of documents, but for its output layer."""
        model = self.config.model
        framed = False
        if self.reads_tokens:
            refuse_other_tokens(self.config, self.tokenizer)
            framed = bool(self.tokenizer.frame.before)
        return {
            "encoder": build_encoder(
                model,
                self.input_field,
                length=self.config.data.max_length,
                # The tokenizer of a pretrained model begins each text with a token for this.
                cls=model.pooling == "cls" and not framed,
                extra=contextual_size(self.config),
                pair=isinstance(self.input_field, PairField),
            ),
            "pooling": model.pooling,
            "dense": model.dense,
            "contextual": build_contextual(self.config),
            "dropout": model.dropout,
        }

    def example(self, words: list[str]) -> Any:
        if self.config.data.input != "pair":
            return super().example(words)
        half = -(-len(words) // 2)
        return shown_pair((" ".join(words[:half]), " ".join(words[half:] or words)))

    def example_inputs(self) -> tuple[Any, ...]:
        if self.config.members:
            return tuple(task.example_inputs() for task in self.members())
        if isinstance(self.input_field, VectorField | FeatureField):
            return self.input_field.example(3)
        if self.at_once:
            return torch.zeros(1, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.float64)
        more: tuple[Tensor, ...] = (
            () if self.config.embedding.contextual is None else example_words(3)
        )
        if isinstance(self.input_field, PairField):
            more = (torch.tensor([2]),)
        return torch.ones(1, 3, dtype=torch.int64), torch.tensor([3]), *more

    def windowed(self, part: Part) -> Part:
        """The same rows as a model reads them."""
        windows = windows_of(part, self.input, self.config.data)
        return part if windows is None else part.in_windows(windows)

    def batches(self, part: Part, *, training: bool) -> BucketBatches:
        return row_batches(self.config, self.windowed(part), training=training)

    def with_cut(self, answer: A, part: Part, row: int) -> A:
        """An answer that says so where only the beginning of its document was read."""
        values = part[self.input]
        if isinstance(values, Tokens) and values.is_shortened(row):
            return answer.of_cut(longest_document(self.config))
        return answer

    def streamed(self, new: Any, chunk: Chunk, before: StreamState, scores: Tensor) -> Answer:
        steps = before.steps + chunk.steps
        shown = new
        if not self.reads_tokens:
            name = getattr(new, "name", "")
            shown = f"{name}: " * bool(name) + f"{steps:,} step{'s' * (steps != 1)}"
        return self.answered(shown, as_array(scores.double()))

    @abstractmethod
    def answered(self, shown: str, scores: np.ndarray) -> Answer:
        """The answer to one document of these scores (1, C)."""

    def export_scores(self, model: nn.Module, inputs: tuple[Any, ...]) -> Any:
        """(B, C) float64 of the inputs of a batch"""
        if self.config.data.window:
            raise ConfigError(
                "a model that reads windows of long series cannot be exported",
                got=f"window={self.config.data.window}",
                remedy="train with window=0, or max_length= for the beginning of each series",
            )
        return model(*inputs).double()

    def scores(self, model: nn.Module, part: Part, size: int) -> np.ndarray:
        """(N, size) what the model gives for each row of the part, in their order."""
        windows = windows_of(part, self.input, self.config.data)
        rows = len(part) if windows is None else len(windows.origin)
        result = np.zeros((rows, size), dtype=np.float64)
        with torch.inference_mode():
            for batch in walk(self.batches(part, training=False), model):
                result[batch.rows] = as_array(model(*batch[self.input].inputs).double())
        return result if windows is None else merged(result, windows, self.averaging)


def looked_into(task: Any, model: Any) -> tuple[Any, nn.Module]:
    """Return the task and model that `look` shows: of an ensemble the first network, or else the
    first model."""
    if not task.config.members:
        return task, model
    members = list(zip(task.members(), model.members))
    return next((pair for pair in members if not fits_directly(pair[0])), members[0])


def check_baseline(config: Config) -> None:
    """Refuse settings that a model without a network cannot follow."""
    name = config.model_name
    if config.tokenizer.kind not in ("auto", "word", "char"):
        raise ConfigError(
            f"a {name} model reads words or characters",
            where="tokenizer.kind",
            got=config.tokenizer.kind,
            remedy="leave it out",
        )
    if config.embedding.file is not None:
        raise ConfigError(
            f"a {name} model has no embedding",
            got=f"embedding.from={config.embedding.file}",
            remedy=("leave it out, or name a network with ", Option("model")),
        )
