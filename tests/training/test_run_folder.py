"""A run folder has one owner, and files that are checked; where it cannot be written, nothing that
could be saved is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import unspool
from unspool.cli import run as command
from unspool.errors import ConfigError, RunError, TrainingError
from unspool.io.files import write_json
from unspool.io.lock import LOCK, owned
from unspool.tasks.document import DocumentTask
from unspool.training import trainer
from unspool.training.progress import Log, Silent, read_log
from unspool.training.signals import Interrupted

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "batch": 8, "epochs": 2, "patience": 0}


def start(data: Path, out: Path, *more: str) -> subprocess.Popen:
    """`unspool train` that has begun and does not end by itself."""
    settings = [f"--set={k}={v}" for k, v in {**SMALL, "epochs": 50_000}.items()]
    words = [sys.executable, "-m", "unspool", "train", data, "--out", out, *settings, *more]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (out / "model.safetensors").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# One owner


def test_two_trainings_and_one_folder(reviews, tmp_path, capfd) -> None:
    out = tmp_path / "run"
    first = start(reviews, out)
    try:
        other = tmp_path / "other.csv"
        other.write_text(reviews.read_text().replace(",pos\n", ",good\n"))
        kept = {name: snapshot(out)[name] for name in ("labels.json", "config.json")}
        for words in (
            ["train", str(other), "--out", str(out)],
            ["train", "--resume", "--out", str(out)],
            ["embed", str(other), "--out", str(out)],
        ):
            assert command(words) == 2
            error = capfd.readouterr().err.splitlines()[-1]
            assert f"run: is held by process {first.pid} on " in error
            assert ", since 20" in error
            assert "Wait until it has ended, or give another --out" in error
        assert {name: snapshot(out)[name] for name in kept} == kept
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
    assert first.returncode == 143
    assert not (out / LOCK).exists()
    assert len(unspool.load(out).predict(["a good film"])) == 1


def test_a_dead_owner_is_followed(reviews, tmp_path) -> None:
    out = tmp_path / "run"
    first = start(reviews, out, "--set=max_steps=400")
    first.kill()
    first.communicate()
    assert (out / LOCK).exists()
    run = unspool.train(resume=True, out=out, quiet=True)
    assert run.counters.step == 400
    assert not (out / LOCK).exists()


def test_every_way_to_a_folder_is_held(reviews, tmp_path) -> None:
    """Folds, --model auto, compare and vectors, while another has the folder."""
    out = tmp_path / "run"
    out.mkdir()
    calls = {
        "folds": lambda: unspool.train(reviews, out=out, folds=2, **SMALL),
        "auto": lambda: unspool.train(reviews, out=out, model="auto", budget=5),
        "compare": lambda: unspool.compare(reviews, models=["elman"], out=out, **SMALL),
        "embed": lambda: unspool.embed.embed(reviews, out=out, size=4),
    }
    import unspool.embed

    with owned(out):
        for call in calls.values():
            with pytest.raises(RunError, match=f"is held by process {os.getpid()}"):
                call()
    assert os.listdir(out) == []


# Every file under a hash


@pytest.fixture
def copied(classifier, tmp_path) -> Path:
    return Path(shutil.copytree(classifier, tmp_path / "copy"))


CHECKED = ["config.json", "tokenizer.json", "labels.json", "calibration.json", "hashes.json"]


def test_what_a_run_left_that_was_killed_before_it_began(reviews, tmp_path) -> None:
    """Files that hashes.json lists, of whatever kind of input; nobody else's are touched."""
    out = tmp_path / "out"
    out.mkdir()
    write_json(out / "audio.json", {})
    (out / ".tokenizer.json.part").write_text("half")
    unspool.train(reviews, out=out, max_steps=1, **SMALL)
    assert not (out / "audio.json").exists()
    unspool.load(out).predict(["a"])
    other = tmp_path / "other"
    other.mkdir()
    (other / "audio.json").write_text("mine")
    with pytest.raises(RunError, match=r"holds other files.*got 'audio\.json'"):
        unspool.train(reviews, out=other, max_steps=1, **SMALL)
    assert (other / "audio.json").read_text() == "mine"


@pytest.mark.parametrize("name", [*CHECKED, "model.safetensors"])
def test_a_flipped_bit_is_never_another_answer(copied, name) -> None:
    texts = ["a good film", "the plot was dull"]
    wanted = [answer.to_json() for answer in unspool.load(copied).predict(texts)]
    content = (copied / name).read_bytes()
    for place in range(0, len(content), max(1, len(content) // 25)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        (copied / name).write_bytes(changed)
        try:
            found = [answer.to_json() for answer in unspool.load(copied).predict(texts)]
            assert (found, name) == (wanted, "hashes.json")  # a blank, for instance
        except RunError:
            continue


@pytest.mark.parametrize("name", ["evaluation.json", "rows.npy", "metrics.jsonl"])
def test_files_that_are_read_later(copied, reviews, name) -> None:
    content = bytearray((copied / name).read_bytes())
    content[-3] ^= 1
    (copied / name).write_bytes(content)
    run = unspool.load(copied)
    with pytest.raises(RunError, match=rf"{name}: damaged: its SHA-256"):
        _ = (run.report, run.metrics(), run.evaluate(reviews))


def test_a_damaged_list_of_rows(copied, reviews) -> None:
    (copied / "hashes.json").unlink()
    content = (copied / "rows.npy").read_bytes()
    (copied / "rows.npy").write_bytes(content.replace(b"}", b"{", 1))  # NumPy raises a TokenError
    with pytest.raises(RunError, match=r"rows\.npy: damaged: no list of rows"):
        unspool.load(copied).evaluate(reviews)


def test_a_lost_file_and_a_card_of_ones_own(copied, tmp_path) -> None:
    (copied / "README.md").write_text("mine")
    unspool.load(copied)
    (copied / "calibration.json").unlink()
    with pytest.raises(RunError, match=r"calibration\.json: missing from the run folder"):
        unspool.load(copied)


def test_without_hashes_it_is_said(copied) -> None:
    (copied / "hashes.json").unlink()
    notes: list[str] = []
    unspool.load(copied, note=notes.append)
    assert notes == [f"{copied}: no hashes.json, so its files are taken as they are"]
    unspool.train(resume=True, out=copied, quiet=True)
    assert set(json.loads((copied / "hashes.json").read_text())) >= {"config.json", "labels.json"}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory, book) -> Path:
    from unspool.embed import embed

    out = tmp_path_factory.mktemp("vectors") / "words"
    embed(book, out=out, size=8, epochs=1, min_count=1, quiet=True)
    return out


def test_vectors_stand_under_a_hash(vectors, tmp_path, capfd) -> None:
    copy = Path(shutil.copytree(vectors, tmp_path / "words"))
    assert command(["vectors", "neighbours", str(copy), "good"]) == 0
    content = bytearray((copy / "vectors.safetensors").read_bytes())
    content[-len(content) // 2] ^= 1
    (copy / "vectors.safetensors").write_bytes(content)
    capfd.readouterr()
    assert command(["vectors", "neighbours", str(copy), "good"]) == 2
    assert "vectors.safetensors: damaged: its SHA-256" in capfd.readouterr().err


# Only regular files


@pytest.mark.parametrize("kind", ["pipe", "device", "endless", "deep", "digits"])
@pytest.mark.parametrize("hashes", [True, False])
def test_what_is_no_file_of_a_run(copied, kind, hashes, capfd) -> None:
    names = [*CHECKED[: 5 if hashes else 4], "model.safetensors"]
    if not hashes:
        (copied / "hashes.json").unlink()
    for name in names:
        path = copied / name
        content = path.read_bytes()
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "endless":
            with open(path, "wb") as file:
                file.truncate(1 << 42)
        else:
            path.write_bytes({"deep": b"[" * 100_000, "digits": b"[" + b"7" * 5000 + b"]"}[kind])
        assert command(["predict", str(copied), "a fine film"]) == 2
        error = capfd.readouterr().err
        assert f"{name}: " in error
        assert "Traceback" not in error
        path.unlink()
        path.write_bytes(content)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_vectors_and_logs_that_are_no_files(vectors, copied, tmp_path, kind, capfd) -> None:
    words = Path(shutil.copytree(vectors, tmp_path / "words"))
    for path in (words / "vectors.safetensors", copied / "metrics.jsonl"):
        path.unlink()
        os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    assert command(["vectors", "neighbours", str(words), "good"]) == 2
    assert f"not a regular file but a {kind}" in capfd.readouterr().err
    with pytest.raises(RunError, match=f"not a regular file but a {kind}"):
        unspool.load(copied).metrics()
    with pytest.raises(RunError, match=f"not a regular file but a {kind}|No such device"):
        unspool.train(resume=True, out=copied, quiet=True)


# Where to write


@pytest.mark.parametrize(
    ("out", "says"),
    [
        (b"run-\xff", "must be UTF-8; got 'run-\\\\udcff'"),
        (b"a" * 300, "File name too long"),
        (b"file/run", "Not a directory"),
        (b"file", "File exists"),
        (b"/proc/run", "No such file or directory"),
    ],
)
def test_a_bad_out_is_refused_before_training(
    reviews, tmp_path, monkeypatch, capfd, out, says
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("x")
    monkeypatch.setattr(trainer.Trainer, "run", lambda *_: pytest.fail("trained"))
    for words in (["train"], ["compare", "--models", "elman"], ["embed"]):
        assert command([*words, str(reviews), "--out", os.fsdecode(out)]) == 2
        assert says in capfd.readouterr().err
    assert os.listdir(tmp_path) == ["file"]


def test_a_nul_in_out(reviews) -> None:
    with pytest.raises(ConfigError, match="out= is not a path"):
        unspool.train(reviews, out="a\0b", **SMALL)


def test_data_whose_name_is_not_utf8(reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = os.fsdecode(b"r\xff.csv")
    shutil.copy(reviews, data)
    run = unspool.train(data, **SMALL)
    assert str(run.path) == "runs/r?-bilstm"
    assert unspool.train(resume=True, out=run.path).counters.step == run.counters.step


# Nothing lost


def at_step(monkeypatch, number: int, act) -> None:
    """Do something in the middle of a run."""
    real, seen = trainer.Trainer._step, []

    def step(self):
        seen.append(1)
        if len(seen) == number:
            act()
        return real(self)

    monkeypatch.setattr(trainer.Trainer, "_step", step)


def test_a_folder_that_is_removed(reviews, tmp_path, monkeypatch) -> None:
    out, watcher = tmp_path / "run", Silent()
    at_step(monkeypatch, 5, lambda: shutil.rmtree(out))
    says = r"cannot save the trained model \(No such file or directory\).*rescue="
    with pytest.raises(TrainingError, match=says):
        unspool.train(reviews, out=out, watcher=watcher, checkpoint_seconds=0, **SMALL)
    assert any("cannot write a checkpoint (No such file" in note for note in watcher.notes)
    assert not out.exists()


def test_a_folder_of_another_run_in_its_place(reviews, tmp_path, monkeypatch) -> None:
    out = tmp_path / "run"

    def replace() -> None:
        shutil.rmtree(out)
        out.mkdir()
        (out / "file").write_text("of another")

    at_step(monkeypatch, 5, replace)
    with pytest.raises(TrainingError, match="the folder was removed"):
        unspool.train(reviews, out=out, checkpoint_seconds=0, **SMALL)
    assert os.listdir(out) == ["file"]


@pytest.mark.parametrize("stopped", [False, True])
def test_what_is_rescued_is_the_run(reviews, tmp_path, monkeypatch, stopped) -> None:
    whole = unspool.train(reviews, out=tmp_path / "whole", **SMALL)
    out, spare, watcher = tmp_path / "run", tmp_path / "x" / "spare", Silent()

    def lose() -> None:
        shutil.rmtree(out)
        if stopped:
            os.kill(os.getpid(), signal.SIGTERM)

    at_step(monkeypatch, 35, lose)
    if stopped:
        with pytest.raises(Interrupted, match=f"saved; continue with.*{spare}"):
            unspool.train(reviews, out=out, rescue=spare, watcher=watcher, **SMALL)
        monkeypatch.undo()
        run = unspool.train(resume=True, out=spare, quiet=True)
    else:
        run = unspool.train(reviews, out=out, rescue=spare, watcher=watcher, **SMALL)
    assert run.path == spare
    assert any(f"it is in {spare}" in note for note in watcher.notes)
    assert run.report.metrics == whole.report.metrics
    loaded, wanted = unspool.load(spare), [r["step"] for r in whole.metrics()]
    assert [r["step"] for r in loaded.metrics()] == wanted
    texts = ["a good film", "a dull plot"]
    assert [a.to_json() for a in loaded.predict(texts)] == [
        a.to_json() for a in whole.predict(texts)
    ]
    assert not out.exists()
    assert not (spare / LOCK).exists()


def test_what_is_fitted_at_once_is_rescued_too(reviews, tmp_path, monkeypatch) -> None:
    settings = {"model": "linear", "threads": 1}
    whole = unspool.train(reviews, out=tmp_path / "whole", **settings)
    out, spare, watcher = tmp_path / "run", tmp_path / "spare", Silent()
    fit = DocumentTask.fit_model

    def lose(task, parts):
        shutil.rmtree(out, ignore_errors=True)  # baselines are fitted afterwards
        return fit(task, parts)

    monkeypatch.setattr(DocumentTask, "fit_model", lose)
    says = r"cannot save the trained model \(No such file or directory\).*rescue="
    with pytest.raises(TrainingError, match=says):
        unspool.train(reviews, out=out, **settings)
    run = unspool.train(reviews, out=out, rescue=spare, watcher=watcher, **settings)
    assert run.path == spare
    assert any(f"it is in {spare}" in note for note in watcher.notes)
    assert unspool.load(spare).evaluate(reviews).metrics == whole.evaluate(reviews).metrics
    assert not out.exists()


def test_a_rescue_that_is_not_needed_leaves_nothing(reviews, tmp_path) -> None:
    unspool.train(reviews, out=tmp_path / "run", rescue=tmp_path / "spare", **SMALL)
    assert not (tmp_path / "spare").exists()


def test_where_a_rescue_cannot_be(reviews, classifier, tmp_path, monkeypatch) -> None:
    out = tmp_path / "run"
    cases = {
        "already holds a run": {"rescue": classifier},
        "must lie outside of the run folder": {"rescue": out / "x"},
        "Not a directory": {"rescue": "/proc/self/mem/x"},
        "is for one training; got folds=": {"rescue": tmp_path / "y", "folds": 2},
        "is for one training; got model=": {"rescue": tmp_path / "y", "model": "auto"},
    }
    for says, more in cases.items():
        with pytest.raises((RunError, ConfigError), match=says):
            unspool.train(reviews, out=out, **more)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(RunError, match=r"cannot be written into\. Give another rescue="):
        unspool.train(reviews, out=out, rescue=tmp_path / "y")
    assert os.listdir(tmp_path) == []


def test_a_stop_that_cannot_save_does_not_say_saved(reviews, tmp_path, monkeypatch) -> None:
    """A read-only folder, as far as the administrator that runs the tests can have one."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    def stop() -> None:
        monkeypatch.setattr(trainer, "save_checkpoint", refuse)
        os.kill(os.getpid(), signal.SIGTERM)

    at_step(monkeypatch, 5, stop)
    with pytest.raises(TrainingError, match=r"cannot save .* \(Read-only file system"):
        unspool.train(reviews, out=tmp_path / "run", **SMALL)


def test_a_stop_while_a_checkpoint_fails_does_not_say_saved(reviews, tmp_path, monkeypatch) -> None:
    signals = [signal.SIGTERM]

    def refuse(*_: object) -> None:
        while signals:
            os.kill(os.getpid(), signals.pop())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trainer, "save_checkpoint", refuse)
    with pytest.raises(TrainingError, match=r"cannot save .* \(No space left"):
        unspool.train(reviews, out=tmp_path / "run", checkpoint_seconds=0, **SMALL)


LIMITED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # for an administrator


@pytest.mark.skipif(sys.platform == "win32", reason="rights of folders are those of Unix")
@pytest.mark.skipif(
    not os.geteuid() and shutil.which(LIMITED[0]) is None, reason="an administrator may write"
)
def test_a_folder_that_becomes_read_only(reviews, tmp_path) -> None:
    out, spare = tmp_path / "run", tmp_path / "spare"
    settings = {**SMALL, "epochs": 50_000, "checkpoint_seconds": 0}
    words = [sys.executable, "-m", "unspool", "train", reviews, "--out", out, "--rescue", spare]
    words += [f"--set={key}={value}" for key, value in settings.items()]
    command = words if os.geteuid() else [*LIMITED, *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if line.startswith("epoch 1"))
        out.chmod(0o555)
        (out / "checkpoints").chmod(0o555)
        line = next(line for line in process.stderr if "cannot write a checkpoint" in line)
        assert "(Permission denied); training goes on" in line
        process.send_signal(signal.SIGTERM)
        errors = process.stderr.read()
        assert process.wait() == 143
        assert f"cannot save the trained model (Permission denied); it is in {spare}" in errors
        assert f"saved; continue with: unspool train --resume --out {spare}" in errors
    finally:
        process.kill()
        process.stderr.close()
        out.chmod(0o755)
        (out / "checkpoints").chmod(0o755)


# The log


def test_a_log_that_is_shorter_than_its_checkpoint_says(reviews, tmp_path) -> None:
    out = tmp_path / "run"
    whole = unspool.train(reviews, out=out, log_steps=1, **SMALL)
    lines = (out / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (out / "metrics.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:5])
    watcher = Silent()
    unspool.train(resume=True, out=out, watcher=watcher)
    assert any("metrics.jsonl has" in note and "stays missing" in note for note in watcher.notes)
    assert (out / "metrics.jsonl").read_bytes() == b"".join(lines[:3])
    (out / "metrics.jsonl").unlink()
    again = unspool.train(resume=True, out=out, watcher=watcher)
    assert "metrics.jsonl has 0 of the" in watcher.notes[-1]
    assert again.counters.step == whole.counters.step


def test_a_log_that_the_disk_does_not_take_is_written_later(tmp_path) -> None:
    notes: list[str] = []
    log = Log(tmp_path / "log", notes.append)
    real = log.file

    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

    log.file = Full()  # type: ignore[assignment]
    log.write({"step": 1})
    log.write({"step": 2})
    log.file = real
    log.write({"step": 3})
    assert log.sync() == (tmp_path / "log").stat().st_size
    assert [record["step"] for record in read_log(tmp_path / "log")] == [1, 2, 3]
    assert notes == ["cannot write the log (No space left on device); will try again"]
    log.close()


# A closed terminal


def test_a_closed_terminal_saves(reviews, tmp_path) -> None:
    import pty

    out = tmp_path / "run"
    settings = [f"--set={k}={v}" for k, v in {**SMALL, "epochs": 50_000}.items()]
    words = [sys.executable, "-m", "unspool", "train", reviews, "--out", out, *settings]
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
        os.execv(sys.executable, [str(word) for word in words])
    deadline = time.monotonic() + 120
    while not (out / "model.safetensors").exists():
        assert time.monotonic() < deadline
        os.set_blocking(terminal, False)
        try:
            os.read(terminal, 1 << 16)
        except BlockingIOError:
            time.sleep(0.05)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGHUP
    assert list((out / "checkpoints").iterdir())
    assert "stopped" in (out / "README.md").read_text()


def test_nohup_stays_in_force() -> None:
    from unspool.training.signals import stop_on_signals

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.signal == 0
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.signal == signal.SIGHUP
    finally:
        signal.signal(signal.SIGHUP, before)
