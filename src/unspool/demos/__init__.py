"""Small jobs on embedded data that show what the package does, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from unspool.demos import (
    chorale,
    dates,
    digits,
    forecast,
    gestures,
    handwriting,
    hello,
    memory,
    moving,
    opinions,
    reviews,
    shapes,
)


class Demo(NamedTuple):
    about: str
    run: Callable[[Callable[[str], None]], None]


DEMOS: dict[str, Demo] = {
    "dates": Demo("dates in five languages become ISO 8601, by a model with attention", dates.run),
    "reviews": Demo(
        "a BiLSTM learns who is praised and who is not, word order and all", reviews.run
    ),
    "opinions": Demo(
        "what reviewers praise and what they dislike, found by two models", opinions.run
    ),
    "gestures": Demo(
        "movements of a hand: which one a recording is, and where each begins", gestures.run
    ),
    "digits": Demo("strings of spoken digits become text, with the time of each", digits.run),
    "shapes": Demo(
        "pictures of coloured shapes are described, word by word, by a model with attention",
        shapes.run,
    ),
    "handwriting": Demo(
        "a network learns to write words with a pen, letter by letter", handwriting.run
    ),
    "chorale": Demo(
        "harmony in four voices is learnt, and continued as MIDI and a piano roll", chorale.run
    ),
    "moving": Demo("a shape moves: each frame has a label, and so has the clip", moving.run),
    "forecast": Demo("the next day of a power grid, hour by hour, with intervals", forecast.run),
    "hello": Demo("an Elman network with 40 parameters learns to write HELLO", hello.run),
    "memory": Demo("four cells and how far back they learn, up to 200 steps", memory.run),
}
DEFAULT = "dates"
