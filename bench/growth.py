"""How do the time and the memory of a training step grow with the length of the sequence?

    python bench/growth.py [--quick] [--json FILE] [--threads N] [--rounds N] [--only NAME,...]
                           [--batch 16] [--hidden 256] [--steps 128,512,...] [--skip time|memory]

A training step is one forward and backward pass, with the gradient of the input, through one layer,
in fp32; of a cell whose name has " bf16" behind it under autocast.
Time: contestants take turns in one process; printed is the median time a token, the best, and how
many times as fast as torch.nn.LSTM that is at the same length. Memory: every contestant and length
has a process of its own, in which the peak of resident memory is read before the step, after a tiny
one that loads the kernels, and after it; printed is the difference in MB, beside that of the LSTM.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from timing import best_ratio, parser, ratio, set_up, take_turns, write_json
from unspool.nn import Recurrent

BASE = "torch.nn.LSTM"
OURS = ("lstm", "gru", "mingru", "minlstm", "lstm bf16", "mingru bf16", "minlstm bf16")
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


class Setting(NamedTuple):
    batch: int
    steps: int
    hidden: int


def make(name: str, hidden: int) -> nn.Module:
    if name == BASE:
        return nn.LSTM(hidden, hidden, batch_first=True)
    return Recurrent(name.split()[0], hidden, hidden)


def training_step(name: str, model: nn.Module, x: Tensor) -> None:
    model.zero_grad()
    x.grad = None
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=name.endswith("bf16")):
        y = model(x)[0]
    y.sum().backward()


def seconds(setting: Setting, names: list[str], rounds: int) -> dict[str, list[float]]:
    torch.manual_seed(1)
    x = torch.randn(*setting, requires_grad=True)
    works = {name: partial(training_step, name, make(name, setting.hidden), x) for name in names}
    return take_turns(works, rounds)


def peak_memory(name: str, setting: Setting) -> float:
    """MB that one step adds to the peak of this process."""
    model = make(name, setting.hidden)
    training_step(name, model, torch.randn(1, 2, setting.hidden, requires_grad=True))
    x = torch.randn(*setting, requires_grad=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    training_step(name, model, x)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * UNIT / 1e6


def peak_elsewhere(name: str, setting: Setting, threads: int) -> float:
    """`peak_memory` in a fresh process."""
    command = [sys.executable, __file__, "--peak", json.dumps([name, setting])]
    command += ["--threads", str(threads)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def compare_memory(settings: list[Setting], names: list[str], threads: int) -> list[dict[str, Any]]:
    rows = []
    print(f"\npeak memory of one step\n{'':<8}{'':<16}{'MB':>9}{'of ' + BASE:>18}")
    for setting in settings:
        peaks = {name: peak_elsewhere(name, setting, threads) for name in names}
        for name, peak in peaks.items():
            share = peak / peaks[BASE] if peaks[BASE] else float("nan")
            print(f"T {setting.steps:<6}{name:<16}{peak:>9,.0f}{share:>18.2f}", flush=True)
            rows.append({**setting._asdict(), "name": name, "peak_mb": peak, "share": share})
    return rows


def compare_time(settings: list[Setting], names: list[str], rounds: int) -> list[dict[str, Any]]:
    rows = []
    titles = f"{'us a token':>11}{'best':>9}{'tokens/s':>11}{'x ' + BASE:>17}{'by best':>9}"
    print(f"\ntime of a training step\n{'':<8}{'':<16}{titles}")
    for setting in settings:
        tokens = setting.batch * setting.steps
        measured = seconds(setting, names, rounds)
        for name, times in measured.items():
            faster, by_best = ratio(measured[BASE], times), best_ratio(measured[BASE], times)
            print(
                f"T {setting.steps:<6}{name:<16}{1e6 * median(times) / tokens:>11.2f}"
                f"{1e6 * min(times) / tokens:>9.2f}{tokens / median(times):>11,.0f}"
                f"{faster:>17.2f}{by_best:>9.2f}",
                flush=True,
            )
            rows.append({**setting._asdict(), "name": name, "ratio": faster, "seconds": times})
    return rows


def main() -> None:
    arguments = parser(__doc__, rounds=5)
    arguments.add_argument("--batch", type=int, default=16)
    arguments.add_argument("--hidden", type=int, default=256)
    arguments.add_argument("--steps", default="128,512,1024,2048,4096,8192")
    arguments.add_argument("--only", default=",".join(OURS), help="cells, separated by commas")
    arguments.add_argument("--skip", choices=["time", "memory"])
    arguments.add_argument("--peak", type=json.loads, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.peak:
        torch.set_num_threads(options.threads)
        print(peak_memory(options.peak[0], Setting(*options.peak[1])))
        return
    machine = set_up(options)
    batch, hidden, steps = options.batch, options.hidden, options.steps
    if options.quick:
        batch, hidden, steps = 4, 32, "32,256"
    settings = [Setting(batch, int(each), hidden) for each in steps.split(",")]
    names = [BASE, *options.only.split(",")]
    print(f"B {batch}, H {hidden}")
    # Memory first: a process inherits the peak of the one that starts it.
    rows: list[dict[str, Any]] = []
    if options.skip != "memory":
        rows += compare_memory(settings, names, machine["threads"])
    if options.skip != "time":
        rows += compare_time(settings, names, options.rounds)
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
