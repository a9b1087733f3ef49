"""How fast is a training step of each cell, measured against torch.nn?

Every contestant runs one forward and backward pass over a batch (B, T, H inputs) through one layer
of H units; rounds interleave all contestants in one process, so that a change in the machine's
speed meets them all. Printed: the median tokens/s, and that of torch.nn.LSTM divided into it.

    python bench/recurrent.py [--quick] [--json FILE] [--threads N] [--rounds N] [--only NAME,...]
                              [--precision fp32,bf16]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from unspool.nn import CELLS, Recurrent

# Beyond the defaults of every cell: other options, and the reference loop where auto is faster.
EXTRA = {
    "gru reset=before": ("gru", {"reset": "before"}, "auto"),
    "elman loop": ("elman", {}, False),
    "lstm loop": ("lstm", {}, False),
    "coupled loop": ("coupled", {}, False),
    "gru loop": ("gru", {}, False),
    "mingru loop": ("mingru", {}, False),
}
TORCH = {"torch.nn.LSTM": nn.LSTM, "torch.nn.GRU": nn.GRU, "torch.nn.RNN": nn.RNN}
BASE = "torch.nn.LSTM"


class Setting(NamedTuple):
    batch: int
    steps: int
    hidden: int
    precision: str  # fp32 or bf16
    ragged: bool

    def __str__(self) -> str:
        lengths = "ragged" if self.ragged else "full"
        return f"B {self.batch}, T {self.steps}, H {self.hidden}, {self.precision}, {lengths}"


def contestants(setting: Setting) -> dict[str, nn.Module]:
    H = setting.hidden
    models: dict[str, nn.Module] = {}
    for name, module in TORCH.items():
        models[name] = module(H, H, batch_first=True)
    for name in CELLS:
        models[name] = Recurrent(name, H, H)
    for name, (cell, options, fast) in EXTRA.items():
        models[name] = Recurrent(cell, H, H, options=options, fast=fast)
    return models


def training_step(model: nn.Module, x: Tensor, lengths: Tensor | None, precision: str) -> None:
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
        if isinstance(model, Recurrent):
            outputs = model(x, lengths).outputs
        elif lengths is None:
            outputs = model(x)[0]
        else:  # as torch's users do it
            packed = nn.utils.rnn.pack_padded_sequence(
                x, lengths, batch_first=True, enforce_sorted=False
            )
            outputs, _ = nn.utils.rnn.pad_packed_sequence(model(packed)[0], batch_first=True)
    outputs.float().sum().backward()


def measure(setting: Setting, rounds: int, chosen: Callable[[str], bool]) -> dict[str, list[float]]:
    """Seconds of every round for every contestant; one round more is run first and not counted."""
    torch.manual_seed(1)
    x = torch.randn(setting.batch, setting.steps, setting.hidden, requires_grad=True)
    lengths = None
    if setting.ragged:
        lengths = torch.randint(setting.steps // 4, setting.steps + 1, (setting.batch,))
        lengths[0] = setting.steps
    models = {name: model for name, model in contestants(setting).items() if chosen(name)}
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(rounds + 1):
        for name, model in models.items():
            start = time.perf_counter()
            training_step(model, x, lengths, setting.precision)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def report(setting: Setting, seconds: dict[str, list[float]]) -> Iterator[dict]:
    print(f"\n{setting}")
    print(f"{'':<20} {'tokens/s':>10} {'slowest':>10} {'fastest':>10} {'x ' + BASE:>16}")
    tokens = setting.batch * setting.steps
    base = statistics.median(seconds[BASE])
    for name, times in seconds.items():
        median = statistics.median(times)
        print(
            f"{name:<20} {tokens / median:>10,.0f} {tokens / max(times):>10,.0f}"
            f" {tokens / min(times):>10,.0f} {base / median:>16.2f}",
            flush=True,
        )
        yield {
            **setting._asdict(),
            "name": name,
            "tokens_per_second": tokens / median,
            "ratio": base / median,
            "seconds": times,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0, help="0: torch's choice")
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--precision", default="fp32,bf16")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)

    batch, steps, sizes = (8, 16, [32]) if arguments.quick else (64, 128, [256, 512])
    settings = [
        Setting(batch, steps, hidden, precision, ragged)
        for hidden in sizes
        for precision in arguments.precision.split(",")
        for ragged in (False, True)
    ]
    only = {BASE, *filter(None, arguments.only.split(","))}
    machine = {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "rounds": arguments.rounds,
    }
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    print("medians; ragged counts padding as tokens, for all alike")
    rows: list[dict] = []
    for setting in settings:
        seconds = measure(setting, arguments.rounds, lambda name: len(only) == 1 or name in only)
        rows.extend(report(setting, seconds))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
