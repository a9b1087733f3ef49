"""Every command does its work: results on stdout, everything else on stderr, exit code 0."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import typer.main

import unspool as package
from unspool.cli import show
from unspool.cli.app import app
from unspool.demos import DEMOS

SMALL = ["-s", "hidden=4", "-s", "embedding=4", "-s", "threads=1", "-s", "lr=0.01"]
COMMANDS = [
    "train", "check", "evaluate", "predict", "generate", "summary", "look", "serve",
    "export", "pack", "ngrams", "compare", "embed", "topics", "settings", "demo",
    "vectors neighbours", "vectors analogy",
    "vectors similarity", "vectors map", "vectors convert", "vectors context",
]  # fmt: skip


def test_train_prints_the_report_alone_on_stdout(unspool, reviews, tmp_path) -> None:
    out = tmp_path / "run"
    ended = unspool("train", reviews, "-o", out, "-m", "bigru", "-s", "epochs=2", *SMALL)
    assert ended.code == 0
    assert ended.out.startswith("24 examples\naccuracy")
    assert "confusion" in ended.out
    shown = ended.err.splitlines()
    assert shown[0].endswith("CSV, text in column 'text', label in 'label' -> classify")
    assert any(line.startswith("rows: train 216, valid 24") for line in shown)
    assert any(f"run folder: {out}" in line for line in shown)
    assert any("valid accuracy" in line for line in shown)
    assert shown[-2] == "on the valid part:"
    usage = f'unspool predict {out} "some text"'
    assert shown[-1] == f"next: the same command with --model linear or --model auto · {usage}"
    again = unspool("train", "--resume", "-o", out, "--json")
    assert again.code == 0
    assert json.loads(again.out)["run"] == str(out)


def test_train_as_json(unspool, reviews, tmp_path) -> None:
    run = ["train", reviews, *SMALL, "-s", "max_steps=2", "--json", "--out"]
    result = json.loads(unspool(*run, tmp_path / "a", "--test", reviews).out)
    assert result["part"] == "test"
    assert result["examples"] == 240
    assert 0 <= result["accuracy"] <= 1
    result = json.loads(unspool(*run, tmp_path / "b", "-s", "valid_share=0").out)
    assert (result.pop("run"), result.pop("part")) == (str(tmp_path / "b"), None)
    assert list(result) == ["data"]
    assert result["data"]["rows"] == {"train": 240}


def test_train_names_a_folder_by_itself(unspool, book, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "small.toml"
    config.write_text(
        'task = "generate"\nmodel = "gru"\nhidden = 4\n[train]\nmax_steps = 2\nthreads = 1\n'
    )
    for name in ("runs/book-gru", "runs/book-gru-2"):
        ended = unspool("train", book, "-c", config)
        assert ended.code == 0
        assert f'next: unspool generate {name} --prompt "Once" ·' in ended.err
        assert (tmp_path / name / "model.safetensors").exists()
    assert "perplexity" in ended.out


def test_train_from_standard_input(unspool, reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(reviews.read_bytes())))
    ended = unspool("train", "-", "-o", tmp_path / "run", "-s", "max_steps=1", *SMALL)
    assert ended.code == 0, ended.err
    assert ended.err.startswith("standard input: CSV")


def test_compare_reads_standard_input_once(unspool, reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(reviews.read_bytes())))
    models = ["--models", "elman,irnn", "-s", "max_steps=1", *SMALL]
    ended = unspool("compare", "-", "-o", tmp_path / "c", *models)
    assert ended.code == 0, ended.err


def test_evaluate(unspool, classifier, writer, reviews, book) -> None:
    ended = unspool("evaluate", classifier, reviews)
    assert ended.code == 0
    assert ended.out.startswith("240 examples")
    first, second = ended.err.splitlines()
    assert first == f"{reviews}: CSV, text in column 'text', label in 'label' -> classify"
    assert "the model was trained on this very file, on 163 of 240 rows" in second
    result = json.loads(unspool("evaluate", classifier, reviews, "--json").out)
    assert result["accuracy"] > 0.95
    result = json.loads(unspool("evaluate", writer, book, "--json").out)
    assert result["perplexity"] > 1


def test_a_report_as_csv_and_as_latex(unspool, classifier, reviews) -> None:
    report = json.loads(unspool("evaluate", classifier, reviews, "--json").out)
    rows = list(csv.DictReader(io.StringIO(unspool("evaluate", classifier, reviews, "--csv").out)))
    values = {(row["of"], row["metric"]): row for row in rows}
    for name in ("accuracy", "kappa", "mcc", "auc", "macro_f1", "weighted_f1", "loss"):
        assert float(values["all", name]["value"]) == report[name]
    low, high = report["accuracy_interval"]
    accuracy = values["all", "accuracy"]
    assert (float(accuracy["low"]), float(accuracy["high"])) == (low, high)
    for name, score in report["classes"].items():
        assert {m: float(values[name, m]["value"]) for m in score} == score
    latex = unspool("evaluate", classifier, reviews, "--latex").out
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    assert f"accuracy & {report['accuracy']:.4f} & {low:.4f} & {high:.4f} \\\\" in latex
    assert r"macro\_f1 & " in latex
    both = unspool("evaluate", classifier, reviews, "--csv", "--latex")
    assert (both.code, both.out) == (2, "")
    assert "--json, --csv and --latex exclude each other" in both.err


def test_evaluate_reads_as_told(unspool, classifier, tmp_path) -> None:
    data = tmp_path / "odd.txt"
    data.write_bytes("opinion;notes;words\npos;x;great caf\xe9\nneg;y;awful\n".encode("latin-1"))
    ended = unspool(
        "evaluate", classifier, data, "--format", "csv", "--encoding", "latin-1",
        "--text", "words", "--label", "opinion", "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["accuracy"] == 1


def test_generate(unspool, writer) -> None:
    write = ["generate", writer, "--prompt", "the film ", "--length", "30"]
    first = unspool(*write, "--seed", "5")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("the film ")
    assert len(first.out) == len("the film ") + 30 + 1
    assert unspool(*write, "--seed", "5").out == first.out
    assert unspool(*write, "--seed", "6").out != first.out
    result = json.loads(unspool(*write, "--seed", "5", "--json").out)
    assert result == {"prompt": "the film ", "text": first.out[:-1], "seed": 5}
    options = ["--temperature", "0.5", "--top-k", "3", "--top-p", "0.9"]
    assert unspool(*write, *options).code == 0


@pytest.mark.parametrize(("model", "count"), [("lstm", "82,129"), ("bilstm", "84,257")])
def test_summary_of_the_course_figures(model, count, unspool) -> None:
    options = ["-s", "vocab=5000", "-s", "embedding=16", "-s", "hidden=16"]
    ended = unspool("summary", "--task", "classify", "--model", model, *options)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == f"{count} parameters, {count} trainable"
    result = json.loads(unspool("summary", "-m", model, *options, "--json").out)
    assert result["parameters"] == int(count.replace(",", ""))


def test_summary_of_a_run(unspool, classifier, writer) -> None:
    result = json.loads(unspool("summary", classifier, "--json").out)
    weights = package.load(classifier).model.parameters()
    assert result["parameters"] == sum(p.numel() for p in weights)
    assert "gru" in unspool("summary", writer).out
    assert unspool("summary", "-t", "generate", "-s", "tied=true").code == 0


@pytest.mark.parametrize(("share", "drawn"), [("0.45", True), ("0.1", False)])
def test_a_report_on_enough_examples_is_drawn(share, drawn, unspool, reviews, tmp_path) -> None:
    options = ["-s", f"valid_share={share}", "-s", "epochs=2", *SMALL]
    ended = unspool("train", reviews, "-m", "gru", "-o", tmp_path / "run", *options)
    assert ended.code == 0, ended.err
    for name in ("confusion", "learning"):
        assert (tmp_path / "run" / f"{name}.png").exists() == drawn


def test_compare(unspool, reviews, tmp_path) -> None:
    out = tmp_path / "c"
    ended = unspool(
        "compare", reviews, "--models", "elman, gru", "-o", out, "-s", "max_steps=2", *SMALL
    )
    assert ended.code == 0
    assert ended.out.splitlines()[0].split()[:3] == ["model", "test", "accuracy"]
    rows = {line.split()[0] for line in ended.out.splitlines()[1:]}
    assert rows == {"elman", "gru", "linear", "majority"}
    saved = ", ".join(f"{out}/compare.{ending}" for ending in ("csv", "md", "tex"))
    assert ended.err.splitlines()[-1] == f"saved: {saved}"
    assert {path.name for path in out.iterdir()} == {
        "elman-seed1", "gru-seed1", "linear-seed1", "majority-seed1", "compare.csv", "compare.md",
        "compare.tex",
    }  # fmt: skip
    latex = (out / "compare.tex").read_text()
    assert latex.startswith(
        "\\begin{tabular}{lrrrrrrrr}\n\\toprule\nmodel & test accuracy & 95 \\%"
    )
    assert latex.count(" \\\\\n") == 5


def test_check(unspool, reviews, book) -> None:
    ended = unspool("check", reviews)
    assert (ended.code, ended.err) == (0, "")
    assert "classify" in ended.out
    json.loads(unspool("check", reviews, "--json").out)
    assert unspool("check", book, "-t", "generate").code == 0


def test_settings(unspool) -> None:
    ended = unspool("settings")
    assert "train.epochs" in ended.out
    assert "maximum number of passes over the training data" in ended.out
    assert "[last|mean|max|attention|position|cls]" in ended.out
    assert "reset=after" in ended.out
    assert "defaults of the task generate that differ: model.hidden=256" in ended.out
    result = json.loads(unspool("settings", "--json").out)
    assert result["settings"]["train.epochs"]["default"] == 10
    assert {"auto", "csv", "parquet"} <= set(result["settings"]["data.format"]["choices"])
    assert result["cells"]["gru"]["reset"] == "after"


def test_settings_of_a_run(unspool) -> None:
    ended = unspool("settings", "--task", "classify", "--model", "cnn")
    assert ended.out.startswith("settings of --task classify --model cnn\n\ntask classify\n")
    assert all(f"\n{group}\n" in ended.out for group in ("text input", "network", "training"))
    assert "model.filters" in ended.out
    assert "model.hidden" not in ended.out
    assert "data.horizon" not in ended.out
    result = json.loads(unspool("settings", "-t", "forecast", "-m", "lstm", "--json").out)
    assert result["settings"]["task forecast"]["data.horizon"]["default"] == 0
    assert result["cell"] == {"forget_bias": 1.0}
    ended = unspool("settings", "--task", "classify", "--set", "horizon=3")
    assert (ended.code, ended.out) == (2, "")
    assert "data.horizon is a setting of forecast; this is classify of text" in ended.err


def test_demo_list(unspool) -> None:
    ended = unspool("demo", "--list")
    assert ended.code == 0
    demos, course = ended.out.split("\n\n", 1)
    names = list(DEMOS)
    assert {"dates", "opinions", "hello"} <= set(names)
    assert [line.split()[0] for line in demos.splitlines()] == names
    shown = json.loads(unspool("demo", "--list", "--json").out)
    assert list(shown["demos"]) == names
    assert len(shown["course"]) > 40
    assert all(f"  {idea['idea']}\n      unspool " in course for idea in shown["course"])


def test_demo_data(unspool, tmp_path) -> None:
    ended = unspool("demo", "--data", tmp_path / "data")
    assert (ended.code, ended.err) == (0, "")
    assert len(ended.out.splitlines()) == len(list((tmp_path / "data").iterdir())) == 8


def test_demo_hello(unspool) -> None:
    ended = unspool("demo", "hello")
    assert (ended.code, ended.err) == (0, "")
    assert "40 parameters" in ended.out


def test_version(unspool) -> None:
    ended = unspool("--version")
    assert ended.code == 0
    assert ended.out.startswith(f"unspool {package.__version__} (torch ")


# Help


def test_help_without_a_command(unspool) -> None:
    ended = unspool()
    assert ended.code == 0
    assert ended == unspool("--help")
    for command in COMMANDS:
        assert f"\n  {command.split()[0]}" in ended.out
    assert "..." not in ended.out.split("Commands:")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command, unspool) -> None:
    words = command.split()
    ended = unspool(*words, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: unspool {command}")
    assert ended == unspool(*words, "-h")


def all_commands() -> dict[str, Any]:
    """Every command by its name, those of a group with the group's before it."""
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        found |= {f"{name} {own}": its for own, its in inner.items()} or {name: command}
    return found


def test_every_option_has_help_and_every_command_is_listed() -> None:
    commands = all_commands()
    assert list(commands) == COMMANDS
    for command in commands.values():
        assert command.help
        for option in command.params:
            assert option.help, f"{command.name} {option.name}"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_of_the_help_parse(command, unspool) -> None:
    """Every example line stands alone and names options that exist."""
    params = all_commands()[command].params
    found = 0
    for line in unspool(*command.split(), "--help").out.splitlines():
        _, mark, example = line.partition(f"unspool {command} ")
        if not mark or not line.startswith("    "):
            continue
        found += 1
        words = [word.strip('"') for word in example.split("   ")[0].split() if word != "|"]
        known = {name for option in params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= known
    assert found > 0 or command == "settings"


COMMAND = f"{sys.executable} -m unspool"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line, shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )  # fmt: skip


def test_help_answers_at_once() -> None:
    """In 0.3 s of an idle machine; CPU time is what a busy one cannot stretch too far."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = subprocess.run([sys.executable, "-m", "unspool", "--help"], capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert ended.returncode == 0
    assert min(times) < 0.6


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"], ["trian"]])
def test_help_does_not_import_torch(arguments) -> None:
    code = (
        f"import sys, unspool.cli; code = unspool.cli.run({arguments})\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules; sys.exit(code)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == (2 if arguments == ["trian"] else 0), ended.stderr


# The shell


def test_a_reader_that_goes_away_is_no_error() -> None:
    ended = shell(f"{COMMAND} settings | head -1; echo ${{PIPESTATUS[0]}}")
    first, code = ended.stdout.splitlines()
    assert first.startswith("setting")
    assert code in ("0", "141")  # 0 where all was written before head had gone
    assert ended.stderr == ""
    ended = shell(f"({COMMAND} --help; echo $? >&2) | true")
    assert ended.stderr in ("0\n", "141\n")


def test_a_broken_pipe_in_the_middle(monkeypatch, classifier) -> None:
    line = f"yes 'a great film' | head -3000 | {COMMAND} predict {classifier} - | head -1"
    ended = shell(f"{line}; echo ${{PIPESTATUS[2]}}")
    assert ended.stderr == ""
    assert ended.stdout.splitlines()[0].startswith("pos\t")
    assert ended.stdout.splitlines()[1] == "141"


def test_exit_codes_of_the_process(tmp_path) -> None:
    assert shell(f"{COMMAND} --version").returncode == 0
    ended = shell(f"{COMMAND} train {tmp_path}/gone.csv")
    assert ended.returncode == 2
    assert ended.stderr == f"unspool: {tmp_path}/gone.csv: no such file. Check the path\n"


def test_ctrl_c_while_reading_is_exit_code_130(unspool, reviews, tmp_path, monkeypatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    # A job in the background is started with the signal ignored; a person's shell does not do that.
    monkeypatch.setattr("unspool.tasks.task.load_corpus", interrupt)
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ended = unspool("train", reviews, "--out", tmp_path / "run")
    finally:
        signal.signal(signal.SIGINT, previous)
    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(shutil.which("script") is None, reason="needs `script` to play a terminal")
def test_no_color_on_a_terminal(reviews, tmp_path) -> None:
    run = f"{COMMAND} train {reviews} -o {tmp_path}/r -s max_steps=2 {' '.join(SMALL)}"
    ended = shell(f"script -qec '{run}' /dev/null", TERM="xterm-256color", NO_COLOR="1")
    assert ended.returncode == 0, ended.stdout
    assert "\x1b[?25h" in ended.stdout  # there was a live bar, and the cursor is back
    assert not re.search(r"\x1b\[(3|4|9|10)\d", ended.stdout)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_error_while_a_bar_is_shown_gives_the_cursor_back(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with suppress(ValueError), show.reading() as progress:
        progress("reading", 0.1)
        raise ValueError
    written = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[?25l" in written
    assert written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l")


def test_python_m_unspool() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "unspool", "--version"], capture_output=True, text=True
    )
    assert ended.stdout.startswith("unspool ")
    script = Path(sys.executable).with_name("unspool")
    if script.exists():
        assert subprocess.run([script, "--version"], capture_output=True, text=True).stdout == (
            ended.stdout
        )
