"""What the pixels of an image, or of the frames of a video, have to do with an answer.

In: a reading of a field whose steps are parts of an image or frames, a step and an answer. Out: the
contribution of every pixel (integrated gradients), and the answer where a patch is hidden.
"""

from __future__ import annotations

import copy
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.insight.inputs import rows_at_once
from unspool.insight.saliency import METHODS


class Hidden(NamedTuple):
    """The value of an answer where a patch is hidden, in a video in every frame.

    side     pixels of a patch
    values   (rows, columns)
    """

    side: int
    values: np.ndarray


def pixel_contributions(reading: Any, step: int, answer: int) -> np.ndarray:
    """(F, H, W), F frames, one of an image; they add up as those of `explain` do."""
    field, own = reading.task.input_field, copy.copy(reading)
    # A convolution makes other steps; its own input are pixels.
    own.convolved, own.elements = False, ["pixel"] * reading.vectors.shape[1]
    found = METHODS["integrated"](own, step, answer).values * reading.unit(answer)
    return field.source.pixel_values(found[-len(reading.vectors) :])


@torch.no_grad()
def hidden_patches(reading: Any, step: int, answer: int) -> Hidden:
    """What becomes of the answer where each patch has the mean colour."""
    field = reading.task.input_field
    height, width = field.source.pixel_values(reading.vectors).shape[1:]
    side = -(-max(height, width) // field.source.patches_across)

    def encode(value: Any) -> np.ndarray:
        return field.vectors(field.encode([value]), 0)

    values = []
    covered = field.source.covered(reading.vectors, reading.item, side, encode)
    rows = rows_at_once(1, len(reading.vectors) * reading.cost)
    while steps := list(islice(covered, rows)):
        readings = [copy.copy(reading) for _ in steps]
        for hidden, vectors in zip(readings, steps):
            hidden.vectors = vectors
        for scores in reading.together(readings):
            values.append(float(reading.values(scores)[step, answer]))
    return Hidden(side, np.array(values).reshape(-(-height // side), -1))
