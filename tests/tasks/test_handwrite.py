"""Handwriting through the task: what it learns, its baselines, what it writes and refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import unspool
from unspool.data.read.strokes import from_lines
from unspool.demos.handwriting import LETTERS, letter, write_words, written
from unspool.errors import ConfigError, DataError
from unspool.nn.models.handwriting import Bigram, Drawings, OneGaussian
from unspool.tasks.handwrite.answer import Writing, svg_lines

SMALL = {
    "hidden": 16,
    "layers": 1,
    "mixture": 3,
    "dropout": 0.0,
    "threads": 1,
    "quiet": True,
    "precision": "fp32",
}


def squares(path, count: int = 60) -> None:
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        for _ in range(count):
            side = rng.uniform(0.9, 1.1)
            corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) * side
            lines = [(corners + rng.normal(0, 0.02, corners.shape)).tolist()] * 2
            file.write(json.dumps({"strokes": lines}) + "\n")


@pytest.fixture(scope="module")
def drawer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("squares")
    squares(folder / "squares.jsonl")
    return unspool.train(
        folder / "squares.jsonl", task="handwrite", out=folder / "run", epochs=20, lr=1e-2,
        patience=0, batch=8, **SMALL,
    )  # fmt: skip


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    write_words(folder / "words.jsonl", count=40, letters="lit")
    return unspool.train(
        folder / "words.jsonl", task="handwrite", out=folder / "run", epochs=1,
        text_window=2, baseline=False, **SMALL,
    )  # fmt: skip


def test_what_was_seen_helps(drawer) -> None:
    found = {name: own.metrics["nll"] for name, own in drawer.comparison.baselines.items()}
    assert drawer.report.metrics["nll"] < found["gaussian"]
    assert found["bigram"] < found["gaussian"]


@pytest.fixture(scope="module")
def attending(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attending")
    squares(folder / "squares.jsonl")
    return unspool.train(
        folder / "squares.jsonl", task="handwrite", model="transformer", out=folder / "run",
        epochs=10, lr=1e-2, patience=0, batch=8, heads=2, layers=2, hidden=32, threads=1,
    )  # fmt: skip


def test_a_transformer_draws_point_by_point_what_it_reads_at_once(attending) -> None:
    model = attending.model
    values = torch.randn(1, 9, 3)
    with torch.inference_mode():
        whole = model.mixture(Drawings(values, torch.tensor([9])))
        state = model.start(None)
        for t in range(9):
            own, state = model.step(values[:, t], state)
            for one, other in zip(own, whole):
                assert torch.allclose(one, other[:, t], atol=1e-4)
    found = {name: own.metrics["nll"] for name, own in attending.comparison.baselines.items()}
    assert attending.report.metrics["nll"] < found["gaussian"]
    again = unspool.load(attending.path, note=lambda line: None)
    assert again.write(seed=3, length=12).to_json() == attending.write(seed=3, length=12).to_json()


def test_a_transformer_writes_no_texts(tmp_path) -> None:
    write_words(tmp_path / "words.jsonl", count=20, letters="lit")
    with pytest.raises(ConfigError, match="a Transformer writes without texts"):
        unspool.train(
            tmp_path / "words.jsonl", task="handwrite", model="transformer", out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_moves_are_of_the_size_of_the_data(drawer) -> None:
    answer = drawer.write(bias=2.0)
    assert answer.ended
    moves = np.hypot(*answer.strokes.values[1:, :2].T)
    assert 0.3 < moves.max() < 2


def test_a_prompt_is_continued(drawer) -> None:
    prompt = [[[5, 5], [6, 5], [6, 6]]]
    answer = drawer.write(prompt=prompt, temperature=0)
    assert answer.given == 3
    np.testing.assert_allclose(answer.strokes.values[:3, :2], [[0, 0], [1, 0], [0, 1]], atol=1e-5)
    assert len(answer.strokes) > 3


def test_the_same_seed_the_same_drawing(drawer) -> None:
    one, two, other = drawer.write(seed=1), drawer.write(seed=1), drawer.write(seed=2)
    assert one.to_json() == two.to_json()
    assert one.to_json() != other.to_json()
    short = drawer.write(length=1, temperature=0)
    assert len(short.strokes) == 2
    assert not short.ended
    assert short.strokes.values[-1, 2] == 1


def test_the_answer_draws_itself(drawer) -> None:
    answer = drawer.write()
    svg = "".join(answer.svg())
    assert svg.startswith("<svg")
    assert svg.count("<polyline") == len(answer.strokes.lines())
    assert answer._repr_html_() == svg
    dot = "".join(svg_lines(from_lines([np.zeros((1, 2))]), "<a>"))
    assert "&lt;a&gt;" in dot
    assert "nan" not in dot


@torch.no_grad()
def test_gaussian_and_bigram_are_densities() -> None:
    """Over a fine grid they sum to one."""
    torch.manual_seed(0)
    axis = torch.linspace(-8, 8, 321)
    cell = float(axis[1] - axis[0]) ** 2
    xy = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).view(-1, 2)
    for model in (OneGaussian(), Bigram()):
        for p in model.parameters():
            p.data += 0.5 * torch.randn_like(p)
        total = 0.0
        for up in (0.0, 1.0):
            after = torch.cat([xy, torch.full((len(xy), 1), up)], 1)
            values = torch.stack([torch.full_like(after, 0.3), after, torch.zeros_like(after)], 1)
            losses = model.losses(Drawings(values, torch.full((len(xy),), 3)))
            assert isinstance(model, Bigram) or losses.pen.shape == (len(xy), 3)
            density = (-losses.move[:, 0]).exp()
            if isinstance(model, OneGaussian):  # whether the pen is up is counted apart
                density = density * (-losses.pen[:, 0]).exp()
                density = density / (torch.sigmoid(-model.end) if up else 1)
            total += float(density.sum()) * cell
        assert total == pytest.approx(1, abs=0.03)


def test_words_are_aligned(writer) -> None:
    answer = writer.write("till", length=30)
    assert answer.text == "till"
    assert answer.alignment.shape[1] == 5
    assert len(answer.alignment) >= len(answer.strokes) - 1
    trace = writer.trace(answer.strokes)
    (window,) = trace.find("window")
    assert window.values.shape == (len(answer.strokes), 5)
    assert trace.written == [*"till", "end"]


def test_what_cannot_be_written(writer, drawer) -> None:
    with pytest.raises(DataError, match=r"never seen written; got 'q'\. Write with ilt"):
        writer.write("qil")
    with pytest.raises(ConfigError, match="there is no text to write"):
        writer.write("  ")
    with pytest.raises(DataError, match="there is no text to write"):
        writer.write()
    with pytest.raises(ConfigError, match="trained without texts"):
        drawer.write("lit")
    with pytest.raises(ConfigError, match="bias must lie between 0 and 20"):
        Writing(bias=-1)
    with pytest.raises(ConfigError, match="temperature must lie between"):
        Writing(temperature=-0.1)
    with pytest.raises(ConfigError, match="length must be 0 or more"):
        Writing(length=-1)


def test_both_directions_are_refused(tmp_path) -> None:
    squares(tmp_path / "a.jsonl", 4)
    with pytest.raises(ConfigError, match="may not read in both directions"):
        unspool.train(tmp_path / "a.jsonl", task="handwrite", model="bilstm", out=tmp_path / "r")
    with pytest.raises(ConfigError, match=r"data\.window is a setting of"):
        unspool.train(tmp_path / "a.jsonl", task="handwrite", window=3, out=tmp_path / "r")
    with pytest.raises(DataError, match="holds no texts beside its strokes"):
        unspool.train(tmp_path / "a.jsonl", task="handwrite", conditional=True, out=tmp_path / "r")


def test_every_letter_of_the_demo() -> None:
    rng = np.random.default_rng(0)
    for name in LETTERS:
        strokes = letter(name)
        assert all(line.shape[1] == 2 and len(line) > 1 for line in strokes)
        assert len(written(name, rng)) == len(strokes)
