"""A sequence that comes in chunks is answered as the whole: every cell, pooling and task that reads
forwards, step by step and in random chunks. All others are refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from every_model import (
    CASES,
    SENTENCES,
    Case,
    Made,
    assert_same,
    clips,
    make,
    of_series,
    recordings,
    sounds,
)

from unspool.data.fields.stream import TextStream
from unspool.data.read.recording import Recording
from unspool.errors import ConfigError, DataError
from unspool.nn.cells import CELLS
from unspool.nn.pooling import POOLINGS
from unspool.tasks.forecast.stream import from_step
from unspool.tasks.streaming import Stream, open_stream, streaming_unsupported_reason

POOLED = [
    Case("classify", "gru", of_series("classify", {"pooling": pooling}))
    for pooling in POOLINGS
    if pooling != "cls"
]
MORE = [
    *POOLED,
    *(Case("tag", cell, (("output", "softmax"), ("characters", "lstm"))) for cell in CELLS),
    Case("classify", "gru", (("multilabel", True), ("kind", "char"), ("max_length", 20))),
    Case("regress", "lstm", (("kind", "bpe"), ("pooling", "mean"))),
    Case("classify", "lstm", of_series("classify", {"scaling": "none", "max_length": 5})),
    Case("generate", "lstm", (("kind", "word"),)),
    *(Case("transcribe", cell, (("scaling", "channel"),)) for cell in CELLS),
    Case("transcribe", "lstm", (("scaling", "channel"), ("reduction", "convolution"))),
    Case(
        "transcribe",
        "gru",
        (("scaling", "none"), ("reduction", "convolution"), ("patch", 4), ("objective", "hybrid")),
    ),
]
EVERY = [*CASES, *MORE]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("streams")


def pieces(whole: Any, sizes: Sequence[int]) -> Iterator[Any]:
    """A text or a recording in chunks of so many words or steps; the last takes the rest."""
    steps = whole if isinstance(whole, Recording) else whole.replace(" ", "| ").split("|")
    ends = [*np.cumsum(sizes), len(steps)]
    for first, end in zip([0, *ends], ends):
        if isinstance(whole, Recording):
            yield cut(whole, first, end)
        else:
            yield "".join(steps[first:end])


def cut(own: Recording, first: int, end: int) -> Recording:
    times = None if own.times is None else own.times[:end]
    return from_step(Recording(own.values[:end], own.channels, times, name=own.name), first)


def cuts(steps: int) -> Iterator[list[int]]:
    """Step by step, and random chunks."""
    yield [1] * (steps - 1)
    rng = np.random.default_rng(steps)
    for _ in range(2):
        yield np.diff(
            [0, *sorted(rng.choice(np.arange(1, steps), (steps - 1) // 2, False))]
        ).tolist()


def length(item: Any) -> int:
    return len(item) if isinstance(item, Recording) else len(item.split())


def can(made: Made) -> bool:
    return made.task.name == "forecast" or not streaming_unsupported_reason(made.task, made.model)


def test_what_can_be_streamed(folder) -> None:
    """Whatever reads forwards, and nothing else."""
    found = {str(case) for case in EVERY if can(make(case, folder))}
    for name in CELLS:
        for task in ("classify", "regress"):
            assert {str(Case(task, name)), str(Case(task, name, of_series(task, {})))} <= found
            assert str(Case(task, f"bi{name}")) not in found
        assert str(Case("tag", name, of_series("tag", {}))) in found
        assert {str(Case("generate", name)), str(Case("forecast", name))} <= found
    assert {"generate-transformer", "classify-lstm-input=series-irregular=channel"} <= found
    assert not {"classify-cnn", "classify-transformer", "tag-lstm", "pretrain-transformer"} & found


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_a_stream_is_the_whole(case, folder) -> None:
    made = make(case, folder)
    if not can(made):
        with pytest.raises(ConfigError, match="the model cannot be read step by step: "):
            open_stream(made.task, made.model)
        return
    check = follows_text if isinstance(made.task.input_field, TextStream) else follows
    stream = open_stream(made.task, made.model)
    if made.task.input_field.kind == "audio":
        for sound, rate in sounds()[::3]:
            for size in (97, 1000):
                follows_sound(made, stream, sound, rate, size)
        return
    items = recordings() if made.task.input_field.kind in ("series", "history") else SENTENCES
    if made.task.input_field.kind == "video":
        items = [made.task.input_field.recording(own, "clip") for own in clips()]
    if made.task.name == "forecast":
        items = [Recording(own.values[:, :2], times=own.times) for own in items if len(own) > 5]
        items = [
            Recording(np.nan_to_num(own.values), ("size", "others"), own.times) for own in items
        ]
    for item in (own for own in items if length(own) > 1):
        for sizes in cuts(length(item)):
            stream.restart()
            check(made, stream, item, sizes)


def follows(made: Made, stream: Stream, item: Any, sizes: list[int]) -> None:
    """After each chunk, the answer to all so far; of tags, those of the chunk."""
    read = None if isinstance(item, Recording) else ""
    for chunk in pieces(item, sizes):
        answer = stream.push(chunk)
        before = 0 if read is None else length(read)
        if isinstance(item, Recording):
            read = cut(item, 0, before + len(chunk))
        else:
            read += chunk
        (whole,) = made.task.predict(made.model, [read])
        assert_same(
            told(answer, 0), told(whole, before if made.task.name == "tag" else 0), TOLERANCE
        )


def follows_sound(made: Made, stream: Stream, sound: np.ndarray, rate: int, size: int) -> None:
    """At the end the answer to the whole; of transcripts, what the chunks have added."""
    stream.restart()
    transcribes = made.task.name == "transcribe"
    options = made.task.options(beam=1) if transcribes else None
    if getattr(made.model, "decoder", None) is not None:
        options = replace(options, decoder="ctc")
    (whole,) = made.task.predict(made.model, [(sound, rate)], options)
    if not transcribes:  # a label needs a whole frame
        size = max(size, 400)
        if len(sound) < size:
            with pytest.raises(DataError, match="no steps have been given yet"):
                stream.push((sound, rate))
            return
    found = [stream.push((sound[i : i + size], rate)) for i in range(0, len(sound), size)]
    if not transcribes:
        found.append(stream.finish() or found[-1])
        assert_same(told(found[-1], 0), told(whole, 0), TOLERANCE)
        return
    found.append(stream.finish())
    assert "".join(part.text for part in found) == whole.text
    tokens = [list(token) for part in found for token in part.tokens]
    assert_same(tokens, [list(token) for token in whole.tokens], TOLERANCE)


def told(answer: Any, first: int) -> dict[str, Any]:
    """What an answer says of steps from `first` on, without what only names them."""
    found = answer.to_json()
    for name in ("text", "series", "spans"):
        found.pop(name, None)
    if "words" in found:
        return {
            "words": [(own["word"], own["tag"], own["probability"]) for own in found["words"]][
                first:
            ]
        }
    if "probabilities" in found and isinstance(found["probabilities"], list):
        return {name: own[first:] for name, own in found.items()}
    return found


def follows_text(made: Made, stream: Stream, item: str, sizes: list[int]) -> None:
    """The loss of every token but the first, and what comes next, by one pass over all."""
    tokenizer = made.task.tokenizer
    whole = "".join(pieces(item, []))
    ids = torch.from_numpy(tokenizer.ids(whole))
    with torch.inference_mode():
        logits = made.model.extend(None, ids[None]).scores[0].double().log_softmax(-1)
    wanted = [None, *(-logits[:-1].gather(1, ids[1:, None])[:, 0]).tolist()]
    answers = [stream.push(chunk) for chunk in pieces(item, sizes)]
    found = [loss for answer in answers for loss in answer.nats]
    assert found[0] is None
    assert_same(found[1:], wanted[1:], TOLERANCE)
    best = logits[-1].exp().max()
    assert_same(max(answers[-1].next.values()), float(best), TOLERANCE)


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_state_can_be_kept_and_set(task, folder) -> None:
    made = make(Case(task, "lstm", of_series(task, {})), folder)
    own = next(own for own in recordings() if len(own) > 8)
    stream, other = open_stream(made.task, made.model), open_stream(made.task, made.model)
    stream.push(cut(own, 0, 4))
    kept = stream.state
    first = stream.push(cut(own, 4, 8))
    stream.state = other.state = kept
    assert stream.push(cut(own, 4, 8)) == first == other.push(cut(own, 4, 8))
    assert stream.steps == other.steps == 8


def test_the_state_does_not_grow(folder) -> None:
    made = make(Case("generate", "gru"), folder)
    stream = open_stream(made.task, made.model)

    def size() -> int:
        return sum(x.numel() for layer in stream.state.carried for cell in layer for x in cell)

    stream.push("anna ")
    before = size(), stream.state.scores.shape
    stream.push("carl " * 200)
    assert (size(), stream.state.scores.shape) == before
