"""A decoder-only model of the same size, trained by nanoGPT and by unspool on tiny Shakespeare.

    python bench/nanogpt.py PATH        # PATH: a local copy of github.com/karpathy/nanoGPT

nanoGPT's CPU setting: 4 layers, 4 heads, width 128, context 64, batch 12, 2000 steps, no dropout.
Each contestant trains in a process of its own, with the same number of threads, in turns. For both
the time is that of a step without validation (median over the steps or log lines) and of the whole
process; the loss is the mean over random windows of the validation part, every position counted,
as nanoGPT computes it. The loss that unspool itself reports is lower: it gives every prediction at
least half a context. nanoGPT computes in float32 on a CPU; unspool takes part in float32 too, and
with precision=bf16 where the processor multiplies bfloat16.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from timing import DATA, parser, set_up
from unspool.api.run import Run, load
from unspool.data.fields.tokens import Tokens
from unspool.data.store.ragged import Ragged
from unspool.data.streams import WindowBatches
from unspool.nn.models.language_model import NextTokenModel
from unspool.tasks.planner import open_plan
from unspool.tasks.task import encode_plan
from unspool.training.machine import resolve_precision

LAYERS, HEADS, WIDTH, CONTEXT, BATCH, STEPS = 4, 4, 128, 64, 12, 2000
WINDOWS = 200  # batches that the loss is the mean of
EVERY = 250  # steps between validations: nanoGPT's


class Outcome(NamedTuple):
    """What one training gives."""

    loss: float  # on the validation part
    step: float  # seconds, median
    wall: float  # seconds of the whole process


def call(command: Sequence[str | Path], folder: Path, threads: int) -> tuple[str, float]:
    """(stdout, seconds) of a command."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stderr[-2000:]}")
    return done.stdout, time.perf_counter() - start


def prepare(copy: Path, text: Path, folder: Path) -> None:
    """What train.py looks for where it runs, and the data as nanoGPT's own script makes them."""
    data = folder / "data" / "shakespeare_char"
    data.mkdir(parents=True)
    shutil.copy(text, data / "input.txt")
    shutil.copy(copy / "data" / "shakespeare_char" / "prepare.py", data)
    (data / "requests.py").touch()  # imported for a download that is not needed
    shutil.copy(copy / "configurator.py", folder)
    call([sys.executable, data / "prepare.py"], folder, 1)


def nanogpt(copy: Path, folder: Path, steps: int, threads: int) -> Outcome:
    command = [
        sys.executable,
        copy / "train.py",
        copy / "config" / "train_shakespeare_char.py",
        "--device=cpu",
        "--compile=False",
        "--eval_iters=20",
        "--log_interval=1",
        f"--eval_interval={EVERY}",
        f"--block_size={CONTEXT}",
        f"--batch_size={BATCH}",
        f"--n_layer={LAYERS}",
        f"--n_head={HEADS}",
        f"--n_embd={WIDTH}",
        f"--max_iters={steps}",
        f"--lr_decay_iters={steps}",
        "--dropout=0.0",
    ]
    said, wall = call(command, folder, threads)
    losses = re.findall(r"val loss ([\d.]+)", said)
    times = re.findall(r"iter (\d+): .* time ([\d.]+)ms", said)
    plain = [float(ms) / 1000 for step, ms in times if int(step) % EVERY]
    return Outcome(float(losses[-1]), statistics.median(plain), wall)


def unspool(text: Path, folder: Path, steps: int, threads: int, precision: str) -> Outcome:
    run = folder / "unspool"
    shutil.rmtree(run, ignore_errors=True)
    settings = {
        "layers": LAYERS,
        "heads": HEADS,
        "hidden": WIDTH,
        "bptt": CONTEXT,
        "batch": BATCH,
        "max_steps": steps,
        "dropout": 0,
        "positions": "learned",
        "tied": "true",
        "threads": threads,
        "precision": precision,
        "log_steps": 1,
    }
    command = [sys.executable, "-m", "unspool", "train", text, "--task", "generate"]
    command += ["--model", "transformer", "--out", run]
    command += [f"--set={name}={value}" for name, value in settings.items()]
    _, wall = call(command, folder, threads)
    trained = load(run)
    speeds = [r["tokens_per_second"] for r in trained.metrics() if r.get("tokens_per_second")]
    return Outcome(loss(trained, text), BATCH * CONTEXT / statistics.median(speeds), wall)


def loss(run: Run, text: Path) -> float:
    """Of the last tenth of the text, as nanoGPT estimates it."""
    part, _ = encode_plan(run.task, open_plan(text, run.config.data, task="generate"))
    assert isinstance(run.model, NextTokenModel)
    tokens = part["text"]
    size = int(tokens.sizes[0])
    last = Tokens(Ragged.of([tokens.slice(0, size * 9 // 10, size)]))
    batches = WindowBatches(last, size=BATCH, length=CONTEXT, seed=1)
    losses = []
    with torch.inference_mode():
        for step in range(WINDOWS):
            batch = batches.batch(0, step)
            outputs, _ = run.model.read(batch.ids, None)
            losses.append(run.model.output.token_losses(outputs, batch.targets).mean().item())
    return statistics.mean(losses)


def main() -> None:
    options = parser(__doc__, rounds=1)
    options.add_argument("path", type=Path, help="a local copy of nanoGPT")
    given = options.parse_args()
    machine = set_up(given)
    steps = 20 if given.quick else STEPS
    text = DATA / "lm" / "tinyshakespeare" / "input.txt"
    threads = torch.get_num_threads()
    ours = {f"unspool {p}": p for p in dict.fromkeys(["fp32", resolve_precision("auto")])}
    rounds: dict[str, list[Outcome]] = {name: [] for name in ("nanoGPT", *ours)}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        prepare(given.path.resolve(), text, folder)
        for _ in range(given.rounds):
            rounds["nanoGPT"].append(nanogpt(given.path.resolve(), folder, steps, threads))
            for name, precision in ours.items():
                rounds[name].append(unspool(text, folder, steps, threads, precision))
    medians: dict[str, Any] = {
        name: Outcome(*(statistics.median(column) for column in zip(*outcomes)))
        for name, outcomes in rounds.items()
    }
    print(f"{'':14}{'valid loss':>12}{'ms a step':>12}{'ratio':>8}{'process, s':>12}{'ratio':>8}")
    base = medians["nanoGPT"]
    for name, outcome in medians.items():
        print(
            f"{name:14}{outcome.loss:12.4f}{outcome.step * 1000:12.2f}"
            f"{base.step / outcome.step:8.2f}"
            f"{outcome.wall:12.1f}{base.wall / outcome.wall:8.2f}"
        )
    if given.json:
        figures = {name: outcome._asdict() for name, outcome in medians.items()}
        given.json.write_text(json.dumps({"machine": machine, "steps": steps, **figures}, indent=1))


if __name__ == "__main__":
    main()
