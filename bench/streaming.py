"""How long does a step take that comes alone, with the state carried?

    python bench/streaming.py [--quick] [--json FILE] [--threads N] [--rounds N]

Models with fresh weights read 6 channels, or characters, one step at a time: what `push` of a
stream takes from the raw values to the answer, next to plain torch (a step of nn.LSTM, the running
maximum, the output layer and its softmax, without scaling, gaps or an answer) and next to reading
all again after each step, of which there are 200. Of sound, a step is 30 ms of samples. Answers are
compared before anything is timed.
"""

from __future__ import annotations

import time
import wave
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import nn

import unspool
from timing import parser, set_up, write_json

STEPS, CHANNELS, HIDDEN = 200, 6, 128
RATE, BLOCK = 8000, 240  # samples a second, and of a step of sound


def write_data(folder: Path) -> dict[str, str]:
    rng = np.random.default_rng(1)
    rows, text = ["id," + ",".join(f"c{i}" for i in range(CHANNELS)) + ",label"], []
    for series in range(24):
        for _ in range(40):
            values = ",".join(f"{x:.3f}" for x in rng.normal(series % 3, 1, CHANNELS))
            rows.append(f"r{series},{values},{'abc'[series % 3]}")
        text.append("".join(rng.choice(list("abcdefgh "), 60)))
    (folder / "steps.csv").write_text("\n".join(rows) + "\n")
    (folder / "text.txt").write_text("\n".join(text) + "\n")
    loads = "".join(f"{i},{np.sin(i / 4):.4f}\n" for i in range(400))
    (folder / "loads.csv").write_text("time,load\n" + loads)
    (folder / "sound").mkdir()
    for number in range(8):
        with wave.open(str(folder / "sound" / f"{number}_{'ab'[number % 2]}.wav"), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes((3000 * rng.normal(size=RATE)).astype("<i2").tobytes())
    names = ("steps.csv", "text.txt", "loads.csv", "sound")
    return {name: str(folder / name) for name in names}


def runs(folder: Path) -> dict[str, Any]:
    files = write_data(folder)
    small = {"hidden": HIDDEN, "max_steps": 1, "quiet": True}
    return {
        "classify, lstm": unspool.train(files["steps.csv"], model="lstm", **small),
        "tag, gru": unspool.train(files["steps.csv"], task="tag", model="gru", **small),
        "language model, lstm": unspool.train(
            files["text.txt"], task="generate", model="lstm", **small
        ),
        "forecast, gru": unspool.train(
            files["loads.csv"], task="forecast", model="gru", horizon=24, window=96, **small
        ),
        "transcribe, lstm, 30 ms": unspool.train(
            files["sound"], task="transcribe", model="lstm", scaling="channel", **small
        ),
    }


def plain_torch(run: Any) -> Callable[[np.ndarray], Any]:
    """The same steps by torch alone, with the same weights."""
    model = run.model
    cell = model.encoder.network.cells()[0][0]
    layer = nn.LSTM(cell.inputs, HIDDEN, batch_first=True)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(cell.W), layer.weight_hh_l0.copy_(cell.U)
        layer.bias_ih_l0.copy_(cell.b), layer.bias_hh_l0.zero_()
    kept: dict[str, Any] = {"state": None, "max": None}

    @torch.inference_mode()
    def push(x: np.ndarray) -> np.ndarray:
        values = model.encoder.input(torch.from_numpy(x.astype(np.float32))[None, None])
        outputs, kept["state"] = layer(values, kept["state"])
        best = outputs[:, -1]
        kept["max"] = best if kept["max"] is None else torch.maximum(best, kept["max"])
        return model.score(kept["max"]).softmax(-1).numpy()

    return push


def microseconds(push: Callable[[Any], Any], steps: list[Any], rounds: int) -> float:
    """The median over the steps of the best round: others may use the machine, too."""
    found = []
    for _ in range(rounds):
        own = []
        for step in steps:
            start = time.perf_counter()
            push(step)
            own.append(1e6 * (time.perf_counter() - start))
        found.append(median(own))
    return min(found)


def main() -> None:
    options = parser(__doc__, rounds=5).parse_args()
    machine = set_up(options)
    rounds = 1 if options.quick else options.rounds
    rows = []
    with TemporaryDirectory() as folder:
        rng = np.random.default_rng(2)
        for name, run in runs(Path(folder)).items():
            if run.task.reads_tokens:
                steps: list[Any] = list(rng.choice(list("abcdefgh "), STEPS))
            elif run.task.input == "audio":
                steps = [(block, RATE) for block in rng.normal(0, 0.1, (STEPS, BLOCK))]
            else:
                steps = list(rng.normal(size=(STEPS, len(run.task.input_field.channels))))
            stream = run.stream()
            found = {"push": microseconds(stream.push, steps, rounds)}
            if name.startswith(("classify", "tag", "forecast")):
                whole = np.stack(steps)
                found["all again"] = microseconds(run.predict, [[whole]] * 20, rounds)
            if name == "classify, lstm":
                check(run, steps)
                found["plain torch"] = microseconds(plain_torch(run), steps, rounds)
            shown = ", ".join(f"{what} {us:,.0f} us" for what, us in found.items())
            print(f"{name:<24}{shown}", flush=True)
            rows += [{"case": name, "name": what, "us": us} for what, us in found.items()]
    write_json(options.json, machine, rows)


def check(run: Any, steps: list[Any]) -> None:
    stream = run.stream()
    for step in steps:
        answer = stream.push(step)
    (whole,) = run.predict([np.stack(steps)])
    off = max(abs(p - whole.probabilities[name]) for name, p in answer.probabilities.items())
    if off > 1e-5:
        raise SystemExit(f"the stream gives something else: off by {off:.2g}")


if __name__ == "__main__":
    main()
