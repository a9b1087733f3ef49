"""The answer `continuation` of the page: what a model goes on with, and the gates meanwhile.

In: a `Subject` and a query. Out: an object for JSON.
"""

from __future__ import annotations

import base64
from typing import Any

from unspool.errors import ConfigError
from unspool.insight.trace import trace_reading
from unspool.page.gates import gates
from unspool.page.pen import decimal
from unspool.page.subject import Query, Subject
from unspool.tasks.compose.answer import Composed

LONGEST = 1024  # steps


def composes(subject: Subject) -> bool:
    """Whether the model continues music."""
    return subject.model is not None and subject.task.answer is Composed


def continuation(subject: Subject, query: Query) -> dict[str, Any]:
    """The first steps of a piece and what follows them: notes, numbers, a MIDI file in base64, and
    of a recurrent layer the gates and states at each step, of the units that move most."""
    task: Any = subject.task
    if not composes(subject):
        raise ConfigError("the model continues no music", where=subject.path)
    given = query.number("given", most=LONGEST)
    options = task.options(
        length=query.number("length", least=1, most=LONGEST),
        temperature=decimal(query, "temperature"),
        seed=query.number("seed", most=10**9),
    )
    prompt = task.piece(subject.item(query["text"]), "the music")[:given] if given else None
    (found,) = task.predict(subject.trained, [prompt], options)
    piece = found.piece
    return {
        "notes": piece.notes.tolist(),
        "steps": len(piece),
        "given": found.given,
        "grid": piece.grid,
        "tempo": round(piece.tempo, 2),
        "ended": found.ended,
        "seed": found.seed,
        "numbers": found.numbers._asdict(),
        "data_numbers": None if found.learnt is None else found.learnt._asdict(),
        "midi": base64.b64encode(found.midi()).decode(),
        **recorded(subject, found, query.number("layer", least=1, most=1000)),
    }


def recorded(subject: Subject, found: Composed, layer: int) -> dict[str, Any]:
    """The gates while the piece is read; of events, at each step those of the last event before it
    ends."""
    task: Any = subject.task
    if not len(found.piece.notes):
        return gates(None, layer)
    trace = trace_reading(task.reading(subject.trained, found.piece), task, subject.trained)
    return gates(trace, layer, task.step_rows(found.piece)[: len(found.piece)])
