"""Small reviews for tests: a few words, one of which praises or blames."""

from __future__ import annotations

import random
from pathlib import Path

WORDS = ["the", "a", "film", "plot", "cast", "music", "was", "is", "felt", "seemed", "very"]
GOOD = ["good", "great", "fine", "lovely"]
BAD = ["bad", "poor", "dull", "awful"]


def review(rng: random.Random, label: str) -> str:
    words = rng.choices(WORDS, k=rng.randint(2, 8))
    words.insert(rng.randrange(len(words)), rng.choice(GOOD if label == "pos" else BAD))
    return " ".join(words)


def write_reviews(path: Path, count: int, seed: int = 1) -> Path:
    rng = random.Random(seed)
    labels = [("pos", "neg")[i % 2] for i in range(count)]
    rows = "".join(f"{review(rng, label)},{label}\n" for label in labels)
    path.write_text("text,label\n" + rows)
    return path
