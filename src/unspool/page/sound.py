"""Answers of the page about sound: the sound itself, and what a transcriber writes where.

In: a `Subject` and a query. Out: objects for JSON.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import torch

from unspool.data.read.recording import Recording
from unspool.data.read.sound import wav_of
from unspool.errors import ConfigError
from unspool.insight.trace import rounded
from unspool.nn.ctc import BLANK
from unspool.page.subject import Query, Subject

NBEST = 5
ROWS = 40  # tokens of a lattice that are shown
LIKELY = 0.01  # of a step at least, that a token is shown
FLOOR = 1e-4  # probability at which the colours of a lattice begin


def sound(subject: Subject, query: Query) -> dict[str, Any]:
    """What is to be heard, as a WAV file in base64; "" of frames alone, which an older run kept."""
    if not plays(subject):
        raise ConfigError("the model reads no sound", where=subject.path)
    item = subject.item(query["text"])
    if isinstance(item, Recording):
        return {"wav": ""}
    return {"wav": base64.b64encode(wav_of(item)).decode()}


def plays(subject: Subject) -> bool:
    """Whether what is read can be heard."""
    return subject.model is not None and subject.task.input_field.display.audible


@torch.no_grad()
def transcript(subject: Subject, query: Query) -> dict[str, Any]:
    """ln p of tokens and of the blank at each step, `rows` downwards; the most probable row of
    each; and the best texts, of the first of which each token has its steps."""
    task: Any = subject.task
    reading: Any = subject.read(query["text"])
    if not writes(subject):
        raise ConfigError("the model transcribes nothing", where=subject.path)
    scores = reading.run()[0].cpu()
    found = reading.transcript(scores, nbest=NBEST)
    p = scores.exp().double().numpy()
    likely = np.argsort(-p.max(0), kind="stable")[:ROWS]
    kept = [int(i) for i in likely if i != BLANK and p[:, i].max() > LIKELY]
    rows = [*sorted(kept, key=reading.name), BLANK]
    duration = task.input_field.source.duration
    return {
        "text": found.text,
        "confidence": found.confidence,
        "calibrated": task.confidence.tokens > 0,
        "tokens": [
            {
                **own._asdict(),
                "first": round(own.start / duration),
                "stop": round(own.end / duration),
            }
            for own in found.tokens
        ],
        "candidates": [own._asdict() for own in found.candidates],
        "rows": [reading.name(i) for i in rows],
        "values": rounded(np.log(np.maximum(p[:, rows].T, FLOOR))),
        "floor": float(np.log(FLOOR)),
        "path": p[:, rows].argmax(1).tolist(),
        "hidden": len([i for i in range(p.shape[1]) if i not in rows]),
        "spans": reading.spans,
    }


def writes(subject: Subject) -> bool:
    """Whether the model writes a text where it reads."""
    return subject.model is not None and hasattr(subject.task.looked_at, "transcript")
