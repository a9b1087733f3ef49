"""Stopping, killing, damaging and resuming a run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import unspool
from unspool.errors import RunError, TrainingError
from unspool.tasks.classify import Classify
from unspool.training.checkpoint import checkpoints, flatten_carry, unflatten_carry
from unspool.training.progress import Silent
from unspool.training.signals import stop_on_signals

sys.path.insert(0, str(Path(__file__).parent))
from kill_runs import fingerprint

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "batch": 8, "epochs": 2, "patience": 0}


KILLED = [
    "lstm-generate",
    "lstm-classify",
    "gru-classify",
    "mingru-generate",
    "transformer-generate",
    "transformer-classify",
    "transformer-pretrain",
]


def test_killed_runs_resume_to_the_bit(tmp_path) -> None:
    """For twenty kills: `python tests/training/kill_runs.py DIR 20 lstm-generate`."""
    script = Path(__file__).with_name("kill_runs.py")
    done = subprocess.run(
        [sys.executable, script, tmp_path, "2", *KILLED], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f"{report['cell']}-{report['task']}" for report in reports] == KILLED
    assert [report["killed"] for report in reports] == [2] * len(KILLED)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_and_says_how_to_go_on(number, code, book, tmp_path) -> None:
    out = tmp_path / "run"
    settings = [f"--set={k}={v}" for k, v in {**SMALL, "epochs": 5000, "hidden": 16}.items()]
    command = [sys.executable, "-m", "unspool", "train", book, "-t", "generate", "-o", out]
    process = subprocess.Popen([*command, *settings], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (out / "metrics.jsonl").exists() or not (out / "metrics.jsonl").stat().st_size:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    last = errors.strip().splitlines()[-1]
    assert f"unspool train --resume --out {out}" in last
    assert "Traceback" not in errors
    assert len(checkpoints(out / "checkpoints")) >= 1


def train_whole(reviews, out, **more):
    return unspool.train(reviews, out=out, **{**SMALL, **more})


@pytest.fixture
def halfway(reviews, tmp_path, monkeypatch):
    """A run with two checkpoints, stopped in its second epoch, and the same run unbroken."""
    from unspool.training import trainer

    train_whole(reviews, tmp_path / "whole", checkpoint_seconds=0)
    real = trainer.Trainer._step
    seen = []

    def limited(self):
        seen.append(1)
        if len(seen) > 35:
            raise InterruptedError
        return real(self)

    monkeypatch.setattr(trainer.Trainer, "_step", limited)
    with pytest.raises(InterruptedError):
        train_whole(reviews, tmp_path / "run", checkpoint_seconds=0)
    monkeypatch.undo()
    assert len(checkpoints(tmp_path / "run" / "checkpoints")) == 2
    return tmp_path


def resume(folder: Path) -> Silent:
    watcher = Silent()
    unspool.train(out=folder, resume=True, watcher=watcher)
    return watcher


def test_resume_in_the_middle_of_an_epoch(halfway) -> None:
    resume(halfway / "run")
    assert fingerprint(halfway / "run") == fingerprint(halfway / "whole")


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_checkpoint_is_named_and_passed_over(damage: str, halfway) -> None:
    newest = checkpoints(halfway / "run" / "checkpoints")[0]
    whole = newest.read_bytes()
    middle = len(whole) // 2
    newest.write_bytes(
        {
            "cut": whole[:middle],
            "flip": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "empty": b"",
        }[damage]
    )
    notes = resume(halfway / "run").notes
    assert any(newest.name in note and "damaged" in note for note in notes)
    assert fingerprint(halfway / "run") == fingerprint(halfway / "whole")


def test_all_checkpoints_damaged(halfway) -> None:
    for path in checkpoints(halfway / "run" / "checkpoints"):
        path.write_bytes(b"junk")
    with pytest.raises(RunError, match="every checkpoint is damaged"):
        resume(halfway / "run")


def test_half_written_files_are_swept_up(halfway) -> None:
    part = halfway / "run" / "checkpoints" / ".step-000000099.safetensors.1.part"
    part.write_bytes(b"half")
    resume(halfway / "run")
    assert not part.exists()


def test_resuming_a_finished_run_changes_nothing(halfway) -> None:
    before = fingerprint(halfway / "whole")
    resume(halfway / "whole")
    assert fingerprint(halfway / "whole") == before


def test_resume_refuses_changed_data(reviews, tmp_path) -> None:
    data = shutil.copy(reviews, tmp_path / "data.csv")
    train_whole(data, tmp_path / "run")
    with open(data, "a") as file:
        file.write("one more,pos\n")
    with pytest.raises(RunError, match="the train data have changed since the run began"):
        resume(tmp_path / "run")


def poisoned(bad_steps: set[int]):
    real, calls = Classify.loss, []

    def loss(self, model, batch, carry):
        calls.append(1)
        step = real(self, model, batch, carry)
        return step._replace(loss=step.loss * float("nan")) if len(calls) in bad_steps else step

    return loss


def test_a_non_finite_loss_is_named_and_skipped(reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Classify, "loss", poisoned({3, 5, 6}))
    watcher = Silent()
    run = unspool.train(reviews, out=tmp_path / "run", watcher=watcher, **SMALL)
    assert len(watcher.notes) == 3
    assert "loss is not finite at epoch 1, batch 3 (data lines" in watcher.notes[0]
    assert run.counters.skipped == 3
    assert all(p.isfinite().all() for p in run.model.parameters())


def test_many_non_finite_losses_stop_the_run_with_advice(reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Classify, "loss", poisoned(set(range(10, 99))))
    with pytest.raises(TrainingError, match=r"not finite 5 times in a row.*Lower train\.lr"):
        unspool.train(reviews, out=tmp_path / "run", **SMALL)


def test_a_full_disk_costs_a_checkpoint_not_the_run(reviews, tmp_path) -> None:
    """A limit on file sizes stands in for the full disk: the kernel refuses the same writes."""
    script = f"""
import resource, signal, sys, unspool
from unspool.training import trainer
from unspool.training.progress import Silent
from unspool.training.signals import stop_on_signals
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
watcher, steps, real = Silent(), [], trainer.Trainer._step
def step(self):
    steps.append(1)
    limit = 2000 if 5 <= len(steps) < 40 else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    return real(self)
trainer.Trainer._step = step
unspool.train({str(reviews)!r}, out={str(tmp_path / "run")!r}, watcher=watcher,
              checkpoint_seconds=0, log_steps=100000, **{SMALL!r})
print("\\n".join(watcher.notes))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cannot write a checkpoint (File too large); training goes on" in done.stdout
    assert unspool.load(tmp_path / "run").evaluate(reviews).metrics["accuracy"] > 0.4
    train_whole(reviews, tmp_path / "whole", checkpoint_seconds=0, log_steps=100000)
    assert fingerprint(tmp_path / "run")["weights"] == fingerprint(tmp_path / "whole")["weights"]


def test_a_disk_that_stays_full_is_an_error_that_says_how_to_go_on(reviews, tmp_path) -> None:
    script = f"""
import resource, signal, unspool.cli, sys
from unspool.training import trainer
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
real = trainer.Trainer._step
def step(self):
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
    return real(self)
trainer.Trainer._step = step
words = ["train", {str(reviews)!r}, "-o", {str(tmp_path / "run")!r}, "-s", "epochs=1"]
sys.exit(unspool.cli.run(words))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "cannot save the trained model (File too large)" in done.stderr
    assert "Traceback" not in done.stderr


def test_carried_state_survives_flattening() -> None:
    state = (((torch.ones(2), torch.zeros(3)),), ((torch.arange(2),),))
    flat = flatten_carry(state)
    again = unflatten_carry(json.loads(json.dumps(flat.shape)), iter(flat.tensors))
    assert again[0][0][0] is state[0][0][0]
    assert again[1][0][0] is state[1][0][0]
    assert unflatten_carry(flatten_carry(None).shape, iter(())) is None


def test_the_clipped_norm_is_logged_before_clipping(reviews, tmp_path) -> None:
    run = unspool.train(reviews, out=tmp_path / "r", clip=1e-4, log_steps=1, **SMALL)
    norms = [r["grad_norm"] for r in run.metrics() if "grad_norm" in r]
    assert min(norms) > 1e-3


def test_tensorboard_events(reviews, tmp_path) -> None:
    pytest.importorskip("tensorboard")
    unspool.train(reviews, out=tmp_path / "r", tensorboard=True, **{**SMALL, "epochs": 1})
    assert list((tmp_path / "r" / "tensorboard").glob("events.*"))


def test_signal_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
