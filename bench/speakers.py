"""MiniRocket on the spoken digits of a speaker who was never heard, from log-mel frames that are
normalised or augmented in several ways.

    python bench/speakers.py

Each of the four speakers is left out in turn. 750 recordings of the others are learnt from, of 250
of the speaker the share that is right is printed.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.fft import dct
from sklearn.linear_model import RidgeCV
from threadpoolctl import threadpool_limits

from rows import DATA
from unspool.api.settings import make_config, open_data
from unspool.api.train import with_columns
from unspool.data.fields import rocket
from unspool.tasks import TASKS

Frames = np.ndarray  # (T, bands)
WARPS = (0.85, 1.2)  # of frequencies, as other lengths of a vocal tract would


class Recordings(NamedTuple):
    frames: list[Frames]
    digits: np.ndarray  # (N,)
    speakers: np.ndarray  # (N,) names


class Rows:
    """Series as MiniRocket is fitted to them."""

    def __init__(self, rows: list[Frames]) -> None:
        self.rows, self.lengths = rows, np.array([len(row) for row in rows])

    def scaled(self, row: int) -> Frames:
        return self.rows[row]


def read() -> Recordings:
    with tempfile.TemporaryDirectory() as scratch:
        for file in (DATA / "speech/fsdd/recordings").glob("*.wav"):
            link = Path(scratch) / file.name[0] / file.name
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(file.resolve())
        plan = open_data(scratch, task="classify", settings={}, config_file=None)
        settings = {**plan.settings, "data.valid_share": 0.0}
        config = with_columns(make_config("classify", "gru", settings=settings, plan=plan), plan)
        part = TASKS["classify"].load_corpus(config, {"train": plan}).parts["train"]
        rows = range(len(part))
        names = [re.search(r"\d_([a-z]+)_", part.where(row)) for row in rows]
        frames = [np.asarray(part["audio"].raw[row], np.float32) for row in rows]
        return Recordings(frames, part["label"].ids, np.array([n[1] for n in names if n]))


def warped(x: Frames, factor: float) -> Frames:
    """Frames whose band b is the one that was at `factor` times b."""
    last = x.shape[1] - 1
    source = np.clip(np.arange(last + 1) * factor, 0, last)
    low = source.astype(int)
    share = (source - low).astype(np.float32)
    return x[:, low] * (1 - share) + x[:, np.minimum(low + 1, last)] * share


def accuracies(
    data: Recordings, normalise: Callable[[Frames], Frames], *, augment: bool
) -> dict[str, float]:
    shares, rng = {}, np.random.default_rng(0)
    for name in sorted(set(data.speakers.tolist())):
        own = np.flatnonzero(data.speakers == name)[::2]
        others = np.flatnonzero(data.speakers != name)
        others = others[rng.permutation(len(others))[:750]]
        learnt = [normalise(data.frames[i]) for i in others]
        digits = data.digits[others]
        if augment:
            learnt += [normalise(warped(data.frames[i], rng.uniform(*WARPS))) for i in others]
            digits = np.tile(digits, 2)
        model = rocket.MiniRocket()
        model.fit(Rows(learnt))  # type: ignore[arg-type]
        x = np.stack([model.transform(row) for row in learnt])
        held_out = np.stack([model.transform(normalise(data.frames[i])) for i in own])
        mean, deviation = x.mean(0), x.std(0) + 1e-6
        ridge = RidgeCV(np.logspace(-1, 6, 8)).fit((x - mean) / deviation, np.eye(10)[digits])
        answers = ridge.predict((held_out - mean) / deviation).argmax(1)
        shares[name] = float((answers == data.digits[own]).mean())
    return shares


def main() -> None:
    data = read()
    every = np.concatenate(data.frames)
    mean, deviation = every.mean(0), every.std(0)
    cepstra = dct(every, norm="ortho", axis=1)[:, :13]
    moments = cepstra.mean(0), cepstra.std(0)
    rocket.NUMBERS = 3_000_000  # fewer features than usual, so that it takes seconds
    ways: dict[str, tuple[Callable[[Frames], Frames], bool]] = {
        "each band by all recordings (default)": (lambda x: (x - mean) / deviation, False),
        "less the mean of the recording": (lambda x: (x - x.mean(0)) / deviation, False),
        "by mean and deviation of it": (lambda x: (x - x.mean(0)) / (x.std(0) + 1e-3), False),
        "by its level alone": (lambda x: (x - x.mean()) / (x.std() + 1e-3), False),
        "default, and warped frequencies": (lambda x: (x - mean) / deviation, True),
        "13 cepstra": (
            lambda x: (dct(x, norm="ortho", axis=1)[:, :13] - moments[0]) / moments[1],
            False,
        ),
    }
    for title, (normalise, augment) in ways.items():
        started = time.process_time()
        with threadpool_limits(1):
            shares = accuracies(data, normalise, augment=augment)
        figures = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
        average = np.mean(list(shares.values()))
        seconds = time.process_time() - started
        print(f"{title}: {average:.3f} ({figures}); {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
