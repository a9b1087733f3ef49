"""Odd input on the command line: one line and exit code 2, never a traceback."""

import shlex
import subprocess
import sys

import pytest

from unspool.data.fields.audio import AudioSource
from unspool.data.fields.audio_frames import Framing
from unspool.errors import RunError
from unspool.io.files import write_json

CONLLU = "1\tdogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\trun\trun\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
CONLL = "Ann B-PER\nruns O\n\nshe O\nsees O\nBo B-PER\n\n"
QUICK = ["-s", "max_steps=1", "-s", "hidden=8", "-s", "precision=fp32"]
FAR_OUT = "9" * 5000


def test_a_tagger_of_spans_is_not_judged_by_other_tags(unspool, refused, file, here) -> None:
    run = here / "run"
    assert unspool("train", file(CONLL * 10, "n.conll"), "--out", run, *QUICK).code == 0
    plain = file("Ann NNP\nruns VBZ\n\n" * 5, "p.conll")
    refused("evaluate", run, plain, says=["p.conll:1", "tag 'NNP' marks no span", "B-PER"])
    other = file("Ann B-ABC\nruns I-XYZ\n\n" * 5, "o.conll")
    ended = unspool("evaluate", run, other)
    assert ended.code == 0
    assert "tags that do not occur in training" in ended.err


@pytest.mark.parametrize("task", ["classify", "regress", "pretrain", "generate", "translate"])
@pytest.mark.parametrize("format", ["conll", "conllu"])
def test_check_of_tags_for_another_task(unspool, file, task: str, format: str) -> None:
    path = file(CONLLU * 9 if format == "conllu" else CONLL * 9, f"d.{format}")
    ended = unspool("check", path, "--task", task, "--format", format)
    assert ended.code in (0, 2)
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("good 1_0 2\nbad 1 2\n", ["v.txt:1: is not a finite number; got '1_0'"]),
        ("good １ 2\nbad 1 2\n", ["v.txt:1: is not a finite number; got '１'"]),
        ("good 1 ٣\nbad 1 2\n", ["v.txt:1: is not a finite number"]),
        ("good 1 2\nbad 1\u20282\n", ["v.txt:2", "numbers"]),
        ("good 1 2\nbad 1\u00a02\n", ["v.txt:2", "numbers"]),
        ("good 1\u30002 3\nbad 1 2 3\n", ["v.txt", "numbers"]),
        (f"{FAR_OUT} 2\ngood 1 2\n", ["v.txt:1: the first line promises"]),
        (f"good {FAR_OUT} 2\nbad 1 2\n", ["v.txt:1: is not a finite number"]),
        ("good nan 2\nbad 1 2\n", ["v.txt:1: is not a finite number; got 'nan'"]),
        ("good 0x1 2\nbad 1 2\n", ["v.txt:1: is not a finite number; got '0x1'"]),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_vectors_of_odd_numbers(refused, file, content: str, says: list[str]) -> None:
    vectors = file(content, "v.txt")
    refused("vectors", "neighbours", vectors, "good", says=says)
    refused("train", file(), "-s", f"embedding.from={vectors}", says=says)


def test_vectors_of_a_size_that_none_have(refused, file) -> None:
    vectors = file(f"2 {FAR_OUT}\ngood 1 2\n", "v.txt")
    says = ["v.txt:2: has 2 numbers after the word"]
    refused("vectors", "neighbours", vectors, "good", says=says)
    refused("train", file(), "-s", f"embedding.from={vectors}", says=["would take more than any"])


@pytest.mark.parametrize("column", ["²", "1²", "٣", FAR_OUT, "-1", "1_0", ","])
@pytest.mark.parametrize("option", ["--text", "--label", "--group"])
def test_columns_that_are_no_numbers(refused, file, option: str, column: str) -> None:
    refused("train", file(), option, column, says=["column"])


def test_a_column_without_a_name(refused, file) -> None:
    refused("train", file(), "--text", "", says=["--text names no column"])


@pytest.mark.parametrize("encoding", ["punycode", "undefined", "utf-16", "idna\0", "", "hex"])
def test_encodings_that_are_none_for_files(refused, file, encoding: str) -> None:
    refused("train", file(), "--encoding", encoding, says=[""])


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "a\0b"],
        ["check", "a\0b"],
        ["embed", "a\0b"],
        ["train", "a\0b,c"],
        ["train", "{file}", "--valid", "a\0b"],
        ["train", "{file}", "--config", "a\0b"],
        ["train", "{file}", "-s", "embedding.from=a\0b"],
        ["train", "{file}", "--out", "a\0b"],
        ["train", "{file}", "--from", "a\0b"],
        ["predict", "a\0b", "text"],
        ["vectors", "neighbours", "a\0b", "word"],
        ["check", ""],
        ["embed", ""],
        ["topics", ""],
        ["topics", "a\0b"],
    ],
    ids=lambda words: " ".join(words).replace("\0", "0"),
)
def test_paths_that_are_none(refused, file, arguments: list[str]) -> None:
    path = str(file())
    refused(*(word.replace("{file}", path) for word in arguments), says=[""])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('model = ["bilstm"]', ["unknown model", "Did you mean 'bilstm'"]),
        ("model = 5", ["unknown model"]),
        ('task = ["classify"]', ["unknown task"]),
        (f"epochs = {FAR_OUT}", ["not a TOML file"]),
        ("cell = [1]", ["unknown cell"]),
        ("hidden = [3]", ["model.hidden"]),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_config_files_with_odd_values(refused, file, content: str, says: list[str]) -> None:
    refused("train", file(), "--config", file(content, "c.toml"), says=says)


def test_options_of_a_cell_are_not_for_word_vectors(refused, file) -> None:
    config = file("model.options.reset = 1", "c.toml")
    says = ["unknown setting; got 'model.options.reset'"]
    refused("embed", file(), "--config", config, says=says)


@pytest.fixture
def writer(unspool, file, here):
    path = file("it was a fine day and a fine night\n" * 30, "w.txt")
    assert unspool("train", path, "--task", "generate", "--out", here / "w", *QUICK).code == 0
    return here / "w"


def test_lengths_that_no_text_has(writer, refused) -> None:
    for length in ("-1", "0", "x", "1.5"):
        refused("generate", writer, "--length", length, says=["--length"])
    refused("generate", writer, "--length", str(10**30), says=["length must be below 2^63"])
    refused("generate", writer, "--length", str(10**12), says=["would take 48.0 TB of memory"])
    refused("generate", writer, "--seed", str(10**30), says=["seed must be below 2^63"])
    refused("generate", writer, "--temperature", "nan", says=["temperature must be a finite"])
    refused("predict", writer, "a\udc80", says=["is not valid text"])
    refused("generate", writer, "--prompt", "a\udc80", says=[""])


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(file, here, closed: str) -> None:
    command = shlex.join([sys.executable, "-m", "unspool", "settings", "--task", "classify"])
    done = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, text=True)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_a_segment_without_points_is_left_out(unspool, here) -> None:
    strokes = "".join(
        f'.SEGMENT DIGIT ? ? "{i % 2}"\n.PEN_DOWN\n{i} 1\n{i % 3} {i}\n.PEN_UP\n' for i in range(20)
    )
    (here / "d.unp").write_text(f".COORD X Y\n{strokes}")
    (here / "e.unp").write_text(f'.COORD X Y\n{strokes}.SEGMENT DIGIT ? ? "1"\n')
    settings = [*QUICK, "-s", "baseline=false"]
    assert unspool("train", here / "d.unp", "--out", here / "run", *settings).code == 0
    ended = unspool("evaluate", here / "run", here / "e.unp")
    assert ended.code == 0
    assert "1 rows with an empty strokes left out, the first at" in ended.err


def test_frames_without_bounds_in_a_run_are_refused(tmp_path) -> None:
    framing = {"rate": 8000, "window": 25.0, "hop": 10.0, "bands": 10**9, "features": "logmel"}
    write_json(tmp_path / "audio.json", {**framing, "coefficients": 13})
    with pytest.raises(RunError, match="invalid audio settings"):
        AudioSource(Framing(8000)).load(tmp_path)
