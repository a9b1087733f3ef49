"""Abilities of some tasks, as protocols: a task has one by having its members.

Others ask with `isinstance(task, Calibrates)`, of a task or of its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from unspool.errors import Command, ConfigError, Option

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

    from unspool.config import Config
    from unspool.data.corpus import Corpus, Fields
    from unspool.data.fields.field import Chunk
    from unspool.data.part import Batch, Part
    from unspool.data.plan import Plan
    from unspool.data.store.columns import Progress, Stored
    from unspool.tasks.answer import Answer
    from unspool.tasks.calibration import FoldCalibration, Unseen
    from unspool.tasks.examples import Example
    from unspool.tasks.streaming import Stream, StreamState
    from unspool.tasks.task import Report
    from unspool.text.tokenizers import Tokenizer


class WholeStart(NamedTuple):
    """The parts of a model, besides its weights, that another run of the task takes over: the
    tokenizer of what it writes, and the settings that its weights belong to."""

    tokenizer: Tokenizer
    fixed: dict[str, Any]


@runtime_checkable
class FitsDirectly(Protocol):
    """Some of its models are fitted at once, without gradient steps."""

    @property
    def at_once(self) -> bool:
        """Whether the model of this run is."""

    def fit_model(self, parts: Mapping[str, Part]) -> Any:
        """The model, with the log of how it was chosen."""


@runtime_checkable
class HasBaselines(Protocol):
    @classmethod
    def baselines(cls, config: Config) -> list[Config]:
        """Configs of simple models to compare a result with, on the same data."""


@runtime_checkable
class HasReferences(Protocol):
    def references(self, train: Part, part: Part) -> dict[str, Report]:
        """Reports on a part of answers that need no model, by their name."""


@runtime_checkable
class SearchesModels(Protocol):
    @classmethod
    def candidates(cls) -> list[str]:
        """The networks that --model auto tries."""

    @classmethod
    def quick_candidates(cls, config: Config) -> list[Config]:
        """Configs of the simple models that it tries first, on the same data."""


@runtime_checkable
class Averages(Protocol):
    """Several of its models have a mean, and their scores of folds are comparable."""

    def averaged(self, scores: Sequence[np.ndarray]) -> np.ndarray:
        """The scores of the mean of models with these scores (N, C)."""

    def fits_folds(
        self, parts: Mapping[str, Part], folds: int, groups: np.ndarray | None = None
    ) -> bool:
        """Whether folds of these rows can choose a model."""


@runtime_checkable
class ChoosesModel(Protocol):
    @classmethod
    def usual_model(cls, settings: Mapping[str, Any]) -> str:
        """The name of the model where none is given, if that depends on settings."""


@runtime_checkable
class FitsFields(Protocol):
    @classmethod
    def fit(
        cls, fields: Fields, stored: Stored, rows: np.ndarray, where: str, progress: Progress | None
    ) -> list[str]:
        """Fit the fields to the training rows together; returns notes."""


@runtime_checkable
class PreparesCorpus(Protocol):
    @classmethod
    def prepare(cls, config: Config, corpus: Corpus, fitted: Tokenizer | None) -> None:
        """Check or cut a corpus that was loaded, and add notes to it; `fitted`: the tokenizer of
        the model that it starts from."""


@runtime_checkable
class EncodesFutures(Protocol):
    """A table may have what follows the series of another one, without their past."""

    def encode_future(self, plan: Plan, past: Plan) -> tuple[Part, list[str]]:
        """The steps of `plan` as a part to evaluate on; those of `past` are read."""


@runtime_checkable
class EncodesTables(Protocol):
    def encode(self, plan: Plan, progress: Progress | None = None) -> tuple[Part, list[str]]:
        """A whole table as a part to evaluate on, and notes about it."""


@runtime_checkable
class Calibrates(Protocol):
    def calibrate(self, model: nn.Module, part: Part | None) -> list[str]:
        """Once the weights are chosen: fit to the validation part how scores become answers; None
        where nothing was held out. Returns notes."""


@runtime_checkable
class CalibratesFolds(Protocol):
    def unseen(self, model: nn.Module, part: Part) -> Unseen:
        """The model's scores of rows that it was not trained on."""

    def calibrate_folds(self, folds: Sequence[Unseen]) -> FoldCalibration:
        """Calibrate a model of all rows with the scores of the folds."""


@runtime_checkable
class LocatesBatches(Protocol):
    def where(self, part: Part, batch: Any) -> str:
        """The position of a batch in the data, for a message, if it is not a batch of rows."""


@runtime_checkable
class HasFindings(Protocol):
    def findings(self, model: nn.Module) -> list[str]:
        """Lines about its weights for the model card."""


@runtime_checkable
class StartsWhole(Protocol):
    def whole_start(self) -> WholeStart:
        """For a run of the same task that starts from this model, not from its encoder alone."""


@runtime_checkable
class WritesTokens(Protocol):
    @property
    def target_tokenizer(self) -> Tokenizer:
        """The tokenizer of the output, which is another text than the input."""


@runtime_checkable
class Exports(Protocol):
    """Its models can be written as graphs that other programs run (`unspool export`)."""

    def export_outputs(self, model: nn.Module, inputs: tuple[Any, ...]) -> dict[str, Any]:
        """The parts of an answer by name, computed with functions of torch alone.

        inputs   those of a batch of what is read: tensors, or symbols that stand for them
        """

    def export_answer(self) -> dict[str, Any]:
        """Describe the answer that these outputs make: `kind`, with names of labels or numbers."""


@runtime_checkable
class ExportsSteps(Protocol):
    """Its models write token by token, and can be written as a graph of the start and one of a
    step."""

    def export_start(self, model: nn.Module, inputs: tuple[Any, ...]) -> Any:
        """The state before the first token, tensors in tuples; `inputs` of a batch of what is
        read."""

    def export_steps(self, model: nn.Module) -> Any:
        """Return the decoder or model that has `export_step`."""

    def export_answer(self) -> dict[str, Any]:
        """Describe the answer that the scores make: `kind`, the target's tokenizer, limits."""

    def export_text(self, model: nn.Module, item: Any) -> str:
        """Write the text for an item, by the search of the exported program."""

    @property
    def written_vocabulary(self) -> int: ...

    @property
    def reads_source(self) -> bool:
        """Whether there is something to read before the first token."""


@runtime_checkable
class Continues(Protocol):
    """`predict` continues its items; `prompt`: whether these are a "text" or a "file"."""

    prompt: ClassVar[str]


@runtime_checkable
class GeneratesText(Protocol):
    def generate(self, model: nn.Module, prompt: str, options: Any = None) -> Iterator[str]:
        """The continuation of a prompt, piece by piece as it grows."""


@runtime_checkable
class GivesVectors(Protocol):
    """Other tasks read with the contextual vectors of its encoder."""

    def vectors(self, model: nn.Module, texts: Iterable[str]) -> Iterator[Any]:
        """The words of each text with their contextual vectors."""

    def read(
        self, model: nn.Module, part: Part, *, length: int
    ) -> Iterator[tuple[Batch, np.ndarray]]:
        """Each batch of a part, cut into pieces of `length` words, and the contextual vectors
        (1 + L, B, T, D) of its words."""


@runtime_checkable
class LooksAhead(Protocol):
    @property
    def history(self) -> Any:
        """The field of the series whose next steps are the answer."""


@runtime_checkable
class Streams(Protocol):
    def streamed(self, new: Any, chunk: Chunk, before: StreamState, scores: Tensor) -> Answer:
        """The answer once a chunk of a stream was read.

        new      what was pushed
        before   the state before it
        scores   what the model gives for it; where it has no steps, what it gave before
        """


@runtime_checkable
class OpensStream(Protocol):
    def stream(self, model: nn.Module, options: Any = None) -> Stream:
        """A stream of its own kind, rather than one that carries the state of the model."""


@runtime_checkable
class ChoosesExamples(Protocol):
    def examples_of(self, part: Part, row: int, raw: Mapping[str, Any]) -> list[Example]:
        """The examples of one row, from its raw values by field."""


def reads_file(task: Any) -> bool:
    """Whether a task continues what a file holds."""
    return isinstance(task, Continues) and task.prompt == "file"


def no_vectors(task: Any, where: Any = None) -> ConfigError:
    return ConfigError(
        "contextual vectors come from an elmo model",
        where=where,
        got=f"a {task.name} model",
        remedy=("make one with `", Command("embed", "CORPUS", method="elmo"), "`"),
    )


def no_generation(task: Any, where: Any = None) -> ConfigError:
    return ConfigError(
        "generate needs a language model",
        where=where,
        got=f"a {task.name} model",
        remedy=("train one with ", Option(task="generate")),
    )
