"""What the pixels of an image, or of the frames of a video, have to do with an answer.

In: a reading of a field whose steps are parts of an image or frames, a step and an answer. Out: the
contribution of every pixel (integrated gradients), and the answer where a patch is hidden.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.insight.inputs import rows_at_once
from unspool.insight.saliency import METHODS

PATCHES = 8  # along the longer side, where the field has no grid of its own


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
    return field.pixel_values(found[-len(reading.vectors) :])


@torch.no_grad()
def hidden_patches(reading: Any, step: int, answer: int) -> Hidden:
    """What becomes of the answer where each patch has the mean colour."""
    field = reading.task.input_field
    height, width = field.pixel_values(reading.vectors).shape[1:]
    side = -(-max(height, width) // getattr(field, "patches_across", PATCHES))
    encoded = getattr(field, "covered_vectors", None)  # of a field whose steps are no pixels
    covered = None if encoded is None else encoded(reading.item, side)
    corners = [(i, j) for i in range(0, height, side) for j in range(0, width, side)]
    found, rows = [], rows_at_once(1, len(reading.vectors) * reading.cost)
    for first in range(0, len(corners), rows):
        some = []
        for n, (top, left) in enumerate(corners[first : first + rows], first):
            own = copy.copy(reading)
            if covered is None:
                own.vectors = field.covered(reading.vectors, top, left, side)
            else:
                own.vectors = covered[n]
            some.append(own)
        for scores in reading.together(some):
            found.append(float(reading.values(scores)[step, answer]))
    return Hidden(side, np.array(found).reshape(-(-height // side), -1))
