"""Pieces of music: lists of pitches, and folders of MIDI files."""

from __future__ import annotations

import json
import random
from pathlib import Path

PARTS = {"train": 8, "valid": 2, "test": 2}


def chords(rng: random.Random) -> list[list[int]]:
    """Of every step the pitches that sound."""
    return [
        sorted(rng.sample(range(48, 72), k=rng.randint(0, 3))) for _ in range(rng.randint(6, 12))
    ]


def chorales(rng: random.Random) -> bytes:
    parts = {part: [chords(rng) for _ in range(count)] for part, count in PARTS.items()}
    return json.dumps(parts).encode()


def write_songs(folder: Path, rng: random.Random) -> Path:
    """A folder of MIDI files."""
    import numpy as np

    from unspool.data.read.midi import Score, write_midi

    folder.mkdir(parents=True)
    for number in range(10):
        notes = [
            (120 * step, 120 * step + rng.choice([60, 120, 240]), pitch, rng.randint(1, 127))
            for step, chord in enumerate([[60], *chords(rng)])
            for pitch in chord
        ]
        score = Score(np.array(notes, dtype=np.int64).reshape(-1, 4), 480)
        (folder / f"{number}.mid").write_bytes(write_midi(score))
    return folder
