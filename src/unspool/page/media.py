"""Answers of the page about sound, images, videos, handwriting and music."""

from __future__ import annotations

import base64
import math
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.data.read.recording import Recording
from unspool.data.read.sound import wav_of
from unspool.errors import ConfigError
from unspool.insight.inputs import rows_at_once
from unspool.insight.plots.recurrence import layers_of
from unspool.insight.saliency import METHODS, answer_of, step_of
from unspool.insight.trace import Recorded, Trace, rounded, trace_reading
from unspool.nn.ctc import BLANK
from unspool.page.subject import Query, Subject
from unspool.tasks.compose.answer import Composed
from unspool.tasks.handwrite.answer import END, Handwritten
from unspool.tasks.reading import Reading
from unspool.tasks.task import fits_directly


class Hidden(NamedTuple):
    """The value of an answer where a patch is hidden, in a video in every frame.

    side     pixels of a patch
    values   (rows, columns)
    """

    side: int
    values: np.ndarray


def pixel_contributions(reading: Any, step: int, answer: int) -> np.ndarray:
    """(F, H, W), F frames, one of an image; they add up as those of `explain` do."""
    vectors, source = reading.input.vectors, reading.task.input_field.source
    # A convolution makes other steps, but reads pixels itself.
    pixels = reading.input.changed(convolved=False, elements=["pixel"] * vectors.shape[1])
    values = METHODS["integrated"](reading.with_input(pixels), step, answer).values
    return source.pixel_values((values * reading.answer.unit(answer))[-len(vectors) :])


@torch.no_grad()
def hidden_patches(reading: Any, step: int, answer: int) -> Hidden:
    """Answers with each patch replaced by the mean colour."""
    field = reading.task.input_field
    height, width = field.source.pixel_values(reading.input.vectors).shape[1:]
    side = -(-max(height, width) // field.source.patches_across)

    def encode(value: Any) -> np.ndarray:
        return field.vectors(field.encode([value]), 0)

    values = []
    covered = field.source.covered(reading.input.vectors, reading.input.item, side, encode)
    rows = rows_at_once(1, len(reading.input.vectors) * reading.input.step_cost)
    while steps := list(islice(covered, rows)):
        for scores in reading.run_batch([reading.input.changed(vectors=x) for x in steps]):
            values.append(float(reading.answer.values(scores)[step, answer]))
    return Hidden(side, np.array(values).reshape(-(-height // side), -1))


NBEST = 5
ROWS = 40  # tokens of a lattice that are shown
LIKELY = 0.01  # of a step at least, that a token is shown
FLOOR = 1e-4  # probability at which the colours of a lattice begin


def sound(subject: Subject, query: Query) -> dict[str, Any]:
    """Sound as a WAV file in base64; "" for frames alone, which an older run kept."""
    if not plays(subject):
        raise ConfigError("the model reads no sound", where=subject.path)
    item = subject.item(query["text"])
    if isinstance(item, Recording):
        return {"wav": ""}
    return {"wav": base64.b64encode(wav_of(item)).decode()}


def plays(subject: Subject) -> bool:
    """Return whether what is read can be heard."""
    return subject.model is not None and subject.task.input_field.form.display.audible


@torch.no_grad()
def transcript(subject: Subject, query: Query) -> dict[str, Any]:
    """ln p of tokens and of the blank at each step, `rows` downwards; the most probable row of
    each; and the best texts, of the first of which each token has its steps."""
    task: Any = subject.task
    reading: Any = subject.read(query["text"])
    if not writes(subject):
        raise ConfigError("the model transcribes nothing", where=subject.path)
    scores = reading.run()[0].cpu()
    transcribed = reading.answer.transcript(scores, nbest=NBEST)
    p = scores.exp().double().numpy()
    likely = np.argsort(-p.max(0), kind="stable")[:ROWS]
    kept = [int(i) for i in likely if i != BLANK and p[:, i].max() > LIKELY]
    rows = [*sorted(kept, key=reading.answer.name), BLANK]
    duration = task.input_field.source.duration
    return {
        "text": transcribed.text,
        "confidence": transcribed.confidence,
        "calibrated": task.confidence.tokens > 0,
        "tokens": [
            {
                **word._asdict(),
                "first": round(word.start / duration),
                "stop": round(word.end / duration),
            }
            for word in transcribed.tokens
        ],
        "candidates": [word._asdict() for word in transcribed.candidates],
        "rows": [reading.answer.name(i) for i in rows],
        "values": rounded(np.log(np.maximum(p[:, rows].T, FLOOR))),
        "floor": float(np.log(FLOOR)),
        "path": p[:, rows].argmax(1).tolist(),
        "hidden": len([i for i in range(p.shape[1]) if i not in rows]),
        "spans": reading.input.network_spans,
    }


def writes(subject: Subject) -> bool:
    """Return whether the model writes a text where it reads."""
    return subject.model is not None and hasattr(subject.task.answer_view, "transcript")


MOST_POINTS = 1500  # points


def draws(subject: Subject) -> bool:
    """Return whether the model continues drawings."""
    return subject.model is not None and subject.task.answer is Handwritten


def write(subject: Subject, query: Query) -> dict[str, Any]:
    """A text that is written, or a drawing that nobody has asked for: (T) points with the pen up
    after them or not, and of a text the weight of each character as each was written."""
    task: Any = subject.task
    if not draws(subject):
        raise ConfigError("the model writes nothing by hand", where=subject.path)
    words = query["words"]
    if task.conditional and not words.strip():
        raise ConfigError("there is no text to write", remedy="give some")
    options = task.options(
        text=words or None,
        bias=decimal(query, "bias"),
        temperature=decimal(query, "temperature"),
        seed=query.number("seed", most=10**9),
        length=query.number("length", least=1, most=MOST_POINTS),
    )
    (written,) = task.predict(subject.trained, [[]], options)
    values = written.strokes.values.astype(np.float64)
    xy = np.cumsum(values[:, :2], 0)
    weights = written.alignment
    return {
        "text": written.text,
        "seed": written.seed,
        "ended": written.ended,
        "x": rounded(xy[:, 0]),
        "y": rounded(xy[:, 1]),
        "up": (values[:, 2] > 0.5).astype(int).tolist(),
        "characters": [] if weights is None else [*written.text, END],
        "weights": [] if weights is None else rounded(weights.T),
        "svg": "\n".join(written.svg()),
    }


def decimal(query: Query, name: str) -> float:
    try:
        value = float(query[name])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{name} is a number", got=query[name], remedy="give one")
    return value


def example_words(subject: Subject) -> str:
    """A text to begin with: that of an example."""
    task: Any = subject.task
    if not draws(subject) or not subject.examples or not task.conditional:
        return ""
    return subject.item("1").text


UNITS = 24  # of a layer that are shown


def gates(trace: Trace | None, layer: int, rows: np.ndarray | None = None) -> dict[str, Any]:
    """Gates and states (units, steps) of the `layer`th of the layers that read the input, from 1,
    of the units that move most.

    rows   of what was recorded that are steps of what is shown; None: all
    """
    layers = [arrays for arrays in layers_of(trace) if arrays[0].axes[0] == "read"] if trace else []
    if not layers:
        return {"layers": [], "layer": 0, "units": [], "gates": []}
    number = min(layer, len(layers))
    arrays = layers[number - 1]
    rows = np.arange(len(arrays[0].values)) if rows is None else rows[rows < len(arrays[0].values)]
    moves = arrays[-1].values[rows].std(0)
    units = np.sort(np.argsort(-moves, kind="stable")[:UNITS])
    both = any(array.direction == "backwards" for array, *_ in layers)
    return {
        "layers": [called(array, both) for array, *_ in layers],
        "layer": number,
        "units": units.tolist(),
        "gates": [
            {
                "kind": array.kind.replace("_", " "),
                "values": rounded(array.values[rows][:, units].T),
            }
            for array in arrays
        ],
    }


def called(array: Recorded, both: bool) -> str:
    return f"layer {array.layer}, {array.direction}" if both else f"layer {array.layer}"


def shows_pixels(subject: Subject) -> bool:
    """Return whether it reads images, or frames, and gives answers that can be explained."""
    task = subject.task
    return (
        task.input_field.form.display.pixels
        and subject.model is not None
        and task.answer is not None
        and not fits_directly(task)
    )


def picture(subject: Subject, query: Query) -> dict[str, Any]:
    """The frames, one of an image, with what each pixel contributes to the answer at a step, that
    answer without each patch, and of frames the gates of a recurrent layer."""
    if not shows_pixels(subject):
        raise ConfigError("the model reads no images", where=subject.path)
    field, reading = subject.task.input_field, subject.read(query["text"])
    step = step_of(reading, query.number_or_none("step"))
    with torch.no_grad():
        scores = reading.run()[0]
    answer = answer_of(reading, scores, step, query["answer"] or None)
    values = pixel_contributions(reading, step, answer)
    hidden = hidden_patches(reading, step, answer)
    pixels = field.source.pixels(subject.item(query["text"]))
    pixels = (pixels if pixels.ndim == 4 else pixels[None])[: len(values)]
    alignment = getattr(reading.answer, "alignment", lambda: None)()
    return {
        "size": list(pixels.shape),
        "pixels": base64.b64encode(as_bytes(pixels)).decode(),
        "values": [np.round(frame, 6).ravel().tolist() for frame in values],
        "frames": [float(frame.sum()) for frame in values],
        "hidden": {"side": hidden.side, "values": hidden.values.round(6).tolist()},
        "asked": list(reading.answer.steps),
        "step": step,
        "answer": reading.answer.name(answer),
        "measure": reading.answer.measure,
        "answer_value": float(reading.answer.values(scores)[step, answer]),
        "written": list(reading.answer.tokens),
        "attention": None if alignment is None else over_pixels(field, alignment, pixels.shape),
        **gates(frames_read(subject, reading), query.number("layer", least=1, most=1000)),
    }


def frames_read(subject: Subject, reading: Reading) -> Trace | None:
    """The run that read frames, recorded; None of an image, whose steps are parts of it."""
    if subject.task.input_field.form.display.form != "frames":
        return None
    return trace_reading(reading, subject.task, subject.trained)


def as_bytes(pixels: np.ndarray) -> bytes:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8).tobytes()


def over_pixels(field: Any, alignment: np.ndarray, size: tuple[int, ...]) -> list[Any]:
    """(T, S) where each word looked: of frames their weights (T, F); of an image (T, H·W)"""
    if field.form.display.form == "frames":
        return alignment.round(5).tolist()
    spread = [field.source.shape.spread(row[-steps(field, row) :], size[2]) for row in alignment]
    return [np.round(values, 5).ravel().tolist() for values in spread]


def steps(field: Any, row: np.ndarray) -> int:
    """The weights of the image in a row, without what stands before it."""
    rows, columns = field.source.shape.grid if not field.source.shape.any_width else (1, len(row))
    return rows * columns


MOST_STEPS = 1024  # steps


def composes(subject: Subject) -> bool:
    """Return whether the model continues music."""
    return subject.model is not None and subject.task.answer is Composed


def continuation(subject: Subject, query: Query) -> dict[str, Any]:
    """The first steps of a piece and what follows them: notes, numbers, a MIDI file in base64, and
    of a recurrent layer the gates and states at each step, of the units that move most."""
    task: Any = subject.task
    if not composes(subject):
        raise ConfigError("the model continues no music", where=subject.path)
    given = query.number("given", most=MOST_STEPS)
    options = task.options(
        length=query.number("length", least=1, most=MOST_STEPS),
        temperature=decimal(query, "temperature"),
        seed=query.number("seed", most=10**9),
    )
    prompt = task.piece(subject.item(query["text"]), "the music")[:given] if given else None
    (composed,) = task.predict(subject.trained, [prompt], options)
    piece = composed.piece
    return {
        "notes": piece.notes.tolist(),
        "steps": len(piece),
        "given": composed.given,
        "grid": piece.grid,
        "tempo": round(piece.tempo, 2),
        "ended": composed.ended,
        "seed": composed.seed,
        "numbers": composed.numbers._asdict(),
        "data_numbers": None if composed.learnt is None else composed.learnt._asdict(),
        "midi": base64.b64encode(composed.midi()).decode(),
        **recorded(subject, composed, query.number("layer", least=1, most=1000)),
    }


def recorded(subject: Subject, composed: Composed, layer: int) -> dict[str, Any]:
    """The gates while the piece is read; of events, at each step those of the last event before it
    ends."""
    task: Any = subject.task
    if not len(composed.piece.notes):
        return gates(None, layer)
    trace = trace_reading(task.reading(subject.trained, composed.piece), task, subject.trained)
    return gates(trace, layer, task.step_rows(composed.piece)[: len(composed.piece)])
