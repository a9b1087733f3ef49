"""The commands on tables with several labels a row, and on calibrated classifiers."""

from __future__ import annotations

import csv
import json
import random

import numpy as np
import pytest

import unspool as package

WORDS = {"drama": "tears", "comedy": "jokes", "war": "tanks"}
RNG = random.Random(1)
SETS = [[name for name in WORDS if RNG.random() < 0.4] for _ in range(150)]
TEXTS = [
    " ".join(["a", "film", *(WORDS[name] for name in own), RNG.choice(["here", "there"])])
    for own in SETS
]
CELLS = "text,genres\n" + "".join(f"{t},{'|'.join(own)}\n" for t, own in zip(TEXTS, SETS))
FLAGS = "text,drama,comedy,war\n" + "".join(
    ",".join([t, *(str(int(name in own)) for name in WORDS)]) + "\n" for t, own in zip(TEXTS, SETS)
)
SMALL = ("--set", "hidden=8", "--set", "embedding=8", "--set", "threads=1", "--set", "lr=0.03")
EARLY = ("--set", "epochs=4")  # before all rows are right
FAST = (*SMALL, "--set", "epochs=16", "--set", "valid_share=0.34", "--out", "run")


@pytest.fixture
def trained(unspool, file):
    data = file(CELLS)
    ended = unspool("train", data, *FAST)
    assert ended.code == 0, ended.err
    assert "labels in 'genres' separated by '|' (--no-multilabel" in ended.err
    assert "3 labels," in ended.err
    assert "calibrated on 51 validation rows: temperature" in ended.err
    assert "thresholds, one for each label, by F1 on the validation rows:" in ended.err
    return data


def test_train_evaluate_predict_and_look(unspool, trained, here) -> None:
    stored = json.loads((here / "here/run/calibration.json").read_text())
    assert set(stored["thresholds"]) == set(WORDS)
    config = json.loads((here / "here/run/config.json").read_text())["config"]
    assert config["data"]["multilabel"] is True
    assert config["data"]["label_separator"] == "|"

    ended = unspool("evaluate", "run", trained, "--pictures", "seen")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("150 examples, 3 labels\nmicro F1 ")
    assert (here / "here/seen/reliability.png").stat().st_size > 1000
    found = json.loads(unspool("evaluate", "run", trained, "--json").out)
    assert found["task"] == "classify"
    assert set(found["labels"]) == set(WORDS)
    assert found["micro_f1_interval"][0] <= found["micro_f1"] <= found["micro_f1_interval"][1]
    assert found["micro_f1"] > 0.9
    assert found["calibration"]["temperature"] == stored["temperature"]

    ended = unspool("predict", "run", "a film tears and tanks", "a film here", "--json")
    first, second = map(json.loads, ended.out.splitlines())
    assert set(first["labels"]) == {"drama", "war"}
    for own in (first, second):
        p = own["probabilities"]
        assert own["labels"] == sorted(
            (name for name in p if p[name] >= stored["thresholds"][name]), key=lambda n: -p[n]
        )
    assert unspool("predict", "run", "--file", trained, "--out", "found.csv").code == 0
    with open("found.csv", newline="") as table:
        header, *rows = csv.reader(table)
    assert header == ["text", "genres", "predicted_genres", "p(comedy)", "p(drama)", "p(war)"]
    assert len(rows) == 150

    ended = unspool("look", "run", "a film tears here", "--answer", "war")
    assert ended.out.startswith("'war', probability 0.")
    ended = unspool("look", "run", "a film tears here", "--pictures", "more")
    assert ended.out.startswith("'drama', probability 0.")
    assert (here / "here/more/saliency.png").exists()
    assert unspool("look", "run", "--pictures", "model").code == 0
    assert (here / "here/model/reliability.png").exists()
    assert unspool("look", "run", "a film tears", "--html", "page.html").code == 0


def test_reasons_add_up_to_the_log_odds(unspool, trained) -> None:
    run = package.load("run")
    text = "a film tears here"
    for label in WORDS:
        why = run.explain(text, answer=label)
        p = run.predict(text)[0].probabilities[label]
        assert why.answer_value == pytest.approx(p, abs=1e-5)
        assert why.values.sum() == pytest.approx(why.total, abs=2e-3 * max(1, abs(why.total)))
        assert all(deletion.answer == label for deletion in why.deletions)


def test_the_other_readings(unspool, file) -> None:
    data = file(FLAGS)
    ended = unspool("train", data, *FAST)
    assert "labels in 'drama, comedy, war' of 0 and 1 (--label COLUMN for one" in ended.err
    assert json.loads(unspool("evaluate", "run", data, "--json").out)["micro_f1"] > 0.8
    ended = unspool("evaluate", "run", file(CELLS, "c.csv"), "--label", "genres")
    assert ended.code == 0, ended.err
    asked = ("--label", "war", "--label", "drama", *FAST[:-1], "two")
    ended = unspool("train", data, *asked)
    assert ended.code == 0, ended.err
    assert json.loads(unspool("predict", "two", "x", "--json").out)["probabilities"].keys() == {
        "war", "drama",
    }  # fmt: skip
    ended = unspool("train", data, "--label", "war", *FAST[:-1], "one")
    assert "accuracy" in ended.out
    ended = unspool("train", file(CELLS), "--no-multilabel", *FAST[:-1], "whole")
    assert ended.code == 0, ended.err
    assert "accuracy" in ended.out


def test_check_counts_labels(unspool, file) -> None:
    ended = unspool("check", file(CELLS))
    assert ended.code == 0, ended.err
    total = sum(map(len, SETS))
    found = json.loads(unspool("check", file(CELLS), "--json").out)
    assert sum(sum(part["labels"].values()) for part in found["parts"]) == total
    assert f"({sum(found['parts'][0]['labels'].values()) / 135:.2f} a row): " in ended.out


def test_compare(unspool, file) -> None:
    ended = unspool(
        "compare", file(CELLS), "--models", "elman,gru", *FAST[:-4], "--set", "epochs=1"
    )
    assert ended.code == 0, ended.err
    assert "test micro_f1" in ended.out


def test_a_label_that_is_new_in_a_test_file_is_left_out_and_said(unspool, trained, file) -> None:
    more = file(CELLS + "a film there,war|western\n", "more.csv")
    ended = unspool("evaluate", "run", more)
    assert ended.code == 0, ended.err
    assert (
        "labels that do not occur in the training data are left out, in 1 rows, the first at"
        in ended.err
    )
    assert "more.csv:152: 'western'" in ended.err


def test_without_a_validation_part(unspool, file, here) -> None:
    ended = unspool("train", file(CELLS), *FAST, "--set", "valid_share=0")
    assert "no validation part: the probabilities are not calibrated" in ended.err
    assert "no validation part: the threshold of every label is 0.5" in ended.err
    assert not (here / "here/run/calibration.json").exists()
    assert unspool("predict", "run", "a film").code == 0


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        (FLAGS, ["--label", "war,drama", "--no-multilabel"], ["one label a row has one column"]),
        (CELLS, ["--label-separator", "|", "--no-multilabel"], ["cells cannot be split"]),
        (CELLS, ["--label-separator", ""], ["data.label_separator", "at least 1 character"]),
        (CELLS.replace("|", "/"), ["--label-separator", "+", "--label", "genres", "--set",
         "class_weights=heavy"], ["train.class_weights", "balanced"]),
        (FLAGS + "x,1,2,0\n", ["--label", "drama,comedy"],
         ["data.csv:152: column 'comedy' holds neither 0 nor 1; got '2'"]),
        ("text,labels\na,x\nb,x\nc,\n", ["--multilabel"], ["fewer than two labels", "got 'x'"]),
    ],
)  # fmt: skip
def test_what_is_refused(content, options, says, file, refused) -> None:
    refused("train", file(content), "--task", "classify", "--out", "run", *options, says=says)


def test_both_ways_to_balance_are_refused(file, refused) -> None:
    refused(
        "train", file(), "--set", "oversample=true", "--set", "class_weights=balanced",
        says=["train.oversample and train.class_weights", "Use one of them"],
    )  # fmt: skip


@pytest.mark.parametrize(
    "stored",
    ["{}", '{"temperature": 0}', '{"temperature": 1, "thresholds": {"drama": 2}}', "[1]",
     '{"temperature": "hot"}'],
)  # fmt: skip
def test_a_damaged_calibration_is_refused(stored, unspool, trained, here) -> None:
    (here / "here/run/hashes.json").unlink(missing_ok=True)  # changed on purpose
    (here / "here/run/calibration.json").write_text(stored)
    ended = unspool("predict", "run", "x")
    assert ended.code == 2
    assert "run/calibration.json: not the temperature and thresholds of this model" in ended.err


ONE = "text,label\n" + "".join(
    f"{t},{'war' if 'war' in own else 'peace'}\n" for t, own in zip(TEXTS, SETS)
)


def test_one_label_is_calibrated_by_its_temperature_alone(unspool, file, here) -> None:
    for name, setting in (("hot", "true"), ("plain", "false")):
        ended = unspool(
            "train", file(ONE), *FAST[:-1], name, "--set", f"calibrate={setting}", *EARLY
        )
        assert ended.code == 0, ended.err
    assert not (here / "here/plain/calibration.json").exists()
    hot, plain = package.load("hot"), package.load("plain")
    t = json.loads((here / "here/hot/calibration.json").read_text())["temperature"]
    assert t != 1
    for name, own in hot.model.state_dict().items():
        assert (plain.model.state_dict()[name] == own).all()
    for after, before in zip(hot.predict(TEXTS), plain.predict(TEXTS)):
        assert after.label == before.label
        z = np.log(list(before.probabilities.values())) / t
        wanted = np.exp(z - np.logaddexp.reduce(z))
        np.testing.assert_allclose(list(after.probabilities.values()), wanted, rtol=1e-9)
    # What `look` shows is what `predict` gives.
    p = hot.predict(TEXTS[0])[0].probability
    assert hot.trace(TEXTS[0]).choices[0].answer_value == pytest.approx(p, abs=1e-5)
    report = json.loads(unspool("evaluate", "hot", file(ONE), "--json").out)
    assert report["loss"] == report["calibration"]["after"]["nll"]
    before = json.loads(unspool("evaluate", "plain", file(ONE), "--json").out)
    assert before["loss"] == report["calibration"]["before"]["nll"]
    assert before["calibration"]["temperature"] == 1
    card = (here / "here/hot/README.md").read_text()
    assert f"temperature {t:.3f}" in card


def test_a_picture_of_calibration_in_the_run_folder(unspool, file, here) -> None:
    """Where there are enough examples to say something."""
    header, rows = ONE.split("\n", 1)
    ended = unspool("train", file(f"{header}\n{rows * 6}"), *FAST, "--set", "epochs=1")
    assert ended.code == 0, ended.err
    assert (here / "here/run/reliability.png").stat().st_size > 1000
