"""Bad input for `look`: one line, exit code 2."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--json"], ["--json is for a TEXT", "Give one after the run, or --gradients"]),
        (["--view", "salience"], ["unknown view; got 'salience'", "Did you mean 'saliency'?"]),
        (["--view", "attention"], ["this run has no attention view", "Choose from unrolled,"]),
        (["", "--page"], ["there is nothing to look at: the text is empty", "Give some words"]),
        (["good", "--page", "--json"], ["--page is for the page, and --json is not on it"]),
        (["--html", "seen.html", "--pictures", "seen"], ["--html is for the page", "--pictures"]),
        (["--html", "seen.html", "--no-browser"], ["a saved page is not served", "--no-browser"]),
        (["--html", "no/such/seen.html"], ["no/such/seen.html: cannot write the page"]),
        (["--port", "70000"], ["--port", "65535"]),
        (["--data", "nowhere.csv"], ["nowhere.csv"]),
        ([""], ["there is nothing to look at: the text is empty", "Give some words"]),
        (["good", "--answer", "so-so"], ["knows no such answer; got 'so-so'", "neg, pos"]),
        (["good", "--step", "4"], ["there is one step to ask about; got 'number 4'"]),
        (["good", "--step", "0"], ["there is one step to ask about; got 'number 0'"]),
        (["good", "--method", "guess"], ["unknown method; got 'guess'", "integrated, gradient"]),
        (["good", "--format", "gif"], ["unknown format of pictures; got '.gif'", ".png"]),
        (["--gradients", "--distance", "0"], ["--distance", "greater than or equal to 1"]),
        (["--what-if"], ["--what-if is for gradients through time", "Add --gradients"]),
        (["--answer", "pos"], ["--step and --answer ask about a TEXT", "Give one"]),
        (["good", "--compare", "other"], ["--compare is for the learning curves", "no TEXT"]),
        (["--figure", "positions"], ["--figure needs no run", "Leave out the run"]),
    ],
)
def test_of_a_run(refused, classifier, words, says) -> None:
    refused("look", classifier, *words, says=says, kept=classifier)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], ["there is nothing to look at", "Name the folder of a run"]),
        (["--figure", "position"], ["unknown figure; got 'position'", "'positions'"]),
        (["--figure", "positions"], ["a figure needs a folder", "Add --pictures DIR"]),
        (["nowhere"], ["nowhere"]),
    ],
)
def test_without_a_run(refused, words, says) -> None:
    refused("look", *words, says=says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("no JSON", ["not a trace", "Make one with unspool look RUN TEXT --pictures DIR"]),
        ("[1]", ["not a trace"]),
        ('{"version": 1}', ["of another version; this unspool reads version 2; got 1"]),
        ('{"version": 2}', ["a damaged trace (KeyError: 'window')"]),
    ],
)
def test_a_trace_that_is_none(refused, file, content, says) -> None:
    path = file(content, "trace.json")
    refused("look", path, "--pictures", "seen", says=["trace.json: ", *says])


def test_a_file_is_no_folder(refused, file, classifier) -> None:
    path = file("", "taken")
    refused("look", classifier, "good", "--pictures", path, says=["taken: not a folder"])


def test_a_port_in_use(refused, classifier) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        says = [f"port {port} is in use", "Choose another one with --port, or leave it out"]
        refused("look", classifier, "--no-browser", "--port", port, says=says)


def test_a_run_without_a_model(refused, classifier, tmp_path) -> None:
    """Neither weights nor a log: there is nothing to see yet."""
    run = Path(shutil.copytree(classifier, tmp_path / "run"))
    for name in ("model.safetensors", "metrics.jsonl"):
        (run / name).unlink()
    refused("look", run, "--no-browser", says=["the run has no trained weights yet", "--resume"])


def test_a_text_for_a_run_without_weights(refused, classifier, tmp_path) -> None:
    run = Path(shutil.copytree(classifier, tmp_path / "run"))
    (run / "model.safetensors").unlink()
    says = ["the run has no trained weights yet", "after its first epoch"]
    refused("look", run, "good", "--page", "--no-browser", says=says)
    refused("look", run, "--view", "saliency", says=["this run has no saliency view"])
