"""Data that a model knows from its training are named in an evaluation."""

import shutil

import numpy as np
import pytest

import unspool
from unspool.data.fields.tokens import token_digest
from unspool.errors import RunError

SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "batch": 16, "max_steps": 2}


def notes_of(run, *data, **more) -> list[str]:
    notes: list[str] = []
    report = run.evaluate(*data, note=notes.append, **more)
    assert repr(report).endswith("\n".join(report.notes))
    return notes


def test_the_training_file_itself(classifier, reviews) -> None:
    notes = notes_of(unspool.load(classifier), reviews)
    (line,) = [note for note in notes if "trained on" in note]
    assert "the model was trained on this very file, on " in line
    assert " of 240 rows of it; the figures say little about new data" in line


def test_the_validation_file(reviews, tmp_path) -> None:
    other = tmp_path / "valid.csv"
    other.write_text("text,label\nsome new words,pos\nothers of that kind,neg\n")
    run = unspool.train(reviews, valid=other, out=tmp_path / "r", **SMALL)
    assert any("the weights were chosen on this very file" in note for note in notes_of(run, other))


def test_rows_of_the_training_file(reviews, tmp_path) -> None:
    run = unspool.train(reviews, out=tmp_path / "r", valid_share=0, **SMALL)
    lines = reviews.read_text().splitlines()
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("\n".join([lines[0], "quite new words here,pos", *lines[5:8], "and here,neg"]))
    run = unspool.load(run.path)  # another process would know them as well
    (line,) = [note for note in notes_of(run, mixed) if "training data" in note]
    assert line.startswith(f"3 of 5 rows were in the training data, the first at {mixed}:3;")
    fresh = tmp_path / "fresh.csv"
    fresh.write_text("text,label\nquite new words here,pos\n")
    assert not [note for note in notes_of(run, fresh) if "say little" in note]


@pytest.mark.parametrize("name", ["tagger", "translator", "writer"])
def test_other_tasks(name, request) -> None:
    files = {"tagger": "sentences", "translator": "pairs", "writer": "book"}
    run = unspool.load(request.getfixturevalue(name))
    notes = notes_of(run, request.getfixturevalue(files[name]))
    assert any("trained on this very file" in note for note in notes)


def test_digests_are_the_same_in_every_process_and_damage_is_named(classifier, tmp_path) -> None:
    assert token_digest("film") == 0x5B2CBEDED4014340
    folder = shutil.copytree(classifier, tmp_path / "run")
    kept = np.load(folder / "rows.npy")
    assert kept.dtype == np.uint64
    assert len(kept) == len(np.unique(kept))
    (folder / "rows.npy").write_bytes(b"x")
    with pytest.raises(RunError, match=r"rows\.npy: damaged"):
        unspool.load(folder).evaluate(["a"], ["pos"])
    (folder / "rows.npy").unlink()  # as of an older run
    assert unspool.load(folder).evaluate(["a"], ["pos"]).notes == ()
