"""JSB chorales (Boulanger-Lewandowski et al. 2012): nats a frame, and samples in numbers.

    python bench/music.py jsb                  LSTM and Transformer, frames and events, five seeds
    python bench/music.py jsb --model lstm-frames --seeds 1 2
    python bench/music.py samples              notes in key, parallel fifths, ... beside the data's
    python bench/music.py samples --out DIR    and the first as MIDI and as a picture
    python bench/music.py tune KEY=VALUE,...   on the validation part alone

The parts are those of the file: 229 pieces to train on, 76 to choose by, 77 to test, in quarter
notes. The settings below were chosen by `tune`, which does not have the test part. The nats of a
frame are the sum of the binary cross-entropies of 88 keys, their mean is over all frames of all
pieces but the first of each, as of Bai et al. (2018). A model of events predicts the first frame,
too, and its nats are those of all events of a piece over its frames. Without ../shared/data (or
$UNSPOOL_DATA) it says so and ends. What is printed is kept in bench/results/music-NAME.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import unspool
from rows import DATA, STORE, size
from unspool.config import DataConfig
from unspool.data.fields.pieces import music_numbers
from unspool.data.plan import split_plans
from unspool.data.read.music import Piece, as_piece
from unspool.insight.plots import roll_figure
from unspool.io.pictures import save_picture
from unspool.tasks.planner import open_plan

CHORALES = DATA / "music/boulanger_lewandowski/JSB_Chorales.mat"
GIVEN, ADDED = 8, 56  # steps of a test piece, and those that are written after them
PIECES = 77
SETTINGS: dict[str, dict[str, Any]] = {
    "lstm-frames": {"model": "lstm", "music": "frames", "dropout": 0.5},
    "transformer-frames": {
        "model": "transformer", "music": "frames", "dropout": 0.3, "lr": 1e-3, "epochs": 100,
    },
    "lstm-events": {"model": "lstm", "music": "events", "dropout": 0.5, "bptt": 1024},
    "transformer-events": {
        "model": "transformer", "music": "events", "dropout": 0.2, "bptt": 512, "epochs": 100,
    },
}  # fmt: skip


def pieces(part: str) -> Iterator[Piece]:
    plan = open_plan(str(CHORALES), DataConfig())
    for row in split_plans(plan, DataConfig())[0][part].rows():
        yield as_piece(row.values[0], "a chorale")


def trained(name: str, seed: int, folder: Path, data: Path = CHORALES, **more: Any) -> Any:
    settings = {**SETTINGS[name], **more}
    return unspool.train(data, seed=seed, out=folder / f"{name}-{seed}", quiet=True, **settings)


def best(run: Any) -> float:
    return min(r["valid_nll"] for r in run.metrics() if "valid_nll" in r)


def jsb(names: list[str], seeds: list[int], known: dict[str, Any]) -> dict[str, Any]:
    """Each run as [nats of valid, of test, seconds] by its seed, beside those that are known."""
    for name in names:
        own = known.setdefault(name, {"runs": {}})
        for seed in seeds:
            with tempfile.TemporaryDirectory() as scratch:
                start = time.perf_counter()
                run = trained(name, seed, Path(scratch))
                seconds = time.perf_counter() - start
                row = (best(run), run.report.metrics["nll"], seconds)
            own["parameters"], own["runs"][str(seed)] = size(run), row
            print(f"{name} seed {seed}: valid {row[0]:.3f} test {row[1]:.3f}  {seconds:.0f} s")
        valid, test, seconds = np.array(list(own["runs"].values())).T
        spread = test.std(ddof=1) if len(test) > 1 else 0.0
        print(f"{name}: valid {valid.mean():.3f}, test {test.mean():.3f} ± {spread:.3f}")
    return known


def samples(names: list[str], out: Path | None) -> dict[str, Any]:
    tested = list(pieces("test"))
    numbers = {
        "train": music_numbers(own.values for own in pieces("train")),
        "test": music_numbers(own.values for own in tested),
        "test, as long": music_numbers(own.values[GIVEN : GIVEN + ADDED] for own in tested),
    }
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            run = trained(name, 1, Path(scratch))
            for temperature in (1.0, 0.7):
                made = [
                    run.compose(own[:GIVEN], length=ADDED, temperature=temperature, seed=i)
                    for i, own in enumerate(tested[:PIECES])
                ]
                written = music_numbers(own.piece.values[own.given :] for own in made)
                numbers[f"{name}, temperature {temperature}"] = written
                if out is not None:
                    out.mkdir(parents=True, exist_ok=True)
                    path = out / f"{name}-{temperature}"
                    path.with_name(f"{path.name}.mid").write_bytes(made[0].midi())
                    figure = roll_figure(made[0].piece, GIVEN, title=f"{name}, T = {temperature}")
                    save_picture(figure, path.with_name(f"{path.name}.png"))
    for name, own in numbers.items():
        print(f"{name}: {own}")
    return {name: own._asdict() for name, own in numbers.items()}


def tune(asked: list[str]) -> dict[str, float]:
    """Each with the settings of `lstm-frames` but for those that it names; name=... for others."""
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "known.json"
        parts = {part: [own.chords() for own in pieces(part)] for part in ("train", "valid")}
        data.write_text(json.dumps(parts))
        for i, own in enumerate(asked):
            more = dict(pair.split("=") for pair in own.split(",") if pair)
            name = more.pop("name", "lstm-frames")
            run = trained(name, 1, Path(scratch) / str(i), data, **more)
            found[own] = best(run)
            print(f"{own}: valid {found[own]:.4f}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["jsb", "samples", "tune"])
    parser.add_argument("settings", nargs="*")
    parser.add_argument("--model", choices=SETTINGS, action="append")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not CHORALES.exists():
        sys.exit(f"{CHORALES} is not there")
    names = given.model or list(SETTINGS)
    if given.what == "tune":
        tune(given.settings)
        return
    path = STORE / f"music-{given.what}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    if given.what == "jsb":
        found = jsb(names, given.seeds, known)
    else:
        found = known | samples(names, given.out)
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
