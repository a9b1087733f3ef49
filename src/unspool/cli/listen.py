"""`unspool predict RUN -` of a transcriber: sound on standard input, its text as it comes."""

from __future__ import annotations

import json
import sys
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
from unspool.errors import ConfigError, DataError

if TYPE_CHECKING:
    from unspool.api.run import Run as LoadedRun

INPUT = "standard input"


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
        raise DataError("holds no samples", where=INPUT, remedy="look whether anything is recorded")
    written(stream.finish(), as_json=as_json)
    if not as_json:
        print()
    step = form.channels * form.bits // 8
    if samples * step < form.size < UNKNOWN_SIZE:
        show.note(f"{INPUT} ended after {samples:,} of {form.size // step:,} samples")


def sound_form(pcm: int | None) -> Form:
    """How the samples are written."""
    if pcm is not None:
        if not LEAST_RATE <= pcm <= LARGEST_RATE:
            raise ConfigError(
                f"--pcm is the samples a second, from {LEAST_RATE} to {LARGEST_RATE:,}", got=pcm
            )
        return raw_form(pcm)
    return wav_form(sys.stdin.buffer, INPUT, piped=True)


def written(answer: Any, *, as_json: bool) -> None:
    if as_json and answer.tokens:
        print(json.dumps(answer.to_json(), ensure_ascii=False), flush=True)
    elif not as_json and answer.text:
        print(answer.text, end="", flush=True)
