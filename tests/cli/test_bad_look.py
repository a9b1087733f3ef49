"""Bad input for `look`: one line, exit code 2."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], ["say what to look at", "Give a TEXT, --pictures DIR, --gradients"]),
        ([""], ["there is nothing to look at: the text is empty", "Give some words"]),
        (["good", "--answer", "so-so"], ["knows no such answer; got 'so-so'", "neg, pos"]),
        (["good", "--place", "4"], ["there are 1 places to ask about; got 'number 4'"]),
        (["good", "--place", "0"], ["there are 1 places to ask about; got 'number 0'"]),
        (["good", "--method", "guess"], ["unknown method; got 'guess'", "integrated, gradient"]),
        (["good", "--format", "gif"], ["unknown format of pictures; got '.gif'", ".png"]),
        (["--gradients", "--distance", "0"], ["--distance", "greater than or equal to 1"]),
        (["--answer", "pos"], ["--place and --answer ask about a TEXT", "Give one"]),
        (["good", "--beside", "other"], ["--beside is for the learning curves", "no TEXT"]),
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


def test_a_file_is_no_folder(refused, file, classifier) -> None:
    path = file("", "taken")
    refused("look", classifier, "good", "--pictures", path, says=["taken: not a folder"])
