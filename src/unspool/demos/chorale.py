"""Four voices in a key: a network learns how harmony goes on, and goes on with it.

Chords follow each other as in a first lesson of harmony (tonic, subdominant, dominant, tonic), in
some major or minor key. Each is set for bass, tenor, alto and soprano near the notes before, where
that can be without parallel fifths, and some are led into by a passing note.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from unspool.api.train import train
from unspool.data.fields.pieces import has_parallel_fifth, music_numbers
from unspool.data.read.music import as_piece
from unspool.insight.plots import roll_figure
from unspool.io.files import write_atomic
from unspool.io.pictures import save_picture
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

PIECES = 360
CHORDS = 16  # of a piece
STEPS = 4  # of a chord
GIVEN = 4 * STEPS  # steps that are continued
# After each degree of the scale, those that may follow, and how often.
FOLLOWS: dict[int, dict[int, float]] = {
    1: {4: 3, 5: 3, 6: 2, 2: 2},
    2: {5: 4, 7: 1},
    3: {6: 1, 4: 1},
    4: {5: 4, 1: 2, 2: 2},
    5: {1: 5, 6: 1},
    6: {2: 3, 4: 3, 3: 1},
    7: {1: 1},
}
SCALES = {"major": (0, 2, 4, 5, 7, 9, 11), "minor": (0, 2, 3, 5, 7, 8, 10)}
RANGES = ((40, 57), (48, 65), (55, 72), (60, 79))  # of bass, tenor, alto, soprano


def progression(rng: np.random.Generator) -> list[int]:
    """Degrees of a scale, from the first to the first."""
    degrees = [1]
    while len(degrees) < CHORDS - 2:
        ways = FOLLOWS[degrees[-1]]
        p = np.array(list(ways.values()))
        degrees.append(int(rng.choice(list(ways), p=p / p.sum())))
    return [*degrees, 5, 1]


def triad(degree: int, tonic: int, scale: str) -> list[int]:
    """Pitch classes of root, third and fifth; in minor the dominant has the leading note."""
    steps = SCALES[scale]
    notes = [(tonic + steps[(degree - 1 + third) % 7]) % 12 for third in (0, 2, 4)]
    if scale == "minor" and degree == 5:
        notes[1] = (tonic + 11) % 12
    return notes


def settings(notes: list[int]) -> list[np.ndarray]:
    """Every way to give a triad to four voices in their ranges: the root below, no voice above the
    next, none more than an octave from the one below it, but for the bass."""
    at = [[p for p in range(low, high + 1) if p % 12 in notes] for low, high in RANGES]
    at[0] = [p for p in at[0] if p % 12 == notes[0]]
    return [
        np.array(chord)
        for chord in product(*at)
        if chord[0] < chord[1] < chord[2] < chord[3]
        and chord[2] - chord[1] <= 12
        and chord[3] - chord[2] <= 12
        and {p % 12 for p in chord} == set(notes)
    ]


def chorale(rng: np.random.Generator) -> list[list[int]]:
    """The pitches at each step."""
    tonic, scale = int(rng.integers(12)), str(rng.choice(list(SCALES)))
    chords: list[np.ndarray] = []
    for degree in progression(rng):
        ways = settings(triad(degree, tonic, scale))
        if not chords:
            chords.append(ways[int(rng.integers(len(ways)))])
            continue
        before = chords[-1]
        fine = [w for w in ways if not has_parallel_fifth(before, w)] or ways
        far = np.array([abs(way - before).sum() for way in fine]) + rng.uniform(0, 2, len(fine))
        chords.append(fine[int(far.argmin())])
    steps: list[list[int]] = []
    inside = {(tonic + step) % 12 for step in SCALES[scale]}
    for chord, after in zip(chords, [*chords[1:], chords[-1]]):
        steps += [chord.tolist()] * STEPS
        between = passing(int(chord[3]), int(after[3]), inside)
        if between is not None and between > chord[2]:  # the soprano walks on before the others
            steps[-STEPS // 2 :] = [[*chord[:3].tolist(), between]] * (STEPS // 2)
    return steps


def passing(note: int, after: int, inside: set[int]) -> int | None:
    """The note of the key between two that are a third apart."""
    if abs(after - note) not in (3, 4):
        return None
    way = range(note + 1, after) if after > note else range(after + 1, note)
    return next((p for p in way if p % 12 in inside), None)


def write_chorales(path: Path, count: int = PIECES, seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    pieces = [chorale(rng) for _ in range(count)]
    cut = (count * 8 // 10, count * 9 // 10)
    parts = {"train": pieces[: cut[0]], "valid": pieces[cut[0] : cut[1]], "test": pieces[cut[1] :]}
    path.write_text(json.dumps(parts), encoding="utf-8")


def run(write: Callable[[str], None], *, pieces: int = PIECES, epochs: int = 26) -> None:
    from rich.console import Console

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "chorales.json"
        write_chorales(path, pieces)
        write(f"{pieces} pieces of {CHORDS} chords in four voices, in all keys:")
        write("")
        run = train(
            path, model="lstm", music="events", out=free_folder("demo", "chorale"), note=write,
            watcher=Printed(Console(stderr=True)), epochs=epochs, hidden=224, transpose=5, lr=4e-3,
            batch=8, dropout=0.1,
        )  # fmt: skip
    for line in run.report.lines() if run.report else []:
        write(line)
    begun = as_piece(chorale(np.random.default_rng(10**6))[:GIVEN], "a new piece")
    answer = run.compose(begun, length=12 * STEPS, temperature=0.7, seed=1)
    write("")
    write(f"{GIVEN} steps of a piece that it has not seen, and what follows:")
    for line in answer.lines(1):
        write(line)
    many = [run.compose(begun, length=12 * STEPS, seed=seed) for seed in range(1, 9)]
    write(f"eight:   {music_numbers(a.piece.values[a.given :] for a in many)}")
    midi, picture = run.path / "chorale.mid", run.path / "chorale.png"
    write_atomic(midi, answer.midi())
    save_picture(roll_figure(answer.piece, answer.given), picture)
    write(f"written: {midi}, {picture}")
    write("")
    write("Next:")
    write(f"  unspool look {run.path}   hear it, and see the gates while it plays")
    write(f"  unspool generate {run.path} --prompt {midi} --length 64 --out more.mid")
    write(f"  unspool serve {run.path}   over HTTP, with a page at localhost:8000")
    write("  unspool train FOLDER   MIDI files of your own")
