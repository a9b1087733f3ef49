"""The answer `ngrams` of the page: what the filters of a cnn answer to.

In: a text. Out: its tokens, the n-grams in it that the filters answer to, and where the page was
opened with a corpus, the n-grams of that.
"""

from __future__ import annotations

from typing import Any

from unspool.insight.filters import answering, first_convolution
from unspool.insight.trace import trace_reading
from unspool.page.query import Query
from unspool.page.subject import Subject


def ngrams(subject: Subject, query: Query) -> dict[str, Any]:
    model = subject.trained
    convolution = first_convolution(model)
    reading = subject.read(query["text"])
    recorded = trace_reading(reading, subject.task, model)
    return {
        "tokens": recorded.tokens,
        "whole": recorded.whole,
        "choices": [
            {k: v for k, v in c._asdict().items() if k != "alternatives"} for c in recorded.choices
        ],
        "filters": convolution.size,
        "widths": list(convolution.widths),
        "layers": subject.task.config.model.layers,
        "found": [each._asdict() for each in answering(model, reading, recorded)],
        "corpus": None if subject.table is None else subject.table.to_json()["filters"],
    }
