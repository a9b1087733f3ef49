"""Messages speak of arguments in Python and of options on the command line."""

import ast
import pickle
import re
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import unspool
from unspool.errors import (
    Command,
    ConfigError,
    DataError,
    Option,
    Setting,
    UserError,
    as_flags,
    parts_of,
    worded,
)

SOURCE = Path(unspool.__file__).parent
SMALL = {"hidden": 8, "embedding": 6, "threads": 1, "max_steps": 1}


@pytest.mark.parametrize(
    ("message", "flags", "arguments"),
    [
        (("name it with ", Option("label"), ", or use ", Option(task="generate")),
         "name it with --label, or use --task generate",
         'name it with label=, or use task="generate"'),
        (("leave out ", Option("model"), ", or train from scratch without ", Option("start")),
         "leave out --model, or train from scratch without --from",
         "leave out model=, or train from scratch without start="),
        (Setting(lowercase=True, kind="bpe"),
         "--set lowercase=true --set kind=bpe", 'lowercase=True, kind="bpe"'),
        (("such as ", Setting(valid_share=0.3), ", or files with ", Option("valid", "test")),
         "such as --set valid_share=0.3, or files with --valid and --test",
         "such as valid_share=0.3, or files with valid= and test="),
        (("with ", Setting(**{"embedding.from": Path("/tmp/x")})),
         "with --set embedding.from=/tmp/x", 'with **{"embedding.from": "/tmp/x"}'),
        (("go on with: ", Command("train", resume=True, out="runs/a")),
         "go on with: unspool train --resume --out runs/a",
         'go on with: unspool.train(resume=True, out="runs/a")'),
        (Command("embed", "CORPUS", method="elmo"),
         "unspool embed CORPUS --method elmo", 'unspool.embed.embed(CORPUS, method="elmo")'),
        (Command("settings", task="tag"), "unspool settings --task tag",
         "unspool settings --task tag"),
        (("did you mean ", Option(text="review"), "?"),
         "did you mean --text review?", 'did you mean text="review"?'),
        (Option(text="my text"), "--text 'my text'", 'text="my text"'),
        (Option(models=["lstm", "gru"]), "--models lstm,gru", 'models=["lstm", "gru"]'),
        (Option(fix="OUT", repair="usual,near"),
         "--fix OUT --repair usual,near", 'fix=OUT, repair="usual,near"'),
        (("(", Option(multilabel=False), ": one label a cell)"),
         "(--no-multilabel: one label a cell)", "(multilabel=False: one label a cell)"),
        (Option(label_separator=","), "--label-separator ','", 'label_separator=","'),
        (Option("beam", "nbest", "max_length"),
         "--beam, --nbest and --max-length", "beam=, nbest= and max_length="),
        (("another ", Option("out"), ", or ", Option(resume=True)),
         "another --out, or --resume", "another out=, or resume=True"),
        (Option(horizon=np.int64(3)), "--horizon 3", "horizon=3"),
        (Option(plugin="a.b"), "--plugin a.b", "`import a.b`"),
        (Option("settings"), "--set", "settings"),
        ("a {name} -- b, x--y, --- and -1", *["a {name} -- b, x--y, --- and -1"] * 2),
    ],
)  # fmt: skip
def test_options_are_worded_when_a_message_is_shown(message, flags, arguments) -> None:
    error = pickle.loads(
        pickle.dumps(DataError("no", where="a.csv", remedy=("Or ", *parts_of(message))))
    )
    again = ConfigError(error.message, where="run")
    for style, text in ((nullcontext(), arguments), (as_flags(), flags)):
        with style:
            assert worded(message) == text
            assert str(error) == f"a.csv: no. Or {text}"
            assert str(again) == f"run: a.csv: no. Or {text}"


def test_a_remedy_begins_with_a_capital_unless_it_is_an_option() -> None:
    assert str(DataError("no", remedy="try")) == "no. Try"
    assert str(DataError("no", remedy=(Option("out"), " helps"))) == "no. out= helps"
    assert str(DataError("no", where=Option("out"), got=Option(folds=3))) == "out=: no; got folds=3"


def messages(path: Path) -> list[str]:
    """Every string but for docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    skipped += [
        node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "help"
    ]
    inside = {id(part) for node in skipped for part in ast.walk(node)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [
        node.value for node in strings if isinstance(node.value, str) and id(node) not in inside
    ]


PLAIN = ("cli/", "demos/", "errors.py", "export/", "insight/plots/", "io/html.py")


def test_no_message_of_the_source_spells_an_option() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        if not str(path.relative_to(SOURCE)).startswith(PLAIN):
            for text in messages(path):
                usage = re.match(r" *unspool |.*var\(--| --(text|out) ", text)
                assert usage or not re.search(r"(?<![\w-])--[a-z]", text), f"{path}: {text}"


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


@pytest.fixture
def uneven(tmp_path) -> Path:
    """Texts of which few have one of the labels, for which `check` suggests a setting."""
    rows = [f"some text number {i},{'rare' if i % 40 == 0 else 'common'}" for i in range(400)]
    path = tmp_path / "uneven.csv"
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    return path


def test_notes_and_suggestions_speak_of_arguments_too(uneven, tmp_path) -> None:
    notes: list[str] = []
    labels = ["a,b", "b,c", "a,c", "b"] * 10
    texts = [f"text number {i}" for i in range(40)]
    unspool.train(texts, labels, out=tmp_path / "r", note=notes.append, **SMALL)
    assert any("multilabel=False" in note for note in notes)
    assert not any("--" in note for note in notes)
    report = unspool.check(uneven)
    assert report.suggestions
    assert "--" not in repr(report)


def test_the_command_line_speaks_of_options(capfd, reviews, uneven, tmp_path) -> None:
    from unspool.cli import run

    assert run(["train", str(reviews), "--text", "txet", "--out", str(tmp_path / "r")]) == 2
    assert "Did you mean --text text?" in capfd.readouterr().err
    assert run(["check", str(uneven)]) == 0
    assert "suggestion: --set" in capfd.readouterr().out
    with pytest.raises(UserError, match='mean text="text"'):
        unspool.train(reviews, text="txet", out=tmp_path / "r")
