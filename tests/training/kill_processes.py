"""Kill, or stop, one of the processes of a training at random moments; resume; compare.

    python tests/training/kill_processes.py FOLDER COUNT [--seed S]

Each time a training on two processes loses one of them (SIGKILL, or SIGSTOP in every fourth case).
Every other process must end within a bound, with at most one line each, and `--resume` must end
with the weights and the log of a training that nobody has disturbed, to the bit.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import torch
from test_processes import UNSPOOL, arguments, command_line, environment, outcome

from reviews import write_reviews

BOUND = 40.0  # seconds until all have ended
TIMEOUT = "5"


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed if b"spawn_main" in command_line(int(child))]


def disturb(command: list[str], rng: random.Random, number: int, seconds: float) -> str:
    """What was done, and what was printed."""
    env = environment(UNSPOOL_PROCESS_TIMEOUT=TIMEOUT)
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(rng.uniform(0.3, 1.1) * seconds)
        others = children(running.pid) if running.poll() is None else []
        if not others:
            return "ended before"
        victim = rng.choice([running.pid, *others])
        harm = signal.SIGSTOP if number % 4 == 3 else signal.SIGKILL
        os.kill(victim, harm)
        began, first = time.monotonic(), victim == running.pid
        rest = [pid for pid in (running.pid, *others) if pid != victim]
        while any(command_line(pid) for pid in rest):
            if time.monotonic() - began > BOUND:
                sys.exit(f"{number}: a process did not end within {BOUND:g} s")
            time.sleep(0.05)
        if first and harm == signal.SIGSTOP:
            os.kill(victim, signal.SIGKILL)
        errors = running.stderr.read() if running.stderr else ""
    lines = [line for line in errors.splitlines() if line.startswith("unspool: ")]
    if "Traceback" in errors or len(lines) > 1 or not (first or lines):
        sys.exit(f"{number}: {errors}")
    return f"{harm.name} of the {'first' if first else 'second'} process: {''.join(lines)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    data = str(write_reviews(options.folder / "reviews.csv", 240))
    command = [*UNSPOOL, "train", data, *arguments(epochs=30, patience=0), "--model", "lstm",
               "--processes", "2", "--out"]  # fmt: skip
    began = time.monotonic()
    whole = options.folder / "whole"
    subprocess.run([*command, str(whole)], env=environment(), check=True, capture_output=True)
    seconds, rng = time.monotonic() - began, random.Random(options.seed)
    weights, log = outcome(whole)
    for number in range(options.count):
        run = options.folder / f"run-{number}"
        done = disturb([*command, str(run)], rng, number, seconds)
        again = [*UNSPOOL, "train", "--resume", "--out", str(run)]
        if not (run / "config.json").exists():
            again = [*command, str(run)]
        subprocess.run(again, env=environment(), check=True, capture_output=True)
        others, other_log = outcome(run)
        same = log == other_log and all(torch.equal(others[n], t) for n, t in weights.items())
        print(f"{number}: {done}; {'the same' if same else 'OTHER WEIGHTS'}", flush=True)
        if not same:
            sys.exit(1)


if __name__ == "__main__":
    main()
