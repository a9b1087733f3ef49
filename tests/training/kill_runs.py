"""Kill a run with SIGKILL at many moments, resume it each time, compare with an unbroken one.

    python tests/training/kill_runs.py FOLDER KILLS CELL-TASK...

Run as a process of its own: it forks, so that torch is imported once. Half of the kills come at a
random time, half inside the writing of a file: at the n-th fsync or rename. Prints one JSON line a
cell and task.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"  # a process that forks may have no threads

import torch

from unspool.api.train import train
from unspool.training.checkpoint import checkpoints
from unspool.training.tensors import load_tensors
from unspool.training.trainer import CLOCK_FIELDS


def make_data(folder: Path, task: str) -> Path:
    rng = random.Random(1)
    words = ["red", "green", "blue", "round", "flat", "not", "very", "so"]
    if task == "generate":
        path = folder / "text.txt"
        path.write_text(" ".join(rng.choice(words) for _ in range(1500)))
        return path
    path = folder / "rows.csv"
    rows = [" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(160)]
    path.write_text("text,label\n" + "".join(f"{row},{'ab'['red' in row]}\n" for row in rows))
    return path


def start(data: Path, out: Path, task: str, cell: str, *, resume: bool) -> None:
    if resume:
        train(out=out, resume=True)
        return
    settings = {
        "epochs": 3, "log_steps": 3, "dropout": 0.3, "batch": 8, "checkpoint_seconds": 0,
        "eval_steps": 7, "patience": 0, "threads": 1, "hidden": 12,
    }  # fmt: skip
    settings |= {"heads": 2} if cell == "transformer" else {"embedding": 8}
    settings |= {"bptt": 16} if task == "generate" else {}
    train(data, task=task, model=cell, out=out, **settings)


def die_at(call: int) -> None:
    """Make this process kill itself just before its n-th fsync or rename."""
    calls = 0

    def deadly(real):
        def wrapper(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return wrapper

    os.fsync, os.replace = deadly(os.fsync), deadly(os.replace)


def in_child(job, *, kill_after: float | None = None, kill_in_write: int | None = None) -> bool:
    """Run `job` in a forked process; True if it ended by itself."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if kill_in_write is not None:
                die_at(kill_in_write)
            job()
            code = 0
        finally:
            os._exit(code)
    if kill_after is not None:
        deadline = time.monotonic() + kill_after
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return finish(status)
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return finish(status)


def finish(status: int) -> bool:
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0, "the run failed"
    return True


def fingerprint(out: Path) -> dict[str, str]:
    """Hashes of the weights, of the last checkpoint and of the log, without the clock."""
    tensors, meta = load_tensors(checkpoints(out / "checkpoints")[0])
    meta["counters"].pop("seconds")
    meta["counters"].pop("log_bytes")  # the clock's figures vary in length
    state = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for name in sorted(tensors):
        state.update(name.encode() + tensors[name].numpy().tobytes())
    log = []
    for line in (out / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        log.append({key: value for key, value in record.items() if key not in CLOCK_FIELDS})
    return {
        "weights": hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest(),
        "checkpoint": state.hexdigest(),
        "log": hashlib.sha256(json.dumps(log).encode()).hexdigest(),
    }


def kill_and_resume(folder: Path, cell: str, task: str, kills: int) -> None:
    folder.mkdir(parents=True)
    data = make_data(folder, task)
    begun = time.monotonic()
    start(data, folder / "whole", task, cell, resume=False)  # here, so that all is imported once
    whole_time = time.monotonic() - begun
    expected = fingerprint(folder / "whole")

    rng = random.Random(7)
    out = folder / "broken"
    killed = inside = 0
    while killed < kills:
        resume = (out / "config.json").exists()
        job = partial(start, data, out, task, cell, resume=resume)
        in_write = rng.random() < 0.5
        if in_write:
            ended = in_child(job, kill_in_write=rng.randint(1, 40))
        else:
            ended = in_child(job, kill_after=rng.uniform(0.0, whole_time))
        if not ended:
            killed += 1
            inside += in_write
            continue
        assert fingerprint(out) == expected, "a resumed run differs from the unbroken one"
        out = folder / f"broken{killed}"
    if (out / "config.json").exists():
        assert in_child(lambda: start(data, out, task, cell, resume=True))
        assert fingerprint(out) == expected, "a resumed run differs from the unbroken one"
    print(json.dumps({"cell": cell, "task": task, "killed": killed, "inside_a_write": inside}))


def main() -> None:
    folder, kills, *names = sys.argv[1:]
    torch.set_num_threads(1)
    for name in names:
        cell, task = name.split("-")
        kill_and_resume(Path(folder) / name, cell, task, int(kills))


if __name__ == "__main__":
    main()
