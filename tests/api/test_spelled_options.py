"""Messages speak of arguments in Python and of options on the command line."""

import ast
import re
from pathlib import Path

import pytest

import unspool
from unspool.api.spelling import as_arguments, spelled
from unspool.errors import UserError, as_flags

SOURCE = Path(unspool.__file__).parent
SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "max_steps": 1}


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("name it with --label, or use --task generate for a text",
         'name it with label=, or use task="generate" for a text'),
        ("leave out --model, or train anew without --from",
         "leave out model=, or train anew without start="),
        ("--set lowercase=true --set kind=bpe", 'lowercase=True, kind="bpe"'),
        ("such as --set valid_share=0.3, or files with --valid and --test",
         "such as valid_share=0.3, or files with valid= and test="),
        ("with --set embedding.from=/tmp/x", 'with **{"embedding.from": "/tmp/x"}'),
        ("go on with: unspool train --resume --out runs/a",
         'go on with: unspool.train(resume=True, out="runs/a")'),
        ("make one with `unspool embed CORPUS --method elmo`",
         'make one with `unspool.embed.embed(CORPUS, method="elmo")`'),
        ("did you mean --text review?", 'did you mean text="review"?'),
        ("add --encoding cp1252, or", 'add encoding="cp1252", or'),
        ("--models lstm,gru", 'models=["lstm", "gru"]'),
        ("--fix OUT --repair usual,near drops them", 'fix=OUT repair="usual,near" drops them'),
        ("(--no-multilabel: one label a cell)", "(multilabel=False: one label a cell)"),
        ("--label-separator ',' splits them", "label_separator=',' splits them"),
        ("give --beam as large as --nbest", "give beam= as large as nbest="),
        ("another --out, or --resume", "another out=, or resume=True"),
        ("a -- b, x--y, --- and -1", "a -- b, x--y, --- and -1"),
    ],
)  # fmt: skip
def test_options_become_arguments(flags, arguments) -> None:
    assert as_arguments(flags) == arguments
    assert as_arguments(arguments) == arguments
    assert spelled(flags) == arguments
    with as_flags():
        assert spelled(flags) == flags
    assert spelled(flags) == arguments


def messages() -> list[str]:
    """Every string of the source that names an option, but for docstrings, help and commands."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = str(path.relative_to(SOURCE))
        if name.startswith(("cli/", "demos/")) or name == "api/spelling.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
        found += [
            node.value
            for node in strings
            if isinstance(node.value, str) and id(node) not in docs and "--" in node.value
        ]
    return found


def test_no_message_of_the_source_keeps_an_option() -> None:
    assert len(messages()) > 80
    for message in messages():
        assert not re.search(r"(?<!\w)--[a-z]", as_arguments(message)), message


def bad_calls(reviews, book, folder):
    """Calls that are refused with a remedy."""
    run = unspool.train(reviews, out=folder / "run", **SMALL)
    yield lambda: unspool.train(reviews, text="txet", out=folder / "a")
    yield lambda: unspool.train(reviews, hiden=3, out=folder / "a")
    yield lambda: unspool.train(reviews, learning_rate=3, out=folder / "a")
    yield lambda: unspool.train(reviews, epochs="many", out=folder / "a")
    yield lambda: unspool.train(reviews, text="text", label="text", out=folder / "a")
    yield lambda: unspool.train(reviews, format="parquet", out=folder / "a")
    yield lambda: unspool.train(reviews, task="clasify", out=folder / "a")
    yield lambda: unspool.train(reviews, model="bilsm", out=folder / "a")
    yield lambda: unspool.train(reviews, model="cnn", cell="gru", out=folder / "a")
    yield lambda: unspool.train(reviews, freeze="all", out=folder / "a")
    yield lambda: unspool.train(reviews, kind="pretrained", out=folder / "a")
    yield lambda: unspool.train(reviews, tuned=True, out=folder / "a")
    yield lambda: unspool.train(reviews, source="txt", out=folder / "a")
    yield lambda: unspool.train(reviews, task="regress", out=folder / "a")
    yield lambda: unspool.train(reviews, encoding="utf8x", out=folder / "a")
    yield lambda: unspool.train(reviews, out=run.path)
    yield lambda: unspool.train(resume=True)
    yield lambda: unspool.train(resume=True, out=run.path, hidden=9)
    yield lambda: unspool.train(resume=True, out=run.path, start="x")
    yield lambda: unspool.train(reviews, resume=True, out=run.path, valid=reviews)
    yield lambda: unspool.train(["a b", "c d"], task="classify", out=folder / "a")
    yield lambda: unspool.train(book, task="generate", model="bilstm", out=folder / "a")
    yield lambda: unspool.train({"text": ["a"]}, ["x"], out=folder / "a")
    yield lambda: unspool.train(["a", "b"], ["x", "x"], out=folder / "a")
    yield lambda: unspool.compare(reviews, models=[])
    yield lambda: unspool.check(reviews, label="lable")
    yield lambda: unspool.load(folder)
    yield lambda: unspool.embed.embed(reviews, method="glove")
    yield lambda: unspool.embed.embed(reviews, sise=3, out=folder / "a")
    yield lambda: run.evaluate(reviews, label="lable")
    yield lambda: run.generate("a")
    yield lambda: run.vectors("a")
    yield lambda: run.predict({"texd": ["a"]}, text="text")
    yield lambda: list(run.predict_lazily({"texd": [5]}))
    yield lambda: run.predict(["a"], options=3)
    yield lambda: run.explain("a", answer="x")


def test_python_is_never_told_an_option(reviews, book, tmp_path) -> None:
    calls = list(bad_calls(reviews, book, tmp_path))
    for call in calls:
        with pytest.raises(UserError) as caught:
            call()
        assert "--" not in str(caught.value), str(caught.value)


def test_notes_and_suggestions_speak_of_arguments_too(reviews, tmp_path) -> None:
    notes: list[str] = []
    labels = ["a,b", "b,c", "a,c", "b"] * 10
    texts = [f"text number {i}" for i in range(40)]
    unspool.train(texts, labels, out=tmp_path / "r", note=notes.append, **SMALL)
    assert any("multilabel=False" in note for note in notes)
    assert not any("--" in note for note in notes)
    report = unspool.check(reviews)
    assert report.suggestions
    assert "--" not in repr(report)


def test_the_command_line_speaks_of_options(capfd, reviews, tmp_path) -> None:
    from unspool.cli import run

    assert run(["train", str(reviews), "--text", "txet", "--out", str(tmp_path / "r")]) == 2
    assert "Did you mean --text text?" in capfd.readouterr().err
    assert run(["check", str(reviews)]) == 0
    assert "suggestion: --set" in capfd.readouterr().out
    with pytest.raises(UserError, match='mean text="text"'):
        unspool.train(reviews, text="txet", out=tmp_path / "r")
