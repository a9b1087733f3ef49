"""Stopping a run from Python, what is left of it, and what a person sees of one."""

import json
import os
import pty
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

import unspool
from unspool.errors import RunError
from unspool.training import progress
from unspool.training.progress import Silent
from unspool.training.signals import Interrupted

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "batch": 8, "epochs": 2, "patience": 0}


class Stops(Silent):
    """Presses Ctrl-C at a step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.at = step

    def step(self, counters, loss, norm, speed) -> None:
        if counters.step == self.at:
            os.kill(os.getpid(), signal.SIGINT)


def stop(data, out, step, **more) -> None:
    with pytest.raises(Interrupted, match=r"unspool\.train\(resume=True, out="):
        unspool.train(data, out=out, watcher=Stops(step), **{**SMALL, **more})


def test_weights_can_be_used_before_the_first_validation(reviews, tmp_path) -> None:
    out = tmp_path / "run"
    stop(reviews, out, 2)
    notes: list[str] = []
    run = unspool.load(out, note=notes.append)
    assert len(run.predict(["a good film"])) == 1
    assert len(notes) == 1
    assert "step 2, where training was stopped before its first validation" in notes[0]
    assert "not validated" in repr(run)
    assert run.report is None
    record = json.loads((out / "config.json").read_text())
    assert record["weights"] == {"step": 2, "validated": False}
    card = (out / "README.md").read_text()
    assert "Training was stopped before its end" in card
    assert "step 2, and have not been validated" in card


def test_a_run_that_goes_on_forgets_them(reviews, tmp_path) -> None:
    whole = unspool.train(reviews, out=tmp_path / "whole", **SMALL)
    out = tmp_path / "run"
    stop(reviews, out, 2)
    run = unspool.train(resume=True, out=out)
    notes: list[str] = []
    assert "not validated" not in repr(unspool.load(out, note=notes.append))
    assert not notes
    assert "weights" not in json.loads((out / "config.json").read_text())
    assert run.folder.weights.read_bytes() == whole.folder.weights.read_bytes()
    assert "have not been validated" not in (out / "README.md").read_text()


def test_a_stop_after_a_validation_keeps_the_best(reviews, tmp_path) -> None:
    stop(reviews, tmp_path / "run", 5, eval_steps=3)
    notes: list[str] = []
    unspool.load(tmp_path / "run", note=notes.append)
    assert not notes
    assert "The weights are those of step 3." in (tmp_path / "run" / "README.md").read_text()


@pytest.mark.parametrize("name", ["classifier", "writer", "translator", "tagger"])
def test_the_report_is_there_after_load(name, request) -> None:
    folder = request.getfixturevalue(name)
    run = unspool.load(folder)
    content = json.loads((folder / "evaluation.json").read_text())
    assert run.report_part == content["part"]
    assert run.report.metrics == content["metrics"]
    low, high = run.report.interval
    assert low <= run.report.metrics[run.task.metric.name] <= high
    assert repr(run.report).splitlines()[0] in (folder / "README.md").read_text()
    assert run.report.to_json()["task"] == run.task.name


def test_the_report_of_older_and_damaged_folders(classifier, tmp_path) -> None:
    import shutil

    folder = shutil.copytree(classifier, tmp_path / "run")
    (folder / "hashes.json").unlink()  # changed on purpose
    (folder / "evaluation.json").write_text('{"part": "test", "accuracy": 0.75, "examples": 4}')
    assert unspool.load(folder).report.metrics == {"accuracy": 0.75}
    assert repr(unspool.load(folder).report) == "accuracy  0.7500"
    (folder / "evaluation.json").write_text("[]")
    with pytest.raises(RunError, match=r"evaluation\.json: damaged: no figures in it"):
        _ = unspool.load(folder).report


CODE = """
import sys, unspool
unspool.train(sys.argv[1], out=sys.argv[2], quiet="quiet" in sys.argv, epochs=1, hidden=8)
"""


def on_a_terminal(*arguments) -> str:
    """What the program prints to a terminal as its stderr."""
    main, side = pty.openpty()
    command = [sys.executable, "-c", CODE, *map(str, arguments)]
    with subprocess.Popen(command, stderr=side, stdout=subprocess.PIPE) as process:
        os.close(side)
        found = b""
        while True:
            try:
                some = os.read(main, 4096)
            except OSError:  # the other side is closed
                break
            if not some:
                break
            found += some
        assert process.wait() == 0, found.decode()
    os.close(main)
    return found.decode()


def test_progress_in_a_terminal(reviews, tmp_path) -> None:
    seen = on_a_terminal(reviews, tmp_path / "r")
    assert "text in column 'text', label in 'label' -> classify" in seen
    assert "epoch 1  step" in seen
    assert "valid accuracy" in seen
    assert on_a_terminal(reviews, tmp_path / "q", "quiet") == ""


def test_progress_in_a_notebook(reviews, tmp_path, monkeypatch, capsys) -> None:
    unspool.train(reviews, out=tmp_path / "a", **SMALL)
    assert capsys.readouterr() == ("", "")
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert progress.in_notebook()
    unspool.train(reviews, out=tmp_path / "b", **SMALL)
    seen = capsys.readouterr()
    assert "epoch 2  step" in seen.out
    assert "-> classify" in seen.out
    assert seen.err == ""
    unspool.train(reviews, out=tmp_path / "c", quiet=True, **SMALL)
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not progress.in_notebook()
