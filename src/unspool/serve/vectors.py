"""Vectors of inputs: what the encoder of a model makes of them, averaged over their steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from unspool.data.part import Part
from unspool.errors import ConfigError
from unspool.nn.encoder import Encoder
from unspool.nn.models.classifier import ManyToOne
from unspool.nn.models.seq2seq import Seq2Seq
from unspool.nn.models.tagger import Tagger
from unspool.nn.models.transcriber import Transcriber
from unspool.nn.pooling import MeanPooling
from unspool.tasks import Task
from unspool.tasks.document_vectors import text_vectors, unit_length
from unspool.tasks.inputs.kind import windows_of
from unspool.tasks.task import as_array, walk

LONGEST = 4096  # tokens of a text


def vectors_unsupported_reason(task: Any, model: nn.Module) -> str | None:
    """None where `input_vectors` gives vectors, otherwise the reason."""
    if task.reads_tokens:
        if task.input_field.form.sides:
            return "it reads two texts"
        try:
            text_vectors(task, model, max_length=LONGEST, where=None)
        except ConfigError as error:
            return str(error)
        return None
    reads = isinstance(model, ManyToOne | Tagger | Transcriber | Seq2Seq)
    if not reads or not isinstance(model.encoder, Encoder):
        return f"a {task.config.model_name} of {task.name} has no encoder of whole inputs"
    return None


@torch.inference_mode()
def input_vectors(task: Task, model: Any, items: Sequence[Any], where: object) -> np.ndarray:
    """(N, E) at length 1."""
    reason = vectors_unsupported_reason(task, model)
    if reason is not None:
        raise ConfigError(f"the model makes no vectors: {reason}", where=where)
    if task.reads_tokens:
        limit = task.config.data.max_length or LONGEST
        texts = [item if isinstance(item, str) else " ".join(item) for item in items]
        return text_vectors(task, model, max_length=limit, where=where)(texts)
    encode = getattr(model, "encode", model.encoder)  # a model may shorten its input first
    part = Part.of(task.fields, **{task.input: list(items)})
    windows = windows_of(part, task.input, task.config.data)
    origin = np.arange(len(items)) if windows is None else windows.origin
    part = part if windows is None else part.in_windows(windows)
    vectors: list[Any] = [None] * len(origin)
    for batch in walk(task.batches(part, training=False), model):
        encoded = encode(*batch[task.input].inputs[:2])
        mean = MeanPooling(encoded.outputs.shape[-1])(encoded.outputs, encoded.lengths)
        for row, vector in zip(batch.rows, as_array(mean.float())):
            vectors[row] = vector
    means = [np.stack(vectors)[origin == item].mean(0) for item in range(len(items))]
    return unit_length(np.stack(means))
