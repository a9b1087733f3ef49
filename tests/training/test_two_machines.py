"""Two machines, shown as two network namespaces, train one model with torchrun."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from reviews import write_reviews
from unspool.training.tensors import load_tensors

COMMAND = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1",
           "--master-addr", "10.77.0.1", "--master-port", "29511"]  # fmt: skip
SETTINGS = {"epochs": 1, "hidden": 8, "embedding": 8, "threads": 1, "dropout": 0, "word_dropout": 0,
            "precision": "fp32", "baseline": "false", "optimizer": "sgd"}  # fmt: skip


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def machines() -> Iterator[list[tuple[str, str]]]:
    """The name of each namespace and of its network interface."""
    if shutil.which("ip") is None or os.getuid() != 0:
        pytest.skip("needs root and iproute2")
    names = [(f"unspool{os.getpid()}{side}", f"us{os.getpid() % 10000}{side}") for side in "ab"]
    try:
        for name, _ in names:
            ip("netns", "add", name)
        ip("link", "add", names[0][1], "type", "veth", "peer", "name", names[1][1])
        for number, (name, link) in enumerate(names, 1):
            ip("link", "set", link, "netns", name)
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", link)
            for device in (link, "lo"):
                ip("-n", name, "link", "set", device, "up")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    try:
        yield names
    finally:
        for name, _ in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def test_two_machines_are_one(machines, tmp_path) -> None:
    data = str(write_reviews(tmp_path / "reviews.csv", 120))
    chosen = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    train = ["unspool", "train", data, "--model", "lstm", *chosen, "--out"]
    running = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *COMMAND, "--node-rank", str(rank), "-m", *train,
             str(tmp_path / "two")],
            env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": link},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, (name, link) in enumerate(machines)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], outputs
    assert "accuracy" in outputs[0][0]
    assert outputs[1][0] == ""
    alone = [sys.executable, "-m", *train, str(tmp_path / "one")]
    subprocess.run(alone, check=True, capture_output=True)
    weights, _ = load_tensors(tmp_path / "one" / "model.safetensors")
    others, _ = load_tensors(tmp_path / "two" / "model.safetensors")
    for name, tensor in weights.items():
        torch.testing.assert_close(others[name], tensor, rtol=1e-5, atol=1e-5)
