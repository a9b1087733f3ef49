"""The pictures of README and docs, by the commands that stand beside them.

    python docs/pictures/make.py [NAME ...]

All, or some by their names. The commands run in a scratch folder as anyone would type them; what
they draw is put beside this file, with fewer colours where it would be too large. Pages are seen
through Debian's chromium by playwright; without these they are left out.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from unspool.cli import run

HERE = Path(__file__).resolve().parent
MOST_BYTES = 80_000
CHROMIUM, WIDTH = "/usr/bin/chromium", 1100

DATA = "unspool demo --data data"
REVIEWS = [
    "unspool demo reviews",
    'unspool look runs/demo-reviews "the food was good , not bad at all" --pictures seen/reviews',
]
IT = [
    DATA,
    "unspool train data/it.conll --model transformer --set characters=none --set hidden=64"
    " --set batch=32 --set dropout=0.1 --set lr=3e-3 --set epochs=5 --out runs/it",
]
GESTURES = "unspool demo gestures"
CAT = "The cat drank the milk because it was hungry"
TRANSFORMER = (
    "unspool train data/reviews.csv --model transformer --set hidden=64 --set layers=1"
    " --set dropout=0.1 --set lr=3e-3 --set epochs=16"
)


class Picture(NamedTuple):
    commands: list[str]
    made: str  # the file that they leave: a picture, or a saved page
    chosen: str = ""  # on the page, as in its address
    height: int = 720  # of what is seen of it


PICTURES = {
    "gates": Picture(REVIEWS, "seen/reviews/gates-encoder-1-forwards.png"),
    "saliency": Picture(REVIEWS, "seen/reviews/saliency.png"),
    "memory": Picture(["unspool demo memory"], "runs/demo-memory/memory.png"),
    "heads": Picture(
        [*IT, f'unspool look runs/it "{CAT}" --step 7 --pictures seen/it'],
        "seen/it/self-attention.png",
    ),
    "page-attention": Picture(
        [*IT, f'unspool look runs/it "{CAT}" --view attention --html attention.html'],
        "attention.html",
        "layer=1&head=1&row=6",
        height=1110,
    ),
    "page-unrolled": Picture(
        [
            REVIEWS[0],
            'unspool look runs/demo-reviews "the food was good , not bad at all" --view unrolled'
            " --html unrolled.html",
        ],
        "unrolled.html",
        "step=6",
        height=1000,
    ),
    "series-gates": Picture(
        [
            DATA,
            GESTURES,
            "unspool look runs/demo-gestures-steps data/sessions.csv --pictures seen/sessions",
        ],
        "seen/sessions/gates-encoder-1-forwards.png",
    ),
    "page-series": Picture(
        [GESTURES, "unspool look runs/demo-gestures-steps --view saliency --html series.html"],
        "series.html",
        height=1270,
    ),
    "page-forecast": Picture(
        [
            "unspool demo forecast",
            "unspool look runs/demo-forecast --view ahead --html ahead.html",
        ],
        "ahead.html",
        "step=20",
        height=960,
    ),
    "page-transcript": Picture(
        [
            "unspool demo digits",
            "unspool look runs/demo-digits --view transcript --html spoken.html",
        ],
        "spoken.html",
        height=746,
    ),
    "ngrams": Picture(
        [
            DATA,
            "unspool train data/reviews.csv --model cnn --set widths=7 --set filters=50"
            " --set epochs=4 --out runs/reviews-cnn",
            "unspool ngrams runs/reviews-cnn data/reviews.csv --filters 2 --picture ngrams.png",
        ],
        "ngrams.png",
    ),
    "learning": Picture(
        [
            DATA,
            f"{TRANSFORMER} --set positions=none --out runs/no-positions",
            f"{TRANSFORMER} --set positions=sinusoidal --out runs/positions",
            "unspool look runs/positions --compare runs/no-positions --pictures seen/learning",
        ],
        "seen/learning/learning.png",
    ),
    "lstm": Picture(["unspool look --figure lstm --pictures seen"], "seen/lstm.png"),
    "curves": Picture(["unspool look --figure curves --pictures seen"], "seen/curves.png"),
    "attention": Picture(["unspool look --figure attention --pictures seen"], "seen/attention.png"),
    "transformer": Picture(
        ["unspool look --figure transformer --pictures seen"], "seen/transformer.png"
    ),
}


def make(names: list[str]) -> None:
    done: set[str] = set()
    for name in names:
        for command in PICTURES[name].commands:
            if command not in done:
                print(command, flush=True)
                if run(shlex.split(command)[1:]):
                    sys.exit(f"failed: {command}")
                done.add(command)
        made = Path(PICTURES[name].made)
        if made.suffix == ".html":
            shoot(made, PICTURES[name])
        shrink(made.with_suffix(".png"), HERE / f"{name}.png")


def shoot(page: Path, how: Picture) -> None:
    """What chromium shows of a saved page, as a picture beside it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport={"width": WIDTH, "height": how.height})
        tab.goto(f"{page.resolve().as_uri()}#{how.chosen}")
        tab.wait_for_load_state("networkidle")
        tab.wait_for_timeout(1000)
        tab.screenshot(path=page.with_suffix(".png"))
        browser.close()


def can_shoot() -> bool:
    return Path(CHROMIUM).exists() and importlib.util.find_spec("playwright") is not None


def shrink(source: Path, target: Path) -> None:
    image = Image.open(source).convert("RGB")
    image.save(target, optimize=True)
    if target.stat().st_size > MOST_BYTES:
        image.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    size = target.stat().st_size
    print(f"{target}: {image.width} x {image.height}, {size:,} bytes", flush=True)
    if size > MOST_BYTES:
        sys.exit(f"more than {MOST_BYTES:,} bytes: {target}")


def main() -> None:
    names = sys.argv[1:] or [
        name for name, one in PICTURES.items() if one.made.endswith(".png") or can_shoot()
    ]
    unknown = [name for name in names if name not in PICTURES]
    if unknown:
        sys.exit(f"no such picture: {unknown[0]}. There are {', '.join(PICTURES)}")
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        os.environ.setdefault("UNSPOOL_CACHE", str(Path(scratch) / "cache"))
        make(names)


if __name__ == "__main__":
    main()
