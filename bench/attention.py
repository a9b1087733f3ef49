"""What does attention cost as a text grows?

    python bench/attention.py [--quick] [--json FILE] [--threads N] [--rounds N] [--causal]
                              [--lengths 256,512,...,16384] [--window 128]

One sequence, four heads of 64 elements; queries, keys and values are given. Each kind of attention
of `unspool.nn` is measured as it runs when nothing is recorded, and full attention also with its
matrix of weights, up to 4,096 steps.

The kinds take turns at each length; printed are the medians of a forward pass without gradients and
of a forward and backward pass. Peak memory is that of a process of its own which takes one such
step, beyond what it had before it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from timing import parser, set_up, take_turns, write_json
from unspool.nn import HeadAttention, LinearAttention, ScaledDotProduct, SlidingWindow, record

HEADS, SIZE, MOST_EXPLICIT = 4, 64, 4096
KINDS = ("full", "full, with weights", "window", "linear")


def build(kind: str, window: int) -> HeadAttention:
    if kind == "window":
        return SlidingWindow(window)
    return LinearAttention() if kind == "linear" else ScaledDotProduct()


def draw(steps: int) -> list[Tensor]:
    return [torch.randn(1, HEADS, steps, SIZE, requires_grad=True) for _ in range(3)]


def forward(module: HeadAttention, qkv: list[Tensor], *, weights: bool, causal: bool) -> Tensor:
    if not weights:
        return module(*qkv, causal=causal)
    with record(module):
        return module(*qkv, causal=causal)


def read(module: HeadAttention, qkv: list[Tensor], **how: bool) -> None:
    with torch.inference_mode():
        forward(module, qkv, **how)


def train(module: HeadAttention, qkv: list[Tensor], **how: bool) -> None:
    for x in qkv:
        x.grad = None
    forward(module, qkv, **how).sum().backward()


def one_step(kind: str, steps: int, window: int, causal: bool) -> float:
    """Megabytes at the peak of a step, beyond what this process had before it."""
    module, how = build(kind, window), {"weights": "weights" in kind, "causal": causal}
    train(module, draw(64), **how)
    qkv = draw(steps)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = megabytes("VmRSS")
    train(module, qkv, **how)
    return megabytes("VmHWM") - before


def megabytes(field: str) -> float:
    """Of /proc/self/status. What getrusage calls the peak is the parent's, where that is higher."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def memory(kind: str, steps: int, options: Any) -> float:
    """`one_step` in a process of its own."""
    job = json.dumps([kind, steps, options.window, options.causal])
    done = subprocess.run(
        [sys.executable, __file__, "--step", job], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def measure(steps: int, options: Any) -> list[dict[str, Any]]:
    kinds = [kind for kind in KINDS if "weights" not in kind or steps <= MOST_EXPLICIT]
    qkv = draw(steps)
    modules = {kind: build(kind, options.window) for kind in kinds}
    found: dict[str, dict[str, list[float]]] = {}
    for name, work in (("forward", read), ("both", train)):
        turns = {
            kind: partial(work, module, qkv, weights="weights" in kind, causal=options.causal)
            for kind, module in modules.items()
        }
        found[name] = take_turns(turns, options.rounds)
    rows = []
    for kind in kinds:
        row = {
            "kind": kind,
            "steps": steps,
            "causal": options.causal,
            "forward": median(found["forward"][kind]),
            "forward_and_backward": median(found["both"][kind]),
            "peak_megabytes": memory(kind, steps, options),
            "seconds": {name: times[kind] for name, times in found.items()},
        }
        rows.append(row)
        print(
            f"{steps:>7,}  {kind:<20}{1000 * row['forward']:>10.2f}"
            f"{1000 * row['forward_and_backward']:>14.2f}{row['peak_megabytes']:>12,.0f}",
            flush=True,
        )
    return rows


def main() -> None:
    arguments = parser(__doc__, rounds=5)
    arguments.add_argument("--lengths", default="256,512,1024,2048,4096,8192,16384")
    arguments.add_argument("--window", type=int, default=128, help="steps seen to each side")
    arguments.add_argument("--causal", action="store_true")
    arguments.add_argument("--step", help="take one step and print its megabytes: used by itself")
    options = arguments.parse_args()
    if options.step:
        print(one_step(*json.loads(options.step)))
        return
    machine = set_up(options)
    lengths = "64,128" if options.quick else options.lengths
    print(f"\n{'steps':>7}  {'':<20}{'forward ms':>10}{'and back ms':>14}{'peak MB':>12}")
    rows: list[dict[str, Any]] = []
    for steps in map(int, lengths.split(",")):
        rows += measure(steps, options)
    write_json(options.json, machine, rows)


if __name__ == "__main__":
    main()
