"""An alignment as a picture of characters."""

import numpy as np

from unspool.insight.plots.attention import alignment_lines
from unspool.tasks.translate.answer import Translation


def translation(read: list[str], written: list[str], alignment: np.ndarray | None) -> Translation:
    return Translation("", "", 0.0, [], [*read, "</s>"], written, alignment)


def test_characters_stand_side_by_side() -> None:
    weights = np.array([[1.0, 0, 0, 0], [0, 0.5, 0.3, 0.2]])
    assert alignment_lines(translation(list("a b"), ["x", " "], weights)) == [
        "  a␣b·",
        "x █",
        "␣  ▒░░",
    ]


def test_words_get_room() -> None:
    weights = np.array([[0.9, 0.05, 0.05]])
    lines = alignment_lines(translation(["red", " dog"], ["rot"], weights))
    assert lines == ["    red dog   ·", "rot  ██"]


def test_no_alignment_no_picture() -> None:
    assert alignment_lines(translation(["a"], ["b"], None)) == []
