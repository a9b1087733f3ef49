"""Images as sequences: scikit-learn's digits of 8 x 8 pixels, and lines of text.

    python bench/images.py digits                          every model, 5 seeds each
    python bench/images.py digits --models lstm --seeds 1
    python bench/images.py lines                           random words in Pillow's bitmap font
    python bench/images.py store                           20,000 images of 128 x 128 into the cache
    python bench/images.py train                           an epoch of them, and its memory

Digits come with scikit-learn: 1,797, of which a stratified fifth is the test part, the same for all
seeds. The epoch is chosen on a tenth of the others.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import unspool
from unspool.config import DataConfig
from unspool.data.fields.image import ImageSource
from unspool.data.fields.image_shape import ImageShape
from unspool.data.fields.vectors import VectorField
from unspool.data.store.columns import store_columns
from unspool.tasks.planner import open_plan

# Of each model what it reads, and settings other than the defaults.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "lstm": ("lstm", {"reading": "rows"}),
    "bilstm": ("bilstm", {"reading": "rows"}),
    "transformer": ("transformer", {"reading": "patches", "dropout": 0.1}),
    "cnn": ("lstm", {"reading": "cnn"}),
    "linear": ("linear", {}),
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def digits(models: list[str], seeds: int, epochs: int) -> None:
    from sklearn.datasets import load_digits

    found = load_digits()
    x, y = found.images.astype(np.float32), [str(label) for label in found.target]
    for name in models:
        model, settings = MODELS[name]
        accuracies, seconds, size = [], 0.0, 0
        for seed in range(1, seeds + 1):
            start = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                run = unspool.train(
                    x, y, input="image", model=model, seed=seed, test_share=0.2, epochs=epochs,
                    baseline=False, out=Path(folder) / "run", **settings,
                )  # fmt: skip
                assert run.report is not None
                assert run.report_part == "test"
                accuracies.append(run.report.metrics["accuracy"])
                size = sum(p.numel() for p in run.model.parameters())
            seconds += time.process_time() - start
        mean, sd = np.mean(accuracies), np.std(accuracies, ddof=1) if seeds > 1 else 0.0
        print(
            f"digits: {name} by {settings.get('reading', 'pixels')}: accuracy {mean:.4f} ±"
            f" {sd:.4f} ({seeds} seeds: {', '.join(f'{own:.4f}' for own in accuracies)}),"
            f" {size:,} parameters, {seconds / seeds:.0f} s of one core a run",
            flush=True,
        )


def words(count: int, rng: np.random.Generator) -> list[str]:
    return ["".join(rng.choice(list(LETTERS), rng.integers(3, 9))) for _ in range(count)]


def line_of(text: str, rng: np.random.Generator) -> np.ndarray:
    """Dark on light, with a margin, a slant and noise of its own."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default_imagefont()
    left, top = rng.integers(1, 8), rng.integers(0, 5)
    image = Image.new("L", (int(font.getlength(text)) + 2 * int(left), 16), 255)
    ImageDraw.Draw(image).text((left, top), text, fill=int(rng.integers(0, 100)), font=font)
    shear = rng.uniform(-0.3, 0.3)
    turned = image.transform(
        image.size, Image.Transform.AFFINE, (1, shear, -8 * shear, 0, 1, 0), fillcolor=255
    )
    noisy = np.asarray(turned) - rng.normal(0, 25, (16, image.width)) - 25
    return np.clip(noisy, 0, 255).astype(np.uint8)


def lines(seeds: int, epochs: int, count: int = 1500) -> None:
    from PIL import Image

    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "lines"
        home.mkdir()
        rows = ["file,text"]
        for i, text in enumerate(words(count, rng)):
            Image.fromarray(line_of(text, rng)).save(home / f"{i}.png")
            rows.append(f"{i}.png,{text}")
        (home / "texts.csv").write_text("\n".join(rows) + "\n")
        for seed in range(1, seeds + 1):
            start = time.process_time()
            run = unspool.train(
                home, seed=seed, test_share=0.2, epochs=epochs, layers=1, hidden=64, embedding=32,
                out=Path(folder) / str(seed),
            )  # fmt: skip
            assert run.report is not None
            print(
                f"lines: {count:,} words, bilstm by cnn_columns, seed {seed}, {epochs} epochs:"
                f" {run.report.metrics}, {time.process_time() - start:.0f} s of one core",
                flush=True,
            )


def write_images(home: Path, count: int, size: int) -> Path:
    """JPEG images of coarse noise, in two folders."""
    from PIL import Image

    rng = np.random.default_rng(1)
    for label in ("a", "b"):
        (home / label).mkdir(parents=True)
    for i in range(count):
        x = rng.integers(0, 256, (size // 8, size // 8, 3)).astype(np.uint8)
        Image.fromarray(x).resize((size, size)).save(home / "ab"[i % 2] / f"{i}.jpg")
    return home


class Resident(threading.Thread):
    """The largest memory of this process, a few times a second: its own (RssAnon), and pages of
    mapped files (RssFile), which the system takes back when it needs them; in MB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = {"RssAnon": 0.0, "RssFile": 0.0}
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.2):
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in self.most:
                    self.most[name] = max(self.most[name], int(rest.split()[0]) / 1e3)


def trained(count: int = 20_000, size: int = 128) -> None:
    """An epoch on stored images: what is in memory, whatever their number."""
    with tempfile.TemporaryDirectory() as folder:
        home = write_images(Path(folder) / "images", count, size)
        watch, start = Resident(), time.process_time()
        watch.start()
        unspool.train(
            home, model="gru", reading="rows", height=size, width=size, epochs=1, hidden=64,
            baseline=False, out=Path(folder) / "run",
        )  # fmt: skip
        watch.ended.set()
        watch.join()
        print(
            f"train: {count:,} images of {size} x {size}, {3 * count * size * size / 1e6:,.0f} MB"
            f" of pixels, stored and read for an epoch in {time.process_time() - start:.0f} s of"
            f" one core; its own memory at most {watch.most['RssAnon']:,.0f} MB, pages of mapped"
            f" files {watch.most['RssFile']:,.0f} MB"
        )


def store(count: int = 20_000, size: int = 128) -> None:
    """How long images take to be decoded and stored, and how much memory."""
    with tempfile.TemporaryDirectory() as folder:
        home = write_images(Path(folder) / "images", count, size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        plan = open_plan(home, DataConfig())
        field = VectorField("image", ImageSource(ImageShape(size, size, 3)))
        stored = store_columns(plan, {"image": field})
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        column = stored.columns["image"]
        field.fit(column, np.arange(count), where="here")
        seconds = time.process_time() - start
        status = Path("/proc/self/status").read_text().splitlines()
        kept = next(line for line in status if line.startswith("RssAnon"))
        print(
            f"store: {count:,} JPEG images of {size} x {size} in {seconds:.0f} s of one core,"
            f" {column.values.values.nbytes / 1e6:,.0f} MB on disk; peak memory before"
            f" {before / 1e3:,.0f} MB, stored {after / 1e3:,.0f} MB; of its own, without mapped"
            f" files, when mean and deviation are known: {int(kept.split()[1]) / 1e3:,.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["digits", "lines", "store", "train"])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--images", type=int, default=20_000)
    given = parser.parse_args()
    if given.what == "digits":
        digits(given.models, given.seeds, given.epochs)
    elif given.what == "lines":
        lines(given.seeds, given.epochs)
    elif given.what == "store":
        store(given.images)
    else:
        trained(given.images)


if __name__ == "__main__":
    main()
