"""What the speed benchmarks share: taking turns, a line about the machine, common options.

Contestants are functions without arguments that do one piece of work. They take turns in one
process, so that a change in the machine's speed meets them all.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

Work = Callable[[], object]
Name = TypeVar("Name")
DATA = Path(os.environ.get("UNSPOOL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


def take_turns(contestants: Mapping[Name, Work], rounds: int) -> dict[Name, list[float]]:
    """Seconds of every round for every contestant; one round more is run first and not counted."""
    seconds: dict[Name, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, work in contestants.items():
            start = time.perf_counter()
            work()
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(base: Sequence[float], times: Sequence[float]) -> float:
    """How many times as fast as the base, by the medians."""
    return statistics.median(base) / statistics.median(times)


def best_ratio(base: Sequence[float], times: Sequence[float]) -> float:
    return min(base) / min(times)


def parser(description: str | None, *, rounds: int) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    made.add_argument("--rounds", type=int, default=rounds)
    made.add_argument("--threads", type=int, default=0, help="0: torch's choice")
    made.add_argument("--json", type=Path, help="write all figures to this file")
    return made


def set_up(options: argparse.Namespace) -> dict[str, Any]:
    """Set the number of threads, print what the figures depend on, and return it."""
    if options.threads:
        torch.set_num_threads(options.threads)
        os.environ["NPROC"] = str(options.threads)  # JAX reads it when it is first imported
    machine = {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "rounds": options.rounds,
    }
    print(", ".join(f"{key} {value}" for key, value in machine.items()))
    return machine


def installed(*packages: str) -> bool:
    """Whether all are; if not, a line says which is missing."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: what needs {' and '.join(missing)}, not installed")
    return not missing


def write_json(path: Path | None, machine: Mapping[str, Any], rows: Sequence[Any]) -> None:
    if path is not None:
        path.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))
