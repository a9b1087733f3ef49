"""A sequence that is read as it comes: a step or a chunk in, an answer out, the state carried.

After any chunks the answers are those to the whole at once. A `Stream` is made by `open_stream`;
`CarriedStream` is that of every model with a state, `HistoryStream` that of forecasts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from unspool.data.fields.field import Chunk, Streamed
from unspool.errors import ConfigError, DataError, Option, Setting
from unspool.nn.cells import pack_steps, packed_steps
from unspool.tasks.abilities import OpensStream
from unspool.tasks.answer import Answer

if TYPE_CHECKING:
    from unspool.tasks.task import Task

REMEDY = (
    "answer whole inputs, or train a model that reads forwards: ",
    Option(model="lstm"),
    ", for tags with ",
    Setting(output="softmax"),
    ", for series and sound with ",
    Setting(scaling="channel"),
)


class StreamState(NamedTuple):
    """All that is known of the steps so far; nothing in it is ever changed, so it can be kept.

    steps     that were read
    before    what the field keeps of what came before
    carried   what the model goes on from
    scores    after the last step that was read; None before the first
    """

    steps: int = 0
    before: Any = None
    carried: Any = None
    scores: Tensor | None = None


class Stream(ABC):
    """One sequence. `state` can be read and set: what is pushed next goes on from it."""

    state: Any

    @property
    @abstractmethod
    def steps(self) -> int:
        """Number of steps that were read."""

    @abstractmethod
    def push(self, new: Any) -> Answer:
        """Read the next step or steps. The answer is about all steps so far, or where there is one
        for each step, about the new ones."""

    def finish(self) -> Answer | None:
        """The sequence has ended: read what was kept until more would come. The answer as of
        `push`; None where nothing was kept."""
        return None

    @abstractmethod
    def restart(self) -> None:
        """Begin another sequence with what is pushed next."""


class CarriedStream(Stream):
    """A stream of a model that carries its own state. Its weights are packed once."""

    def __init__(self, task: Any, model: nn.Module) -> None:
        reason = streaming_unsupported_reason(task, model)
        if reason is not None:
            raise ConfigError(f"the model cannot be read step by step: {reason}", remedy=REMEDY)
        self.task, self.model, self.packed = task, model, pack_steps(model)
        self.restart()

    @property
    def steps(self) -> int:
        return self.state.steps

    def restart(self) -> None:
        self.state = StreamState()

    def push(self, new: Any) -> Answer:
        state: StreamState = self.state
        return self._read(new, self.task.input_field.chunk(new, state.before, state.steps))

    def finish(self) -> Answer | None:
        state: StreamState = self.state
        chunk = self.task.input_field.last_chunk(state.before, state.steps)
        return self._read("", chunk) if chunk.steps else None

    def _read(self, new: Any, chunk: Chunk) -> Answer:
        state: StreamState = self.state
        scores, carried = state.scores, state.carried
        if chunk.steps:
            with torch.inference_mode(), packed_steps(self.packed):
                extend: Any = self.model.extend
                scores, carried = extend(carried, *chunk.inputs)
        elif scores is None:
            raise DataError(
                "no steps have been given yet", got=new, remedy="give at least one step"
            )
        assert scores is not None
        last = scores if scores.dim() == 2 else scores[:, -1:]  # (1, C), or of steps (1, 1, C)
        self.state = StreamState(state.steps + chunk.steps, chunk.before, carried, last)
        answer = self.task.streamed(new, chunk, state, scores)
        return answer.of_cut(self.steps) if chunk.cut else answer


def open_stream(task: Task, model: nn.Module, options: Any = None) -> Stream:
    """A sequence that is read as it comes, with the answers that `predict` gives for the whole; a
    ConfigError with the reason where the model cannot."""
    return (
        task.stream(model, options) if isinstance(task, OpensStream) else CarriedStream(task, model)
    )


def streaming_unsupported_reason(task: Task, model: nn.Module) -> str | None:
    """None where a `CarriedStream` gives what `predict` gives for the whole, otherwise the
    reason."""
    reason = getattr(model, "streaming_unsupported_reason", None)
    if reason is None:
        return f"a {task.config.model_name} reads its input as a whole"
    field = task.input_field
    if not isinstance(field, Streamed):
        return reason() or "what it reads is not a sequence"
    return reason() or field.streaming_unsupported_reason()
