"""Training on several processes is training on one: the same losses and weights, stops and resumes;
a process that is killed, or hangs, ends all in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from every_task_together import CASES, train, write_data

from reviews import write_reviews
from unspool.training.tensors import load_tensors
from unspool.training.trainer import CLOCK_FIELDS

UNSPOOL = [sys.executable, "-m", "unspool"]
SETTINGS = {"epochs": 2, "hidden": 8, "embedding": 8, "batch": 12, "log_steps": 1, "threads": 1,
            "checkpoint_seconds": 1, "baseline": "false", "precision": "fp32"}  # fmt: skip


def arguments(**settings: Any) -> list[str]:
    chosen = {**SETTINGS, **settings}
    return [part for name, value in chosen.items() for part in ("--set", f"{name}={value}")]


def outcome(path: Path) -> tuple[dict[str, torch.Tensor], list[dict[str, Any]]]:
    tensors, _ = load_tensors(path / "model.safetensors")
    log = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    return tensors, [{k: v for k, v in r.items() if k not in CLOCK_FIELDS} for r in log]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **more}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    write_reviews(path, 240)
    return str(path)


def test_every_task_on_two_processes_of_torchrun(tmp_path) -> None:
    """fp32, without dropout: the losses and weights of one process with the same batches."""
    data = {str(case): write_data(case.config(), tmp_path / "data" / str(case)) for case in CASES}
    (tmp_path / "data.json").write_text(json.dumps(data))
    script = str(Path(__file__).with_name("every_task_together.py"))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", script]
    together = subprocess.Popen(
        [*command, str(tmp_path), "two"],
        env=environment(GLOO_SOCKET_IFNAME="lo"),
        stderr=subprocess.PIPE,
        text=True,
    )
    for case in CASES:
        train(case, data[str(case)], tmp_path / "one" / str(case))
    _, errors = together.communicate(timeout=600)
    assert together.returncode == 0, errors[-2000:]
    for case in CASES:
        weights, log = outcome(tmp_path / "one" / str(case))
        others, again = outcome(tmp_path / "two" / str(case))
        for record, other in zip(log, again, strict=True):
            assert record.keys() == other.keys()
            if record.get("loss") is not None:  # of a batch with anything to predict
                assert other["loss"] == pytest.approx(record["loss"], rel=1e-5, abs=1e-5)
        for name, tensor in weights.items():
            torch.testing.assert_close(others[name], tensor, rtol=1e-5, atol=1e-5)


def test_two_processes_stop_and_resume(reviews, tmp_path) -> None:
    """To the bit with as many processes; with another number nearly so."""
    more = [*arguments(dropout=0), "--model", "lstm"]
    whole = tmp_path / "whole"
    command = [*UNSPOOL, "train", reviews, *more, "--processes", "2", "--out"]
    done = subprocess.run([*command, whole], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "processes: 2, 1 threads each" in done.stderr
    part = tmp_path / "part"
    with subprocess.Popen(
        [*command, part], env=environment(), stderr=subprocess.PIPE, text=True
    ) as running:
        while not (part / "metrics.jsonl").exists() or not (part / "metrics.jsonl").read_text():
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        errors = running.stderr.read() if running.stderr else ""
    assert running.returncode in (0, 130), errors
    resume = [*UNSPOOL, "train", "--resume", "--out", part]
    if running.returncode == 130:
        assert "Traceback" not in errors
        subprocess.run(resume, env=environment(), check=True, capture_output=True)
    weights, log = outcome(whole)
    others, again = outcome(part)
    assert again == log
    assert all(torch.equal(others[name], tensor) for name, tensor in weights.items())


@pytest.mark.parametrize("harm", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hangs"])
def test_a_lost_process_ends_all(reviews, tmp_path, harm) -> None:
    run = tmp_path / "run"
    command = [*UNSPOOL, "train", reviews, *arguments(epochs=200, patience=0), "--model", "lstm"]
    env = environment(UNSPOOL_PROCESS_TIMEOUT="8")
    with subprocess.Popen(
        [*command, "--processes", "2", "--out", run], env=env, stderr=subprocess.PIPE, text=True
    ) as running:
        while not (run / "metrics.jsonl").exists() or not (run / "metrics.jsonl").read_text():
            assert running.poll() is None
            time.sleep(0.01)
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        (other,) = [int(pid) for pid in children if b"spawn_main" in command_line(int(pid))]
        os.kill(other, harm)
        errors = running.stderr.read() if running.stderr else ""
    assert running.returncode == 1
    lines = [line for line in errors.splitlines() if line.startswith("unspool: process")]
    how = "has ended (killed by signal 9)" if harm == signal.SIGKILL else "has not answered for 8 s"
    assert len(lines) == 1, errors
    assert "process 2 of 2" in lines[0]
    assert how in lines[0]
    assert "--resume" in lines[0]
    assert "Traceback" not in errors
    assert command_line(other) == b""


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
