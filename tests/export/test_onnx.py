"""`unspool export`: the folder, the program in it, and what is refused."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unspool
from unspool.cli.app import app
from unspool.data.schemes import from_iobes
from unspool.errors import ConfigError
from unspool.export import standalone
from unspool.export.operators import OPERATORS
from unspool.nn import CELLS, Cell

PACKAGES = ("numpy", "onnxruntime", "flatbuffers", "google", "packaging", "tokenizers")


@pytest.fixture(scope="module")
def run(reviews, tmp_path_factory) -> unspool.Run:
    out = tmp_path_factory.mktemp("runs") / "reviews"
    return unspool.train(reviews, model="bigru", hidden=8, epochs=2, out=out, quiet=True)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory) -> Path:
    return run.export(tmp_path_factory.mktemp("exported") / "model").folder


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Path:
    """A folder of packages with what predict.py needs, and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    for name in PACKAGES:
        spec = find_spec(name)
        for place in (spec.submodule_search_locations if spec is not None else None) or ():
            (folder / name).symlink_to(place)
            if (libs := Path(place).with_name(f"{name}.libs")).exists():
                (folder / libs.name).symlink_to(libs)
    return folder


def predict(bare: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = (
        f"import sys, runpy; sys.path.append({str(bare)!r}); sys.argv = sys.argv[1:];"
        " runpy.run_path(sys.argv[0], run_name='__main__');"
        " sys.exit('torch' in sys.modules or 'unspool' in sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(folder / "predict.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


TEXTS = ["a good film", "", "Dull, don't!", "café " * 90, "unheard-of words: zebra"]


def test_predict_needs_numpy_and_onnxruntime_alone(run, exported, bare, tmp_path) -> None:
    file = tmp_path / "texts.csv"
    file.write_text("text\n" + "\n".join(f'"{text}"' for text in TEXTS) + "\n")
    result = predict(bare, exported, "--file", str(file), "--batch", "2")
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    for ours, theirs in zip(run.predict(TEXTS), answers, strict=True):
        expected = ours.to_json()
        assert theirs["label"] == expected["label"]
        assert theirs["text"] == expected["text"]
        assert theirs["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)


def test_the_check_file_is_compared(exported, bare, tmp_path) -> None:
    result = predict(bare, exported, "--check")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("largest difference: ")
    for file in exported.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    checks = json.loads((tmp_path / "check.json").read_text())
    checks[0]["outputs"]["probabilities"][0] += 0.1
    (tmp_path / "check.json").write_text(json.dumps(checks))
    assert predict(bare, tmp_path, "--check").returncode == 1


@pytest.mark.parametrize("arguments", [[], ["--file", "missing.csv"]])
def test_predict_refuses_what_it_cannot_read(exported, bare, arguments) -> None:
    assert predict(bare, exported, *arguments).returncode


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "bpe", "vocab": 300},
        {"kind": "char"},
        {"lowercase": True, "normalize": "nfkc"},
        {"max_length": 4},
    ],
)
def test_tokenizers(settings: dict[str, Any], reviews, tmp_path) -> None:
    """Texts of many scripts become the same ids."""
    texts = [
        *TEXTS,
        "ﬁne ½ ΣΊΣΥΦΟΣ",
        "हिन्दी में",
        "I'll <unk> <pad> it's",
        "日本語 テスト",
        "a\u0301 x\u200dy",
    ]
    run = unspool.train(
        reviews, model="gru", hidden=4, epochs=1, baseline=False, out=tmp_path / "run", quiet=True,
        **settings,
    )  # fmt: skip
    program = load(run.export(tmp_path / "out").folder)
    for ours, theirs in zip(run.predict(texts), program.answers(texts), strict=True):
        expected = ours.to_json()
        assert theirs["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)


def load(folder: Path) -> Any:
    from runpy import run_path

    return run_path(str(folder / "predict.py"))["Model"](folder)


def test_a_mean_of_several_models(reviews, tmp_path) -> None:
    """What the plain command gives: linear models of n-grams, networks, or a mean of some."""
    run = unspool.train(reviews, out=tmp_path / "run", quiet=True)
    program = load(run.export(tmp_path / "out").folder)
    for ours, theirs in zip(run.predict(TEXTS), program.answers(TEXTS), strict=True):
        expected = ours.to_json()
        assert theirs["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)


def test_words_and_their_tags(tmp_path) -> None:
    rng = np.random.default_rng(0)
    names = ["anna", "bern", "met", "saw", "in"]
    words = [[names[i] for i in rng.integers(0, 5, n)] for n in rng.integers(1, 9, 60)]
    tags = [["B-PER" if w == "anna" else "B-LOC" if w == "bern" else "O" for w in s] for s in words]
    run = unspool.train(
        {"words": words, "tags": tags}, task="tag", hidden=8, epochs=1, out=tmp_path / "run",
        quiet=True,
    )  # fmt: skip
    program = load(run.export(tmp_path / "out").folder)
    items = ["anna saw (Bern) don't", "x", ["in", "Anna"]]
    for ours, theirs in zip(run.predict(items), program.answers(items), strict=True):
        assert theirs["tags"] == [word.tag for word in ours.words]
        assert theirs["words"] == [word.word for word in ours.words]


@pytest.mark.parametrize("scheme", ["none", "iob1", "iob2", "iobes", "bioul"])
def test_tags_in_the_scheme_of_the_data(scheme) -> None:
    for tags in itertools.product(["O", "B-A", "I-A", "E-A", "S-A", "I-B"], repeat=3):
        assert standalone.written(list(tags), scheme) == from_iobes(tags, scheme)


def test_series_with_gaps(tmp_path) -> None:
    rng = np.random.default_rng(0)
    series = [rng.normal(i % 2, 1, (5 + i % 7, 2)) for i in range(60)]
    for values in series:
        values[rng.random(len(values)) < 0.2, 1] = np.nan
    run = unspool.train(
        series, [str(i % 2) for i in range(60)], model="bilstm", hidden=4, epochs=1,
        out=tmp_path / "run", quiet=True,
    )  # fmt: skip
    program = load(run.export(tmp_path / "out").folder)
    for ours, theirs in zip(run.predict(series), program.answers(series), strict=True):
        expected = ours.to_json()["probabilities"]
        assert theirs["probabilities"] == pytest.approx(expected, abs=1e-6)


def command(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_the_command_says_what_it_wrote(run, tmp_path) -> None:
    out = tmp_path / "out"
    result = command(run.path, "--to", "onnx", "--out", out)
    assert result.exit_code == 0, result.output
    assert "verified in onnxruntime on 6 batches" in result.output
    assert {file.name for file in out.iterdir()} == {
        "README.md", "check.json", "model.json", "model.onnx", "predict.py",
    }  # fmt: skip
    assert json.loads(command(run.path, "--out", tmp_path / "b", "--json").output)["checks"] == 6


def test_a_folder_in_use_is_not_touched(run, tmp_path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"the folder is not empty.*[nN]ame another with out="):
        run.export(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_a_graph_that_differs_is_not_written(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(OPERATORS, "softmax", lambda x, *rest, **options: x)
    with pytest.raises(ConfigError, match="does not answer as the model does: prob"):
        run.export(tmp_path / "out")
    assert not list(tmp_path.iterdir())


class Odd(Cell):
    """A cell with an operation that has no form in ONNX here."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__(inputs, hidden)
        import torch

        self.W = torch.nn.Linear(inputs, hidden)

    def step(self, u: Any, state: Any) -> Any:
        import torch

        h = torch.special.i0(self.W(u)) + state[0]
        return h, (h,)


def test_an_operation_without_a_form_is_named(reviews, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(CELLS, "odd", Odd)
    run = unspool.train(
        reviews, model="odd", hidden=4, epochs=1, baseline=False, out=tmp_path / "run", quiet=True
    )
    with pytest.raises(ConfigError, match=r"this model cannot be exported; got 'special_i0\(\)'"):
        run.export(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "settings", [{"model": "gru"}, {"model": "linear"}, {"output": "quantiles"}]
)
def test_forecasts_with_their_intervals(settings: dict[str, Any], tmp_path) -> None:
    """predict.py makes the windows of series itself, with gaps, short ones and a second channel."""
    rng = np.random.default_rng(0)
    series = np.cumsum(rng.normal(size=(300, 2)), 0)
    series[40:45, 0] = np.nan
    options = {"hidden": 8, "epochs": 1} if settings.get("model") != "linear" else {}
    frame = pd.DataFrame(series, columns=["a", "b"])
    run = unspool.train(
        frame, task="forecast", horizon=4, window=12, out=tmp_path / "run", quiet=True,
        **options, **settings,
    )  # fmt: skip
    program = load(run.export(tmp_path / "out").folder)
    short, ending = series[:5].copy(), series[:60].copy()
    ending[-2:] = np.nan
    for item in (series, short, ending, series[:44]):
        (ours,), (theirs,) = run.predict([item]), program.answers([item.tolist()])
        for name, expected in (("values", ours.center), ("low", ours.low), ("high", ours.high)):
            steps = np.array(list(theirs[name].values())).T
            np.testing.assert_allclose(steps, expected, rtol=1e-5, atol=1e-5)


def test_what_is_known_ahead_is_refused(tmp_path) -> None:
    index = pd.date_range("2024-01-01", periods=200, freq="D")
    frame = pd.Series(np.arange(200.0) % 7, index=index)
    run = unspool.train(
        frame, task="forecast", horizon=3, model="linear", out=tmp_path / "run", quiet=True
    )
    with pytest.raises(ConfigError, match="what is known ahead cannot be exported"):
        run.export(tmp_path / "out")
