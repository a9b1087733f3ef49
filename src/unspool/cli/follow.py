"""`unspool predict RUN --follow` and `unspool predict RUN -`: lines or sound as they come."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from unspool.cli import show
from unspool.data.read.sound import (
    LARGEST_RATE,
    LEAST_RATE,
    UNKNOWN_SIZE,
    Form,
    piped_blocks,
    raw_form,
    wav_form,
)
from unspool.data.read.step_lines import StepLines
from unspool.errors import ConfigError, DataError

if TYPE_CHECKING:
    from unspool.api.run import Run as LoadedRun
    from unspool.api.streaming import RunStream
    from unspool.tasks import Answer

SOUND_INPUT = "standard input"


def listen(run: LoadedRun, options: Any, *, pcm: int | None, as_json: bool) -> None:
    """Print the text as it grows, on one line; with --json an object whenever tokens have ended.

    pcm   rate of samples without a header; None: a WAV file comes
    """
    stream = run.stream(options)
    form = sound_form(pcm)
    show.note(f"listening: {form.rate:,} Hz, {form.channels} channel{'s' * (form.channels > 1)}")
    samples = 0
    pipe: Any = sys.stdin.buffer
    for block in piped_blocks(pipe, form):
        samples += len(block)
        written(stream.push((block, form.rate)), as_json=as_json)
    if not samples:
        raise DataError(
            "holds no samples", where=SOUND_INPUT, remedy="look whether anything is recorded"
        )
    written(stream.finish(), as_json=as_json)
    if not as_json:
        print()
    step = form.channels * form.bits // 8
    if samples * step < form.size < UNKNOWN_SIZE:
        show.note(f"{SOUND_INPUT} ended after {samples:,} of {form.size // step:,} samples")


def sound_form(pcm: int | None) -> Form:
    """Format of the samples."""
    if pcm is not None:
        if not LEAST_RATE <= pcm <= LARGEST_RATE:
            raise ConfigError(
                f"--pcm is the samples a second, from {LEAST_RATE} to {LARGEST_RATE:,}", got=pcm
            )
        return raw_form(pcm)
    return wav_form(sys.stdin.buffer, SOUND_INPUT, piped=True)


def written(answer: Any, *, as_json: bool) -> None:
    if as_json and answer.tokens:
        print(json.dumps(answer.to_json(), ensure_ascii=False), flush=True)
    elif not as_json and answer.text:
        print(show.shown(answer.text), end="", flush=True)


INPUT = "standard input"


def follow(
    run: LoadedRun, options: Any, *, time: str | None, id: str | None, as_json: bool
) -> None:
    """Print an answer to each line, at once. An empty line ends a series or a text, but for a
    language model, whose text goes on; steps of several series may alternate where they have an
    id."""
    if run.task.input_field.form.display.audible:
        raise ConfigError(
            "--follow reads lines, and sound comes as samples",
            where=run.path,
            remedy="transcribe standard input with - in place of --follow",
        )
    stream = run.stream(options)
    kept: dict[str, Any] = {"": stream.state}  # of each series, the state
    field = run.task.input_field
    steps = None
    if not run.task.reads_tokens:
        dates = run.config.data.date_format
        steps = StepLines(field.channels, time=time, id=id, date_format=dates)
    if steps is None:
        show.note("a line is the next part of a text; an empty one begins another")
    else:
        show.note(f"a line is a step: {', '.join(field.channels[:8])}; an empty one begins another")
    number = 0
    for number, line in enumerate(lines(), start=1):
        where = f"{INPUT}, line {number}"
        if steps is None:
            new = field.follow_line(line)
        else:
            new = steps.read(line, where) if line.strip() else None
            if new is not None and not len(new):
                continue  # the names of the columns
        if new is None:
            finish(stream, kept, number, as_json=as_json)
            kept.clear()
            continue
        name = getattr(new, "name", "")
        if name in kept:
            stream.state = kept[name]
        else:
            stream.restart()
        try:
            answer = stream.push(new)
        except DataError as error:
            raise DataError(error.message, where=where) from None
        kept[name] = stream.state
        write(answer, number, as_json=as_json)
    finish(stream, kept, number, as_json=as_json)


def finish(stream: RunStream, kept: dict[str, Any], number: int, *, as_json: bool) -> None:
    """The answers to what was kept of series that have ended until more would come."""
    for state in kept.values():
        stream.state = state
        if (answer := stream.finish()) is not None:
            write(answer, number, as_json=as_json)


def write(answer: Answer, number: int, *, as_json: bool) -> None:
    shown = [json.dumps(answer.to_json(), ensure_ascii=False)] if as_json else answer.lines(number)
    for text in shown:
        print(show.shown(text))
    sys.stdout.flush()


def lines() -> Iterator[str]:
    """Lines of standard input, each as soon as it arrives."""
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise DataError(
                "is not UTF-8", where=f"{INPUT}, line {number}", got=raw, remedy="convert it first"
            ) from None
