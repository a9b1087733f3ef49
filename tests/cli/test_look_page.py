"""`unspool look RUN`: the page, served until Ctrl-C, or saved."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from unspool.serve import look as page
from unspool.serve.page import PageServer

# A shell that runs the tests in the background has its children ignore Ctrl-C.
COMMAND = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from unspool.cli import main; main()"
)


def test_served_until_ctrl_c(classifier) -> None:
    words = ["look", str(classifier), "a fine film", "--page", "--no-browser"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        try:
            address = running.stdout.readline().strip()
            assert running.stderr.readline() == "Ctrl-C ends it\n"
            server, _, place = address.partition("#")
            assert place == "text=a%20fine%20film"
            with urlopen(server) as reply:
                assert b"<!doctype html>" in reply.read()
            running.send_signal(signal.SIGINT)
            _, err = running.communicate(timeout=20)
            assert running.returncode == 130
            assert "Traceback" not in err
        finally:
            running.kill()


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The addresses that the browser was asked to open; no server waits for requests."""
    found: list[str] = []
    monkeypatch.setattr(page.webbrowser, "open", found.append)
    monkeypatch.setattr(PageServer, "serve_forever", lambda self: None)
    return found


def test_the_browser_is_opened(unspool, classifier, opened) -> None:
    ended = unspool("look", classifier)
    assert ended.code == 0
    assert opened == [ended.out.strip()]
    assert opened[0].startswith("http://127.0.0.1:")
    unspool("look", classifier, "a film", "--view", "saliency")
    assert opened[1].endswith("/#view=saliency&text=a%20film")
    unspool("look", classifier, "--no-browser")
    assert len(opened) == 2


def test_a_run_that_has_no_weights_yet(unspool, classifier, opened, tmp_path) -> None:
    run = Path(shutil.copytree(classifier, tmp_path / "run"))
    (run / "model.safetensors").unlink()
    assert unspool("look", run).code == 0
    assert len(opened) == 1


def test_saved(unspool, classifier, tmp_path) -> None:
    path = tmp_path / "seen.html"
    ended = unspool("look", classifier, "a fine film", "--html", path, "--view", "training")
    assert (ended.code, ended.out, ended.err) == (0, "", f"{path}\n")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_n_grams_of_a_corpus(unspool, reviews, opened, monkeypatch, tmp_path) -> None:
    """--data reaches the page as a table."""
    from unspool.api.train import train

    run = tmp_path / "cnn"
    train(reviews, model="cnn", out=run, epochs=1, filters=2, embedding=8, threads=1)
    seen = []

    class Seen(page.LookPage):
        def __init__(self, subject, *given) -> None:
            seen.append(subject)
            super().__init__(subject, *given)

    monkeypatch.setattr(page, "LookPage", Seen)
    ended = unspool("look", run, "--data", reviews)
    assert ended.code == 0
    assert "text in column 'text'" in ended.err
    assert seen[0].table is not None
