"""Streams that clients continue, chunk by chunk: bounded in number and age.

A chunk of JSON in, the answer as of `Run.stream` out.
"""

from __future__ import annotations

import base64
import binascii
import copy
import secrets
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np

from unspool.errors import ConfigError, DataError
from unspool.serve.problems import Problem
from unspool.serve.schemas import Strict, options_model
from unspool.serve.work import ServedModel, answer_json, dumped, parsed, validated
from unspool.tasks.abilities import OpensStream
from unspool.tasks.streaming import CarriedStream, Stream, open_stream


class Push(Strict):
    """push: the next steps; finish: whether the sequence ends with them; options: of the task"""

    push: Any = None
    finish: bool = False
    options: dict[str, Any] | None = None


@dataclass
class OpenSession:
    """A stream of a client, and when it was last continued."""

    stream: Stream
    used: float


class Sessions:
    """The streams of a model."""

    def __init__(self, served: ServedModel) -> None:
        self.served, self.limits = served, served.limits
        self.open: dict[str, OpenSession] = {}

    @cached_property
    def unsupported_reason(self) -> str | None:
        """None where the model reads step by step."""
        try:
            open_stream(self.served.task, self.served.model)
        except ConfigError as error:
            return str(error)
        return None

    @cached_property
    def carried(self) -> CarriedStream:
        """The stream that all others are copies of, so that the weights are packed once."""
        return CarriedStream(self.served.task, self.served.model)

    def push(self, name: str, body: bytes) -> bytes:
        """Continue a stream, or begin one where `name` is empty or has only a prefix."""
        self.expire()
        request = parsed(Push, body)
        prefix, _, key = name.partition("-")
        if key:
            session = self.open.get(name)
            if session is None:
                raise Problem(404, "there is no such session: it has ended, or expired")
            if request.options is not None:
                raise Problem(422, "options are given with the first chunk")
        else:
            session = self.begin(request.options)
            name = f"{prefix}-{secrets.token_urlsafe(16)}"
        chunk = None if request.push is None else self.chunk(request.push)
        answers = [] if chunk is None else [session.stream.push(chunk)]
        if request.finish:
            self.open.pop(name, None)
            last = session.stream.finish()
            answers += [] if last is None else [last]
        else:
            session.used = monotonic()
            self.open[name] = session
        content: dict[str, Any] = {
            "session": None if request.finish else name,
            "steps": session.stream.steps,
            "answers": list(map(answer_json, answers)),
        }
        return dumped(content)

    def begin(self, requested: dict[str, Any] | None) -> OpenSession:
        if len(self.open) >= self.limits.sessions:
            raise Problem(429, f"{self.limits.sessions:,} streams are open already", retry=5)
        task = self.served.task
        options = None
        kind = options_model(task.options, self.limits)
        if requested and kind is None:
            raise Problem(422, f"a {task.name} model takes no options")
        if requested and kind is not None:
            options = self.served.options(validated(kind, requested))
        if isinstance(task, OpensStream):
            stream: Stream = open_stream(task, self.served.model, options)
        else:
            stream = copy.copy(self.carried)
            stream.restart()
        return OpenSession(stream, monotonic())

    def chunk(self, value: Any) -> Any:
        """A chunk as `push` of a stream takes it."""
        if isinstance(value, dict) and "pcm" in value:
            return samples_of(value)
        if self.served.task.reads_tokens:
            size = len(value) if isinstance(value, str | list) else 0
        else:
            size = len(value) if isinstance(value, list) else 1
        if size > self.limits.tokens:
            raise Problem(413, f"a chunk has at most {self.limits.tokens:,} steps")
        field = self.served.task.input_field
        if self.served.task.reads_tokens:
            if not isinstance(value, self.served.accepted):
                raise DataError("not a text", where="push", got=value)
            return value
        return field.form.from_json(value, "push")

    def close(self, name: str) -> bool:
        """Return whether there was such a stream."""
        return self.open.pop(name, None) is not None

    def expire(self) -> None:
        oldest = monotonic() - self.limits.session_age
        for name in [name for name, session in self.open.items() if session.used < oldest]:
            del self.open[name]


def samples_of(value: dict[str, Any]) -> tuple[np.ndarray, int]:
    """Samples of 16 bits in base64, {"pcm": ..., "rate": ...}."""
    rate = value.get("rate")
    try:
        data = base64.b64decode(value["pcm"], validate=True)
        samples = np.frombuffer(data, "<i2").astype(np.float32) / 32768
    except (TypeError, ValueError, binascii.Error):
        raise DataError("pcm is no 16-bit samples in base64", where="push") from None
    if isinstance(rate, bool) or not isinstance(rate, int) or not 0 < rate <= 1_000_000:
        raise DataError("rate is a whole number of Hz", where="push", got=rate)
    return samples, rate
