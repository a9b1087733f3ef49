"""The embedded examples show what they claim to."""

from __future__ import annotations

import copy
import re
from collections import Counter
from datetime import date
from itertools import pairwise

import numpy as np
import pytest
import torch

from unspool.data.read.music import as_piece
from unspool.demos import (
    DEFAULT,
    DEMOS,
    chorale,
    dates,
    digits,
    forecast,
    gestures,
    hello,
    memory,
    opinions,
    reviews,
    shapes,
)
from unspool.insight.gradients import CELL_NAMES


def test_the_default_exists_and_all_say_what_they_do() -> None:
    assert DEFAULT in DEMOS
    assert all(demo.about for demo in DEMOS.values())


@pytest.fixture(scope="module")
def spelled() -> list[str]:
    lines: list[str] = []
    hello.run(lines.append)
    return lines


def test_hello_has_40_parameters(spelled) -> None:
    assert any(line.startswith("40 parameters") for line in spelled)
    assert [int(line.split()[-1]) for line in spelled[2:] if re.search(r"\s(24|16)$", line)] == [
        24, 16,
    ]  # fmt: skip


def test_hello_learns_to_spell(spelled) -> None:
    steps = [re.fullmatch(r"epoch +(\d+) +loss ([\d.]+) +H -> (H\w{4})", line) for line in spelled]
    found = [(int(m[1]), float(m[2]), m[3]) for m in steps if m]
    losses = [loss for _, loss, _ in found]
    assert found[0][2] != "HELLO"
    assert found[-1][2] == "HELLO"
    assert losses[0] > 1
    assert losses[-1] < 0.1
    assert sum(b < a for a, b in pairwise(losses)) > 0.9 * (len(losses) - 1)


@pytest.fixture(scope="module")
def corpus() -> list[tuple[str, str]]:
    return reviews.reviews(3000, seed=1)


def test_reviews_are_distinct_balanced_and_reproducible(corpus) -> None:
    assert len(corpus) == 3000
    assert len({text for text, _ in corpus}) == 3000
    share = Counter(label for _, label in corpus)["praise"] / 3000
    assert 0.45 < share < 0.55
    assert corpus == reviews.reviews(3000, seed=1)
    assert corpus != reviews.reviews(3000, seed=2)


def test_a_bag_of_words_cannot_tell_the_reviews_apart(corpus) -> None:
    """Counts of words are near chance; counts of pairs of neighbours, which know order, are not."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    texts, labels = zip(*corpus)
    accuracy = {}
    for length in (1, 2):
        counts = CountVectorizer(ngram_range=(1, length), token_pattern=r"\S+")
        x = counts.fit_transform(texts)
        model = LogisticRegression(max_iter=1000).fit(x[:2400], labels[:2400])
        accuracy[length] = float(np.mean(model.predict(x[2400:]) == labels[2400:]))
    assert accuracy[1] < 0.65
    assert accuracy[2] > 0.95


def test_reviews_from_start_to_end(tmp_path, monkeypatch) -> None:
    """With a tenth of the data, to see that it runs and says what to do next."""
    monkeypatch.chdir(tmp_path)
    whole = reviews.reviews
    monkeypatch.setattr(reviews, "reviews", lambda count, seed: whole(count // 10, seed))
    lines: list[str] = []
    reviews.run(lines.append)
    text = "\n".join(lines)
    assert re.search(r"^accuracy +0\.\d+", text, re.MULTILINE)
    assert "unspool predict runs/demo-reviews " in text
    assert (tmp_path / "runs" / "demo-reviews" / "model.safetensors").exists()


def test_opinions_are_where_they_are_said_to_be() -> None:
    known, new = opinions.reviews(300, 1, unseen=False), opinions.reviews(300, 2, unseen=True)
    assert known == opinions.reviews(300, 1, unseen=False)
    for own in (*known, *new):
        assert all(own.text[o.start : o.end] == o.target for o in own.opinions)
    seen = {opinion.target for own in known for opinion in own.opinions}
    assert not seen & opinions.UNSEEN
    late = [opinion.target in opinions.UNSEEN for own in new for opinion in own.opinions]
    assert 0.15 < np.mean(late) < 0.25


def test_opinions_from_start_to_end(tmp_path, monkeypatch) -> None:
    """With few reviews: both models answer, and the table counts what they found."""
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    opinions.run(lines.append, labelled=400, new=40, epochs=4)
    (last,) = [line for line in lines if "opinions found" in line]
    found, right, written, f1 = re.findall(r"[\d.]*\d", last.replace("F1", ""))
    assert float(f1) == pytest.approx(2 * int(right) / (int(found) + int(written)), abs=1e-4)
    assert float(f1) > 0.3
    assert any(line.startswith("kettle ") for line in lines)
    rows = (tmp_path / "runs" / "demo-polarity" / "opinions.csv").read_text().splitlines()
    assert rows[0] == "product,target,polarity,probability,text"
    assert len(rows) == int(found) + 1


def test_dates_are_distinct_right_and_of_other_days_than_the_test() -> None:
    train, test = dates.dates(3000, 1, held_out=False), dates.dates(500, 2, held_out=True)
    assert len({text for text, _ in train}) == 3000
    days = [{date.fromisoformat(day) for _, day in pairs} for pairs in (train, test)]
    assert not days[0] & days[1]
    assert dates.dates(3000, 1, held_out=False) == train


@pytest.mark.parametrize(
    ("language", "form", "says"),
    [
        ("English", "{weekday} the {nth} of {month} {y}", "Friday the 5th of March 2021"),
        ("English", "US {mm}/{dd}/{yy}", "US 03/05/21"),
        ("German", "{weekday}, den {nth} {month} {y}", "Freitag, den 5. März 2021"),
        ("French", "le {nth} {month} {y}", "le 5 mars 2021"),
        ("Spanish", "el {d} de {month} de {y}", "el 5 de marzo de 2021"),
        ("Italian", "{d} {mon} {y}", "5 mar 2021"),
    ],
)
def test_a_date_in_every_language(language: str, form: str, says: str) -> None:
    found = dates.LANGUAGES[language]
    assert form in found.forms
    assert dates.written(date(2021, 3, 5), found, form) == says
    assert (len(found.months), len(found.short), len(found.weekdays)) == (12, 12, 7)


def test_ordinals() -> None:
    days = [1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31]
    assert " ".join(map(dates.english_ordinal, days)) == (
        "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 23rd 31st"
    )
    assert [dates.LANGUAGES["French"].nth(day) for day in (1, 2)] == ["1er", "2"]


def test_the_dates_demo_runs_small(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    dates.run(lines.append, pairs=200, epochs=1)
    assert any(line.startswith("exact match") for line in lines)
    assert any("unspool predict runs/demo-dates" in line for line in lines)
    assert any(line.strip() == "Friday␣the␣5th␣of␣March␣2021·" for line in lines)
    assert (tmp_path / "runs" / "demo-dates" / "model.safetensors").exists()


def test_what_is_to_be_remembered_comes_first_and_alone_is_marked() -> None:
    x = memory.sequences(5, 9, torch.Generator().manual_seed(1))
    assert x.shape == (5, 10, 2)
    assert (x[..., 1].argmax(1) == 0).all()
    assert (x[..., 1].sum(1) == 1).all()
    assert (x[..., 0].abs() <= 1).all()


def test_a_cell_learns_to_remember_a_number() -> None:
    learnt = memory.learn("gru", distance=8, updates=250, seed=1)
    assert learnt.errors.shape == (9,)
    assert learnt.errors[-1] < memory.GUESSED / 2


@pytest.mark.parametrize("name", CELL_NAMES)
def test_the_gradients_of_the_memory_demo_are_autograds(name) -> None:
    """At every distance up to 200, of one graph that holds all steps."""
    learnt = memory.learn(name, distance=200, updates=1, seed=1)
    (found,) = memory.flows({name: learnt}, seed=3).flows
    x = memory.sequences(1, 200, torch.Generator().manual_seed(3)).double()
    cell = copy.deepcopy(learnt.cell).double()
    states = []
    state = tuple(part.requires_grad_() for part in cell.start(1))
    for u in cell.project(x).unbind(1):
        # A copy of each part, since c_t would also be asked about by way of h_t.
        state = tuple(part.clone() for part in cell.step(u, state)[1])
        states.append(state)
    v = torch.randn(cell.hidden, generator=torch.Generator().manual_seed(3)).double()
    parts = [part for each in states for part in each]
    slopes = torch.autograd.grad((state[0] @ (v / v.norm())).sum(), parts, materialize_grads=True)
    size = len(cell.state_names)
    norms = [
        float(torch.cat(slopes[t * size : (t + 1) * size], -1).norm()) for t in range(len(states))
    ]
    np.testing.assert_allclose(found.norms, norms[::-1], rtol=1e-6, atol=1e-300)


def test_the_memory_demo_runs_small(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    memory.run(lines.append, distance=12, updates=2)
    tables = [line.split() for line in lines]
    for name in CELL_NAMES:
        errors, left = (row for row in tables if row[:1] == [name] and len(row) > 3)
        assert len(errors) == 5  # at 1, 5, 10 and 12 steps
        assert left[-1] in ("vanishes", "lasts", "explodes")
    assert (tmp_path / "runs" / "demo-memory" / "memory.png").stat().st_size > 10_000


def test_the_chorale_demo_runs_small(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines: list[str] = []
    chorale.run(lines.append, pieces=20, epochs=1)
    assert any(line.startswith("data:    notes in key") for line in lines)
    home = tmp_path / "runs" / "demo-chorale"
    assert as_piece(home / "chorale.mid", "x").chords()[0] != []
    assert (home / "chorale.png").stat().st_size > 5_000


def test_chorales_are_in_key_and_in_four_voices() -> None:
    """By the rules that they are made by: four voices that do not cross, from tonic to tonic."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        piece = chorale.chorale(rng)
        assert len(piece) == chorale.CHORDS * chorale.STEPS
        assert {len(step) for step in piece} == {4}
        for step in piece:
            assert step == sorted(step)
        assert piece[0][0] % 12 == piece[-1][0] % 12


def test_movements_are_reproducible_and_by_every_person(tmp_path) -> None:
    gestures.write_movements(tmp_path / "a.csv")
    gestures.write_movements(tmp_path / "b.csv")
    text = (tmp_path / "a.csv").read_text()
    assert text == (tmp_path / "b.csv").read_text()
    rows = [line.split(",") for line in text.splitlines()[1:]]
    made = {(row[0], row[5], row[6]) for row in rows}
    assert len(made) == gestures.PEOPLE * gestures.EACH * len(gestures.MOVES)
    assert any("" in row[2:5] for row in rows)  # lost values


def test_sessions_have_a_label_a_step(tmp_path) -> None:
    gestures.write_sessions(tmp_path / "a.csv", count=3)
    rows = [line.split(",") for line in (tmp_path / "a.csv").read_text().splitlines()[1:]]
    for name in ("s0", "s1", "s2"):
        labels = [row[5] for row in rows if row[0] == name]
        assert set(labels) == {*gestures.MOVES, gestures.REST}
        changes = sum(a != b for a, b in pairwise(labels))
        assert changes == 2 * len(gestures.MOVES) - 1


def test_forecast_shows_its_days_beside_naive_ones(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert np.array_equal(forecast.make_load(), forecast.make_load())
    lines: list[str] = []
    forecast.run(lines.append, epochs=20)
    names = [line.split("  ")[0] for line in lines]
    assert names.index("this model") < names.index("seasonal naive") < names.index("naive")
    assert (tmp_path / "runs/demo-forecast/forecasts.png").exists()


def test_strings_of_digits_are_reproducible(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        digits.write_strings(tmp_path / name, 4)
    one, other = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    rows = (tmp_path / "a" / "texts.csv").read_text().splitlines()
    assert rows[0] == "file,text"
    assert all(re.fullmatch(r"00\d\.wav,\d{3,6}", row) for row in rows[1:])


def test_the_digits_demo_runs_small(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(digits, "STRINGS", 24)
    monkeypatch.setattr(digits, "EPOCHS", 1)
    lines: list[str] = []
    digits.run(lines.append)
    assert any(line.startswith("CER ") for line in lines)
    assert any(line.startswith("somebody says 271828, and the model writes") for line in lines)
    assert (tmp_path / "runs" / "demo-digits" / "lattice.png").stat().st_size > 10_000


def test_scenes_of_shapes() -> None:
    """No colour is in training with the shape that it has in the test part, and both are there with
    others; a picture shows its colours where its words say."""
    known, held = shapes.split_things()
    seen, new = shapes.training_scenes(known), shapes.scenes_of(held)
    pairs = {thing for scene in seen for thing in (scene.first, scene.second)}
    assert not pairs & {thing for scene in new for thing in (scene.first, scene.second)}
    assert {pair.colour for pair in pairs} == set(shapes.COLOURS) == {own.colour for own in held}
    assert {pair.shape for pair in pairs} == set(shapes.SHAPES)
    assert len(set(seen)) == shapes.PICTURES
    assert len(set(new)) == len(new) == 200
    assert not set(held) & set(shapes.split_things(1)[1])
    for i, scene in enumerate(new[:20]):
        x = shapes.picture_of(scene, np.random.default_rng(i)).astype(int)
        middles = []
        for thing in (scene.first, scene.second):
            near = np.abs(x - np.array(shapes.COLOURS[thing.colour])).sum(2) < 75
            assert near.sum() > 20, scene.caption
            middles.append(np.argwhere(near).mean(0))
        axis = 1 if scene.relation == "left of" else 0
        if scene.first.colour != scene.second.colour:
            assert middles[0][axis] < middles[1][axis]


def test_the_shapes_demo_runs_small(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shapes, "PICTURES", 40)
    monkeypatch.setattr(shapes, "EPOCHS", 1)
    lines: list[str] = []
    shapes.run(lines.append)
    assert any("red circle, orange square, yellow triangle" in line for line in lines)
    says = r"\d+\.\d % of the sentences about coloured shapes never seen are right"
    assert any(re.fullmatch(says, line) for line in lines)
    assert (tmp_path / "runs" / "demo-shapes" / "attention.png").stat().st_size > 5_000
