"""Bad input, through the command line: one line that names the place and the remedy, exit code 2.

Every case is tried in an empty working folder, which must be as it was afterwards, and so must the
run folder that the command was given.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from small_table import TABLE

from unspool.training.tensors import load_tensors, save_tensors

# Data


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", "", ["a.csv: the file is empty"]),
        ("a.txt", " \n\n", ["a.txt: the file is empty", "Name a file that holds text"]),
        ("a.csv", "text,label\n", ["a.csv: the table has a header and no rows", "Add rows"]),
        ("a.csv", "text,label\n" + "good film,pos\n" * 20, ["a.csv: all rows have the same label",
         "got 'pos'", "Name another column with --label"]),
        ("a.csv", TABLE + "good, not bad,pos\n", ["a.csv:26: expected 2 columns, found 3",
         "Quote fields"]),
        ("a.csv", TABLE + '"never closed,pos\n', ["a.csv:26: a quote is opened and never closed",
         "Close it"]),
        ("a.csv", TABLE + '"closed" early,pos\n', ["a.csv:26: malformed quotes", "Close it"]),
        ("a.jsonl", '{"text": "a", "label": "x"}\n{"text": "b", "label"\n', ["a.jsonl:2: not valid"
         " JSON", "Every line must be one JSON object"]),
        ("a.jsonl", '{"text": "a", "label": "x"}\n[1, 2]\n', ["a.jsonl:2: not a JSON object",
         "Write each line as"]),
        ("a.jsonl", '{"text": "a", "label": "x"}\n{"text": 7, "label": "y"}\n',
         ["a.jsonl:2: field 'text' is not a string", "got 7", "--text"]),
        ("a.jsonl", '{"text": "a", "label": "x"}\n{"text": "b", "label": [[1]]}\n',
         ["a.jsonl:2: field 'label' is not a label", "--label"]),
        ("a.csv", TABLE.encode() + "caf\xe9,pos\n".encode("latin-1"), ["a.csv:26: not valid utf-8"
         " (byte 0xe9)", "--encoding cp1252"]),
        ("a.csv", TABLE + "a\0b,pos\n", ["a.csv:26: holds a NUL", "Is it binary?"]),
        ("a.csv.gz", gzip.compress(TABLE.encode())[:-20],
         ["a.csv.gz: the compressed file is damaged", "Copy or download it again"]),
        ("a.csv.gz", TABLE, ["a.csv.gz: is called .gz but is not such a file", "Rename it"]),
        ("a.csv", "text,label\n" + " ,pos\n ,neg\n" * 9, ["a.csv: all 18 rows have an empty text",
         "Fill it"]),
        ("a.csv", "text,label\na,x\nb,y\n", ["a.csv"]),
    ],
    ids=lambda value: value[0][:40] if isinstance(value, list) else "",
)  # fmt: skip
def test_data_that_cannot_be_used(name, content, says, file, refused) -> None:
    refused("train", file(content, name), "--out", "run", "--task", "classify", says=says)


def test_missing_file(here, file, refused) -> None:
    file()
    refused(
        "train", here / "dat.csv", says=["dat.csv: no such file", f"Did you mean {here}/data.csv?"]
    )
    refused("check", here / "nothing", says=["nothing: no such file", "Check the path"])
    (here / "link.csv").symlink_to(here / "gone.csv")
    refused("check", here / "link.csv", says=["link.csv: is a link to a file that is not there"])


@pytest.mark.parametrize("option", ["--valid", "--test"])
def test_missing_held_out_file(option, file, refused) -> None:
    refused("train", file(), option, "gone.csv", says=["gone.csv: no such file", "Check the path"])


def test_folder_with_nothing_usable(here, refused) -> None:
    (here / "empty").mkdir()
    refused(
        "train",
        here / "empty",
        says=["empty: the folder holds no file that can be read", "NAME.txt"],
    )


def test_missing_column(file, refused) -> None:
    refused(
        "train", file(), "--text", "txt",
        says=["data.csv:1: there is no column 'txt'", "text, label", "Did you mean --text text?"],
    )  # fmt: skip
    refused("train", file(), "--label", "9", says=["there is no column 9", "--label"])
    refused("train", file(), "--label", "text", "--text", "text", says=["the same column 'text'"])


def test_unknown_encoding(file, refused) -> None:
    refused(
        "train", file(), "--encoding", "utf8x",
        says=["--encoding: unknown encoding; got 'utf8x'", "Did you mean 'utf-8'"],
    )  # fmt: skip


def test_unlabelled_file_for_classify(file, refused) -> None:
    text = "".join(f"line {i} says {i * 7919 % 101}\n" for i in range(40))
    refused(
        "train", file(text, "a.txt"), "--task", "classify", "--format", "lines",
        says=["a.txt: holds no labels, which classify needs", "--label", "--task generate"],
    )  # fmt: skip


def test_validation_file_of_another_task(file, refused) -> None:
    refused(
        "train", file(), "--valid", file("just some text\n" * 9, "v.txt"), "--out", "run",
        says=["v.txt", "label"],
    )  # fmt: skip


def test_label_unseen_in_training(file, classifier, refused) -> None:
    data = file(TABLE + "so so,meh\n")
    refused(
        "evaluate", classifier, data, "--unseen", "error", kept=classifier,
        says=["data.csv:26: label 'meh' does not occur in the training data", "'neg', 'pos'"],
    )  # fmt: skip
    refused("train", file(name="t.csv"), "--valid", data, says=["data.csv:26: label 'meh'"])


def test_evaluate_on_a_file_without_labels(file, classifier, refused) -> None:
    data = file("text\n" + "a great film\n" * 9)
    refused("evaluate", classifier, data, says=["data.csv", "holds no labels", "--label"])


# Settings


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--set", "hiden=3"], ["--set: unknown setting; got 'hiden'", "Did you mean 'hidden'?",
         "`unspool settings`"]),
        (["--set", "train.epoch=3"], ["Did you mean 'train.epochs'"]),
        (["--set", "epochs=many"], ["--set: train.epochs: input should be a valid integer",
         "got 'many'", "It means: maximum number of passes over the training data"]),
        (["--set", "dropout=1.5"], ["model.dropout: input should be less than 1; got '1.5'"]),
        (["--set", "lr=nan"], ["train.lr", "got 'nan'"]),
        (["--set", "lr=inf"], ["train.lr", "got 'inf'"]),
        (["--set", "lowercase=maybe"], ["tokenizer.lowercase", "valid boolean", "got 'maybe'"]),
        (["--set", "epochs"], ["given as key=value; got 'epochs'", "example --set"]),
        (["--set", "=5"], ["settings are given as key=value"]),
        (["--set", "pooling=sum"], ["model.pooling: input should be 'last', 'mean'"]),
        (["--task", "clasify"], ["unknown task; got 'clasify'", "Did you mean 'classify'?"]),
        (["--model", "lsmt"], ["unknown model; got 'lsmt'", "Did you mean 'lstm'?"]),
        (["--set", "cell=grue"], ["--set: unknown cell; got 'grue'", "Did you mean 'gru'?"]),
        (["--format", "xls"], ["unknown format; got 'xls'", "hoose from auto", "csv"]),
        (["-m", "gru", "-s", "rest=before"], ["unknown setting; got 'rest'", "'reset'"]),
        (["-m", "gru", "-s", "reset=never"], ["reset", "before", "got 'never'"]),
        (["-m", "gru", "-s", "model.options.foo=1"], ["model.options: unknown option of the cell"
         " gru; got 'foo'", "Choose from"]),
        (["-m", "elman", "-s", "activation=step"], ["activation", "'step'", "tanh"]),
        (["-m", "peephole", "-s", "peepholes=ix"], ["peepholes", "ix"]),
        (["-s", "tied=true"], ["model.tied is a setting of", "generate", "Leave it out"]),
        (["-t", "generate", "-m", "bilstm"], ["may not read in both directions",
         "Use --model lstm"]),
        (["-t", "generate", "-s", "tied=true", "-s", "embedding=0"], ["model.tied needs an"
         " embedding", "model.embedding=0"]),
        (["-m", "transformer", "-s", "hidden=30"], ["model.hidden must be a multiple of"
         " model.heads=4; got 30", "Set hidden=32"]),
        (["-m", "transformer", "-s", "hidden=12", "-s", "positions=rotary"], ["rotary positions",
         "must be even; got '12 / 4'"]),
        (["-m", "transformer", "-s", "model.options.reset=after"], ["a transformer has no cell",
         "got 'reset'"]),
        (["-m", "transformer", "-s", "positions=learned"], ["learned needs a longest text; got"
         " 'data.max_length=0'", "Set max_length=512"]),
        (["-m", "transformer", "-s", "cell=gru"], ["--model transformer has no cell to choose;"
         " got 'gru'"]),
        (["-m", "gru", "-s", "pooling=cls"], ["pooling=cls reads a token before the text",
         "got 'gru'", "Use --model transformer"]),
        (["-m", "transformr"], ["unknown model; got 'transformr'", "Did you mean 'transformer'?"]),
        (["-s", "freeze=encoder"], ["train.freeze freezes what an encoder has learnt before",
         "--from"]),
        (["--from", "nowhere"], ["nowhere: no such run folder", "Check the path"]),
        (["-s", "valid_share=0.6", "-s", "test_share=0.6"], ["valid_share", "test_share"]),
        (["-s", "hidden=100000000"], ["model.hidden=100000000: a model of", "would take 1.3 EB",
         "this machine has", "Set a smaller hidden"]),
        (["-s", "vocab=100000000000"], ["tokenizer.vocab: input should be less than or equal to"]),
        (["-s", f"max_length={10**30}"], ["data.max_length: input should be less than or equal"]),
        (["-m", "lstm", "-s", "forget_bias=inf"], ["model.options.forget_bias: must be a finite"]),
        (["-m", "lstm", "-s", "forget_bias=much"], ["model.options.forget_bias: must be a finite"
         " number; got 'much'", "`unspool settings`"]),
        (["-s", "kind=bpe", "-s", "vocab=9"], ["tokenizer.vocab: byte-pair encoding needs", "258"]),
        (["-s", "seed=-1"], ["train.seed: input should be greater than or equal to 0"]),
        (["-s", "threads=100000"], ["train.threads: input should be less than or equal to 1024"]),
        (["--config", "gone.toml"], ["gone.toml: no such config file", "Check the path"]),
        (["--resume"], ["resume needs the run folder", "--out RUN"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("-") else "",
)  # fmt: skip
def test_settings_that_do_not_fit(arguments, says, file, refused) -> None:
    refused("train", file(), *arguments, says=says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("epochs = = 5", ["s.toml: not a TOML file", "line 1", "Write lines such as epochs = 5"]),
        ("[train]\nepoch = 5", ["s.toml: unknown setting; got 'train.epoch'", "'train.epochs'"]),
        ("[trian]\nepochs = 5", ["s.toml: unknown setting; got 'trian.epochs'", "'train.epochs'"]),
        ("epochs = 'x'", ["s.toml: train.epochs: input should be a valid integer"]),
        ("model = 'lstmm'", ["s.toml: unknown model; got 'lstmm'", "Did you mean 'lstm'"]),
        ("cell = 'lstmm'", ["s.toml: unknown cell; got 'lstmm'", "Did you mean 'lstm'"]),
        ("task = 'clasify'", ["s.toml: unknown task; got 'clasify'", "Did you mean 'classify'"]),
        ("epochs = [1, 2]", ["s.toml: train.epochs: input should be a valid integer"]),
        (b"\xff\xfe", ["s.toml: cannot read the config file: not UTF-8", "Save it"]),
    ],
)
def test_a_config_file_that_does_not_fit(content, says, file, refused) -> None:
    refused("train", file(), "--config", file(content, "s.toml"), says=says)


def test_a_config_file_that_is_a_folder(here, file, refused) -> None:
    refused("train", file(), "--config", here, says=[f"{here}: cannot read", "directory"])


def test_no_data(refused) -> None:
    refused("train", "", says=["no data. Name a file"])
    refused("train", says=["no data. Name a file", "Name a file: unspool train reviews.csv"])


# Run folders


@pytest.fixture
def damaged(classifier, here) -> Path:
    """A copy of a good run, to be damaged by somebody who has removed its hashes."""
    ignored = shutil.ignore_patterns("checkpoints", "hashes.json")
    return shutil.copytree(classifier, here / "run", ignore=ignored)


def edit(path: Path, change: Callable[[dict], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def flip(path: Path, place: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 4
    path.write_bytes(content)


def tensors(run: Path, change: Callable[[dict], object]) -> None:
    """Change the weights and store them with a good checksum."""
    own, meta = load_tensors(run / "model.safetensors")
    change(own)
    save_tensors(run / "model.safetensors", own, meta)


AGAIN = "opy the run folder again, or train from scratch"
DAMAGE: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "no config.json": (
        lambda run: (run / "config.json").unlink(),
        ["run: not a run folder: it has no config.json", "Give the --out folder"],
    ),
    "config.json not JSON": (
        lambda run: (run / "config.json").write_text("{\n"),
        ["run/config.json: damaged: not JSON at line 2", AGAIN],
    ),
    "config.json cut": (
        lambda run: os.truncate(run / "config.json", 100),
        ["run/config.json: damaged: not JSON", AGAIN],
    ),
    "config.json not text": (
        lambda run: (run / "config.json").write_bytes(b"\xff\xfe"),
        ["run/config.json: damaged: not UTF-8 at byte 0", AGAIN],
    ),
    "config.json of another kind": (
        lambda run: (run / "config.json").write_text("[1]"),
        ["run/config.json: damaged: no settings in it", AGAIN],
    ),
    "unknown setting": (
        lambda run: edit(run / "config.json", lambda r: r["config"]["train"].update(epoch=1)),
        ["run/config.json: damaged: unknown setting; got 'train.epoch'", AGAIN],
    ),
    "unknown section": (
        lambda run: edit(run / "config.json", lambda r: r["config"].update(extra={})),
        ["run/config.json: damaged: unknown setting; got 'extra'", AGAIN],
    ),
    "setting of another type": (
        lambda run: edit(run / "config.json", lambda r: r["config"]["model"].update(hidden="big")),
        ["run/config.json: damaged: model.hidden: input should be a valid integer", AGAIN],
    ),
    "removed section": (
        lambda run: edit(run / "config.json", lambda r: r["config"].pop("data")),
        ["run/config.json: damaged: the settings of 'data' are missing", AGAIN],
    ),
    "unknown task": (
        lambda run: edit(run / "config.json", lambda r: r["config"].update(task="juggle")),
        ["run/config.json: unknown task; got 'juggle'", "classify"],
    ),
    "unknown cell": (
        lambda run: edit(run / "config.json", lambda r: r["config"]["model"].update(cell="quark")),
        ["run/config.json: unknown cell; got 'quark'", "Choose from"],
    ),
    "newer version": (
        lambda run: edit(run / "config.json", lambda r: r.update(format=2)),
        ["run/config.json: run folder of format 2; this version reads 1", "nstall a newer unspool"],
    ),
    "no version": (
        lambda run: edit(run / "config.json", lambda r: r.pop("format")),
        ["run/config.json: run folder of format None", AGAIN],
    ),
    "no weights": (
        lambda run: (run / "model.safetensors").unlink(),
        ["run/model.safetensors: missing", "unspool train --resume --out"],
    ),
    "weights cut": (
        lambda run: os.truncate(run / "model.safetensors", 5000),
        ["run/model.safetensors: damaged: not a whole safetensors file", AGAIN],
    ),
    "weights empty": (
        lambda run: os.truncate(run / "model.safetensors", 0),
        ["run/model.safetensors: damaged", AGAIN],
    ),
    "weights with a flipped bit": (
        lambda run: flip(run / "model.safetensors", 0.7),
        ["run/model.safetensors: damaged: its checksum does not match", AGAIN],
    ),
    "weights of another program": (
        lambda run: (run / "model.safetensors").write_bytes(foreign()),
        ["run/model.safetensors: damaged: written by another program", AGAIN],
    ),
    "weights of other shapes": (
        lambda run: tensors(run, lambda own: own.update({"output.linear.bias": torch.zeros(3)})),
        ["run/model.safetensors: tensor 'output.linear.bias' should have shape (1,); got (3,)",
         "belong to another config.json"],
    ),
    "weights lack a tensor": (
        lambda run: tensors(run, lambda own: own.pop("output.linear.bias")),
        ["run/model.safetensors: has no tensor 'output.linear.bias'", AGAIN],
    ),
    "weights with a tensor too many": (
        lambda run: tensors(run, lambda own: own.update(extra=torch.zeros(1))),
        ["run/model.safetensors: holds a tensor that this model has not; got 'extra'", AGAIN],
    ),
    "weights with NaN": (
        lambda run: tensors(run, lambda own: own["output.linear.bias"].fill_(torch.nan)),
        ["run/model.safetensors: tensor 'output.linear.bias' holds values that are not", AGAIN],
    ),
    "weights are a folder": (
        lambda run: [(run / "model.safetensors").unlink(), (run / "model.safetensors").mkdir()],
        ["run/model.safetensors: damaged", AGAIN],
    ),
    "no tokenizer": (
        lambda run: (run / "tokenizer.json").unlink(),
        ["run/tokenizer.json: missing from the run folder", AGAIN],
    ),
    "tokenizer damaged": (
        lambda run: edit(run / "tokenizer.json", lambda t: t["vocab"].pop(0)),
        ["run/tokenizer.json: the stored tokenizer cannot be read", "rain again"],
    ),
    "tokenizer of an unknown kind": (
        lambda run: edit(run / "tokenizer.json", lambda t: t.update(kind="morse")),
        ["run/tokenizer.json: the stored tokenizer cannot be read", "'morse'"],
    ),
    "tokenizer of the wrong kind": (
        lambda run: edit(run / "tokenizer.json", lambda t: t.update(kind="char")),
        ["run/tokenizer.json: holds other fields than a tokenizer of the kind 'char'", AGAIN],
    ),
    "tokenizer of another size": (
        lambda run: edit(run / "tokenizer.json", lambda t: t["vocab"].append("extra")),
        ["run/model.safetensors: tensor 'encoder.input.embedding", "should have shape", AGAIN],
    ),
    "no labels": (
        lambda run: (run / "labels.json").unlink(),
        ["run/labels.json: missing from the run folder", AGAIN],
    ),
    "labels of another kind": (
        lambda run: (run / "labels.json").write_text('{"pos": 1}'),
        ["run/labels.json: not a list of at least two different labels", AGAIN],
    ),
    "labels twice": (
        lambda run: (run / "labels.json").write_text('["pos", "pos"]'),
        ["run/labels.json: not a list of at least two different labels", AGAIN],
    ),
    "labels too many": (
        lambda run: (run / "labels.json").write_text('["neg", "pos", "meh"]'),
        ["run/model.safetensors: tensor 'output.", "should have shape", AGAIN],
    ),
}  # fmt: skip


def foreign() -> bytes:
    from safetensors.torch import save

    return save({"x": torch.zeros(1)})


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_run_folder(kind, damaged, refused) -> None:
    damage, says = DAMAGE[kind]
    damage(damaged)
    refused("predict", damaged, "a fine film", says=says, kept=damaged)


@pytest.mark.parametrize("place", range(0, 800, 16))
def test_no_bit_of_the_header_of_the_weights_may_flip(place, damaged, refused) -> None:
    path = damaged / "model.safetensors"
    content = bytearray(path.read_bytes())
    for bit in (1, 32):
        content[place] ^= bit
        path.write_bytes(content)
        refused("summary", damaged, says=["run/model.safetensors: damaged", AGAIN])
        content[place] ^= bit


@pytest.mark.parametrize("command", ["evaluate", "predict", "generate", "summary"])
def test_a_run_folder_that_is_none(command, here, file, refused) -> None:
    more = ["x"] if command in ("evaluate", "predict") else []
    refused(command, here / "gone", *more, says=["gone: no such run folder", "Check the path"])
    data = file()
    refused(command, data, *more, says=["data.csv: not a run folder but a file", "Give the folder"])
    (here / "empty").mkdir()
    refused(command, here / "empty", *more, says=["empty: not a run folder"])


# Where to write


def test_out_already_holds_a_run(file, classifier, refused) -> None:
    refused(
        "train", file(), "--out", classifier, kept=classifier,
        says=["classifier: already holds a run", "--resume or remove it"],
    )  # fmt: skip


def test_out_cannot_be_made(file, refused) -> None:
    data = file()
    refused(
        "train", data, "--out", data / "run", says=["cannot make the run folder", "other --out"]
    )
    refused("train", data, "--out", data, says=["data.csv: cannot make the run folder"])


def test_out_is_a_folder_of_something_else(here, file, refused) -> None:
    """`--out .` in a project must not overwrite its README.md."""
    (here / "project").mkdir()
    (here / "project" / "README.md").write_text("mine")
    refused(
        "train", file(), "--out", here / "project", kept=here / "project",
        says=["project: holds other files", "got 'README.md'", "new folder as --out"],
    )  # fmt: skip


def test_out_without_rights(here, file, refused, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused("train", file(), "--out", "a/b", says=["a/b: no right to write", "Give another --out"])


# Going on


def test_resume_of_a_folder_without_a_run(here, refused) -> None:
    (here / "empty").mkdir()
    refused(
        "train",
        "--resume",
        "--out",
        here / "empty",
        says=["empty: not a run folder", "config.json"],
    )
    refused("train", "--resume", "--out", here / "gone", says=["gone: no such run folder"])


@pytest.fixture
def begun(here, file, unspool) -> Path:
    """A run of two steps on data that a test may change."""
    data = file()
    small = ["-s", "hidden=2", "-s", "embedding=2", "-s", "max_steps=2", "-s", "threads=1"]
    assert unspool("train", data, "--out", here / "begun", *small).code == 0
    return here / "begun"


def test_resume_with_changed_data(begun, file, refused) -> None:
    file(TABLE + "one more,pos\n")
    refused(
        "train", "--resume", "--out", begun, kept=begun,
        says=["data.csv: the train data have changed", "another --out"],
    )  # fmt: skip


def test_resume_with_other_settings(begun, file, refused, unspool) -> None:
    resume = ["train", "--resume", "--out", begun]
    refused(
        *resume, "-s", "hidden=4", kept=begun,
        says=["has model.hidden=2, and a resumed run keeps its settings; got 4", "--out"],
    )  # fmt: skip
    refused(*resume, "-m", "gru", kept=begun, says=["the run has model_name=bilstm", "got 'gru'"])
    refused(*resume, "-t", "generate", kept=begun, says=["the run has task=classify"])
    refused(*resume, "--test", file(), kept=begun, says=["begun: the run has no test file"])
    assert unspool(*resume, "-s", "hidden=2", "-m", "bilstm").code == 0


def test_resume_of_a_damaged_run(begun, refused) -> None:
    edit(begun / "config.json", lambda record: record.pop("data"))
    refused("train", "--resume", "--out", begun, kept=begun, says=["config.json: damaged", AGAIN])


# Predicting and writing


def test_evaluate_on_another_kind_of_data(file, classifier, refused) -> None:
    rows = "".join(f"{i // 4},{i % 4},{i}.5,{'ab'[i // 4 % 2]}\n" for i in range(40))
    path = file("id,time,x,label\n" + rows, "steps.csv")
    says = ["steps.csv: the model reads text, and the file was read as series, label"]
    refused("evaluate", classifier, path, says=[*says, "Give data like those"])


def test_predict(file, classifier, here, refused) -> None:
    predict = ["predict", classifier]
    refused(*predict, says=["no text given", "--file FILE, or - for standard input"])
    refused(*predict, "x", "--file", file(), says=["give texts or --file, not both"])
    refused(*predict, "x", "--out", "a.xls", says=["a.xls: unknown ending of the output file",
            "hoose from .csv, .tsv, .xlsx, .parquet, .jsonl"])  # fmt: skip
    refused(*predict, "x", "--out", "gone/a.csv", says=["gone/a.csv: cannot be written",
            "No such file or directory", "Give another --out"])  # fmt: skip
    refused(*predict, "--file", "gone.csv", says=["gone.csv: no such file", "Check the path"])
    refused(*predict, "--file", file(), "--format", "xls", says=["unknown format; got 'xls'"])
    refused(*predict, "--file", file(), "--text", "txt", says=["data.csv:1: there is no column"])


def test_a_file_that_turns_bad_leaves_no_output(file, classifier, refused) -> None:
    data = file(TABLE + "ragged\n")
    refused("predict", classifier, "--file", data, "--out", "a.csv", says=["data.csv:26: expected"])


def test_standard_input_that_cannot_be_read(classifier, refused, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"good\ncaf\xe9\n")))
    refused("predict", classifier, "-", says=["standard input:2: not valid utf-8", "--encoding"])


def test_an_argument_that_is_no_text(classifier, writer, refused) -> None:
    broken = b"caf\xe9".decode("utf-8", "surrogateescape")
    refused("predict", classifier, broken, says=["a text is not valid text", "--encoding"])
    refused("generate", writer, "--prompt", broken, says=["--prompt is not valid text"])


def test_a_text_too_short_to_evaluate(file, writer, refused) -> None:
    refused("evaluate", writer, file("a", "a.txt"), says=["a.txt: a text of 1 tokens", "Give more"])


def test_generate_needs_a_language_model(classifier, refused) -> None:
    refused(
        "generate", classifier, says=["needs a language model", "classifier", "--task generate"]
    )


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--temperature", "-1", ["temperature must be 0", "or more; got -1"]),
        ("--temperature", "nan", ["temperature"]),
        ("--temperature", "hot", ["'--temperature'", "See `unspool generate --help`"]),
        ("--top-k", "-1", ["top-k must be 0 (off) or more; got -1"]),
        ("--top-p", "0", ["top-p must be above 0 and at most 1; got 0"]),
        ("--top-p", "nan", ["top-p"]),
        ("--length", "0", ["'--length'", "1", "See `unspool generate --help`"]),
        ("--seed", "-1", ["seed"]),
    ],
)
def test_sampling_that_cannot_be(option, value, says, writer, refused) -> None:
    refused("generate", writer, option, value, says=says)


# Usage


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["trian"], ["No such command 'trian'. Did you mean 'train'?", "See `unspool --help`"]),
        (["train", "--epochs", "3"], ["No such option: --epochs", "See `unspool train --help`"]),
        (["--verbose"], ["No such option: --verbose", "See `unspool --help`"]),
        (["predict"], ["Missing argument 'RUN'", "See `unspool predict --help`"]),
        (["evaluate", "run"], ["Missing argument 'DATA...'", "See `unspool evaluate --help`"]),
        (["look", "a", "b", "c"], ["unexpected extra argument", "See `unspool look --help`"]),
        (["train", "a", "--out"], ["'--out'", "requires an argument"]),
        (["demo", "helo"], ["unknown demo; got 'helo'", "Did you mean 'hello'?"]),
        (["demo", "hello", "--json"], ["--json is for --list", "Add --list"]),
        (["demo", "hello", "--list"], ["a NAME, --list and --data are three things", "Give one"]),
        (["summary", "--classes", "1"], ["'--classes'", "See `unspool summary --help`"]),
        (["summary", "-m", "bilstn"], ["unknown model; got 'bilstn'", "Did you mean 'bilstm'?"]),
    ],
    ids=lambda value: " ".join(value) if len(value[0]) < 12 else "",
)
def test_usage(arguments, says, refused) -> None:
    refused(*arguments, says=says)


def test_summary_of_a_run_with_other_settings(classifier, refused) -> None:
    refused("summary", classifier, "-m", "gru", says=["classifier: a run has its own settings"])


def test_compare(file, here, refused) -> None:
    compare = ["compare", file()]
    refused(*compare, says=["Missing option '--models'", "See `unspool compare --help`"])
    refused(*compare, "--models", ",", says=["no models to compare", "--models lstm,gru"])
    refused(*compare, "--models", "lstm,gur", says=["unknown model; got 'gur'", "'gru'"])
    refused(*compare, "--models", "gru,gru", says=["a model is named twice", "Name each one once"])
    refused(
        *compare,
        "-t",
        "generate",
        "--models",
        "lstm,bigru",
        says=["both directions", "--model gru"],
    )
    taken = here / "c" / "gru-seed2"
    taken.mkdir(parents=True)
    (taken / "config.json").write_text("{}")
    refused(
        *compare, "--models", "lstm,gru", "--seeds", "2", "--out", here / "c", kept=here / "c",
        says=["gru-seed2: already holds a run"],
    )  # fmt: skip
    assert [path.name for path in (here / "c").iterdir()] == ["gru-seed2"]


# What is no fault of the input


def test_ctrl_c_is_one_line(file, unspool, monkeypatch) -> None:
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("unspool.api.train.train", stop)
    ended = unspool("train", file())
    assert (ended.code, ended.err) == (130, "unspool: stopped\n")


def test_a_disk_error_is_exit_code_1(file, refused, monkeypatch) -> None:
    def full(*_: object, **__: object) -> Iterator[bytes]:
        raise OSError(28, "No space left on device", "/cache/x")

    monkeypatch.setattr("unspool.tasks.task.load_corpus", full)
    refused("train", file(), code=1, says=["/cache/x: No space left on device"])


def test_every_message_reads_as_one_line(refused, file) -> None:
    line = refused("train", file("text,label\n"), says=[])
    assert re.fullmatch(r"unspool: \S+: .+\. [A-Z].+", line)
