"""Answers of the page about images and videos: their pixels, what each contributes, what is without
a patch, and where a caption looked.

In: a `Subject` and a query. Out: objects for JSON.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import torch

from unspool.errors import ConfigError
from unspool.insight.pixels import hidden_patches, pixel_contributions
from unspool.insight.saliency import answer_of, step_of
from unspool.insight.trace import Trace, trace_reading
from unspool.page.gates import gates
from unspool.page.subject import Query, Subject
from unspool.tasks.reading import Reading


def shows_pixels(subject: Subject) -> bool:
    """Whether it reads images, or frames, and gives answers that can be explained."""
    task = subject.task
    return (
        task.input_field.display.pixels
        and subject.model is not None
        and task.answer is not None
        and not task.at_once
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
    alignment = getattr(reading, "alignment", lambda: None)()
    return {
        "size": list(pixels.shape),
        "pixels": base64.b64encode(as_bytes(pixels)).decode(),
        "values": [np.round(own, 6).ravel().tolist() for own in values],
        "frames": [float(own.sum()) for own in values],
        "hidden": {"side": hidden.side, "values": hidden.values.round(6).tolist()},
        "asked": list(reading.asked),
        "step": step,
        "answer": reading.name(answer),
        "measure": reading.measure,
        "answer_value": float(reading.values(scores)[step, answer]),
        "written": list(reading.written),
        "attention": None if alignment is None else over_pixels(field, alignment, pixels.shape),
        **gates(frames_read(subject, reading), query.number("layer", least=1, most=1000)),
    }


def frames_read(subject: Subject, reading: Reading) -> Trace | None:
    """The run that read frames, recorded; None of an image, whose steps are parts of it."""
    if subject.task.input_field.display.form != "frames":
        return None
    return trace_reading(reading, subject.task, subject.trained)


def as_bytes(pixels: np.ndarray) -> bytes:
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8).tobytes()


def over_pixels(field: Any, alignment: np.ndarray, size: tuple[int, ...]) -> list[Any]:
    """(T, S) where each word looked: of frames their weights (T, F); of an image (T, H·W)"""
    if field.display.form == "frames":
        return alignment.round(5).tolist()
    spread = [field.source.shape.spread(row[-steps(field, row) :], size[2]) for row in alignment]
    return [np.round(own, 5).ravel().tolist() for own in spread]


def steps(field: Any, row: np.ndarray) -> int:
    """Of a row of weights those of the image, without what stands before it."""
    rows, columns = field.source.shape.grid if not field.source.shape.any_width else (1, len(row))
    return rows * columns
