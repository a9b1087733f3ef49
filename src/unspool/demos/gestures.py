"""Movements of a hand, as a watch would record them: which one it is, and where each begins.

Three axes of acceleration at 20 steps a second: waves, circles, shakes and pushes, each at its own
pace and strength, by ten people who hold the watch at ten angles, with noise and lost values. One
model names whole movements of people that it has not seen; another finds them in recordings.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unspool.api.train import train
from unspool.insight.plots import series_figure
from unspool.io.pictures import save_picture
from unspool.tasks.planner import open_inputs
from unspool.training.output_folder import free_folder
from unspool.training.progress import Printed

MOVES = ("circle", "push", "shake", "wave")
REST = "rest"
RATE = 20  # steps a second
PEOPLE, EACH, SESSIONS = 10, 8, 60
LOST = 0.01  # of the values


class Person(NamedTuple):
    """Movement style of a person: the angle of the watch, the pace and the strength."""

    turn: np.ndarray  # (3, 3)
    pace: float
    strength: float


def person(rng: np.random.Generator) -> Person:
    a, b = rng.normal(0, 0.25, 2)
    one = np.array([[1, 0, 0], [0, math.cos(a), -math.sin(a)], [0, math.sin(a), math.cos(a)]])
    two = np.array([[math.cos(b), 0, math.sin(b)], [0, 1, 0], [-math.sin(b), 0, math.cos(b)]])
    return Person(one @ two, rng.uniform(0.8, 1.25), rng.uniform(0.7, 1.3))


def movement(name: str, steps: int, who: Person, rng: np.random.Generator) -> np.ndarray:
    """(T, 3)"""
    t = np.arange(steps) / RATE * who.pace * rng.uniform(0.9, 1.1)
    phase = 2 * math.pi * (t + rng.random())
    zero = np.zeros(steps)
    axes = {
        "wave": (1.2 * np.sin(phase), zero, 0.3 * np.abs(np.cos(phase))),
        "circle": (np.sin(phase), np.cos(phase), zero),
        "shake": (0.8 * np.sin(4 * phase), 0.5 * np.sin(4 * phase + 1), zero),
        "push": (zero, zero, 1.6 * np.sign(np.sin(phase)) * np.sin(phase) ** 4),
        REST: (zero, zero, zero),
    }[name]
    x = who.strength * np.stack(axes, 1) + np.array([0, 0, 1.0])  # and gravity
    return (x + rng.normal(0, 0.15, x.shape)) @ who.turn.T


def write_movements(path: Path, seed: int = 1) -> None:
    """One movement a recording, with the person who made it."""
    rng = np.random.default_rng(seed)
    lines, number = ["id,time,x,y,z,gesture,person"], 0
    for p in range(PEOPLE):
        who = person(rng)
        for name in MOVES * EACH:
            x = movement(name, int(rng.integers(20, 60)), who, rng)
            lines += rows(f"r{number}", x, [name] * len(x), rng, f",p{p}")
            number += 1
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_sessions(path: Path, seed: int = 2, count: int = SESSIONS) -> None:
    """Movements one after the other, with rests between them and a label a step."""
    rng = np.random.default_rng(seed)
    lines = ["id,time,x,y,z,gesture"]
    for number in range(count):
        who, parts, labels = person(rng), [], list[str]()
        for name in rng.permutation(MOVES):
            for each in (REST, str(name)):
                steps = int(rng.integers(12, 40))
                parts.append(movement(each, steps, who, rng))
                labels += [each] * steps
        lines += rows(f"s{number}", np.concatenate(parts), labels, rng)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows(
    name: str, x: np.ndarray, labels: list[str], rng: np.random.Generator, more: str = ""
) -> list[str]:
    lost = rng.random(x.shape) < LOST
    return [
        f"{name},{t / RATE:.2f},"
        + ",".join("" if gone else f"{value:.3f}" for value, gone in zip(x[t], lost[t]))
        + f",{labels[t]}{more}"
        for t in range(len(x))
    ]


def run(write: Callable[[str], None]) -> None:
    from rich.console import Console

    watcher = Printed(Console(stderr=True))
    with tempfile.TemporaryDirectory() as scratch:
        single, sessions = Path(scratch) / "movements.csv", Path(scratch) / "sessions.csv"
        new = Path(scratch) / "new.csv"
        write_movements(single)
        write_sessions(sessions)
        write_sessions(new, seed=3, count=1)
        write("Which movement is it? Tested on people whom the model has not seen:")
        write("")
        named = train(
            single, model="bigru", label="gesture", group="person", test_share=0.2,
            out=free_folder("demo", "gestures"), note=write, watcher=watcher, hidden=32, epochs=12,
        )  # fmt: skip
        for line in (named.report.lines() if named.report else [])[:12]:
            write(line)
        write("")
        write("Where does each begin? A label for each step of longer recordings:")
        write("")
        trained = train(
            sessions, task="tag", model="bigru", label="gesture", test_share=0.2,
            out=free_folder("demo", "gestures-steps"), note=write, watcher=watcher, hidden=32,
            epochs=20, batch=4, lr=5e-3, output="crf",
        )  # fmt: skip
        for line in trained.report.lines() if trained.report else []:
            write(line)
        series = next(iter(open_inputs(new, trained.config.data, "tag").rows())).values[0]
        truth = [line.split(",")[5] for line in new.read_text(encoding="utf-8").splitlines()[1:]]
        answer = trained.predict([series])[0]
    write("")
    write(f"a new recording: {answer}")
    picture = trained.path / "recording.png"
    bands = {"true": truth, "predicted": answer.labels}
    save_picture(series_figure(series, bands=bands, title="A new recording"), picture)
    write(f"picture: {picture}")
    write("")
    write("Next:")
    write(f"  unspool look {named.path}    the page: gates and reasons under the curves")
    write(f"  unspool look {trained.path} --view saliency    why a step has its label")
    write(f"  unspool serve {named.path}   over HTTP, with a page at localhost:8000")
    write("  unspool check FILE ; unspool train FILE --group COLUMN   your own recordings")
