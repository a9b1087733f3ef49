"""`unspool topics` from start to end, on documents whose topics are known."""

from __future__ import annotations

import csv
import json
import os
import random
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import unspool
from unspool.cli import run
from unspool.errors import UserError
from unspool.topic_model.folder import check_shapes
from unspool.topic_model.methods import METHODS
from unspool.topic_model.page import mark
from unspool.topic_model.settings import TopicSettings
from unspool.training import output_folder

KINDS = {
    "kitchen": "pizza crust cheese oven tomato dough",
    "sea": "ship sailor harbour wave captain anchor",
    "code": "compiler bug function variable loop parser",
}
FILLING = ["the", "a", "of", "and", "is", "was", "with", "to", "in", "it"]


def sentence(kind: str, rng: random.Random) -> str:
    words = [rng.choice(KINDS[kind].split()) for _ in range(6)] + rng.choices(FILLING, k=8)
    rng.shuffle(words)
    return " ".join(words)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """120 documents of three topics, of which the sea becomes rarer; one in forty is empty."""
    rng = random.Random(1)
    path = tmp_path_factory.mktemp("topics") / "notes.csv"
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["review", "kind", "written"])
        for i in range(120):
            late = i >= 60
            kind = rng.choice(["kitchen", "code"] if late else list(KINDS))
            text = "" if i % 40 == 7 else sentence(kind, rng)
            rows.writerow([text, kind, f"{rng.randint(13, 28)}/0{1 + late}/2024"])
    return path


@pytest.fixture(scope="module")
def found(corpus, tmp_path_factory) -> unspool.topic_model.Topics:
    out = tmp_path_factory.mktemp("out") / "notes"
    return unspool.topics(corpus, out=out, quiet=True)


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def kinds(found) -> set[frozenset[str]]:
    return {frozenset(word for word, _ in topic.words) for topic in found.topics}


def test_topics_are_those_that_were_mixed(found) -> None:
    assert kinds(found) == {frozenset(words.split()) for words in KINDS.values()}
    assert [own.topics for own in found.tried] == [3, 5]
    assert [topic.share for topic in found.topics] == sorted(
        (topic.share for topic in found.topics), reverse=True
    )
    assert all(len(topic.nearest) == 3 for topic in found.topics)
    assert (found.rows, found.empty, found.without) == (120, 3, 0)
    text = "\n".join(found.notes)
    assert "3 of 120 rows are empty" in text
    assert "more than 50%" in text
    assert "stop words: none" in text
    assert "'written', day/month/year" in text


def test_the_sea_becomes_rarer(found) -> None:
    assert found.times.unit == "day"
    sea = next(k for k, topic in enumerate(found.topics) if "ship" in dict(topic.words))
    january = [name.startswith("2024-01") for name in found.times.periods]
    shares = found.times.shares[:, sea]
    assert shares[january].mean() > 0.15
    assert shares[np.logical_not(january)].max() < 0.01
    assert found.times.documents.sum() == 117


def test_the_folder_gives_topics_to_new_texts_and_labels_to_train(found, corpus, capsys) -> None:
    loaded = unspool.topics(found.path)
    texts = ["the captain of a ship", "a bug in the parser", "nothing known"]
    answers = loaded.predict(texts)
    assert [own.topic for own in answers] == [own.topic for own in found.predict(texts)]
    sea = next(topic.name for topic in found.topics if "ship" in dict(topic.words))
    assert (answers[0].topic, answers[2].topic) == (sea, None)
    assert answers[0].share > 0.9
    assert loaded.lines() == found.lines()
    rows = table(found.path / "documents.csv")
    given = table(corpus)
    assert [{name: row[name] for name in given[0]} for row in rows] == given
    assert {row["topic"] for row in rows if row["review"]} == set(found.names)
    assert {(row["topic"], row["share"]) for row in rows if not row["review"]} == {("", "")}
    code = run(["check", str(found.path / "documents.csv"), "--label", "topic", "--no-suspects"])
    printed = capsys.readouterr().out
    assert code == 0
    assert "label in 'topic' -> classify" in printed


def test_the_same_seed_gives_the_same_files(found, corpus, tmp_path) -> None:
    unspool.topics(corpus, out=tmp_path / "again", quiet=True)
    for name in ("documents.csv", "model.safetensors", "map.png", "topics.html"):
        assert (tmp_path / "again" / name).read_bytes() == (found.path / name).read_bytes()


def test_the_page_escapes_texts_and_takes_nothing_from_elsewhere(tmp_path) -> None:
    rng = random.Random(3)
    texts = [sentence(kind, rng) for kind in KINDS for _ in range(12)]
    texts[0] += " <script>alert(1)</script> \"'&"
    out = tmp_path / "out"
    page = unspool.topics(texts, count=3, out=out, quiet=True, documents=12).to_html()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)
    assert not re.search("https?:", page)


def test_lda_is_scikit_learns_and_comes_back(tmp_path) -> None:
    from sklearn.decomposition import LatentDirichletAllocation

    from unspool.topic_model.fitting import count_texts

    rng = random.Random(4)
    texts = [sentence(kind, rng) for kind in KINDS for _ in range(30)]
    found = unspool.topics(
        texts, method="lda", count=3, iterations=5, seed=3, out=tmp_path / "lda", quiet=True
    )
    counts = count_texts(texts, found.words, found.config.tokenizer)
    theirs = LatentDirichletAllocation(3, learning_method="batch", max_iter=5, random_state=3)
    shares = np.sort(theirs.fit_transform(counts), axis=1)
    loaded = unspool.topics(found.path)
    np.testing.assert_allclose(np.sort(loaded.assign(texts).shares, axis=1), shares, rtol=1e-6)
    assert kinds(found) != set()


@pytest.mark.parametrize("name", METHODS)
def test_a_method_restores_what_it_was(name: str) -> None:
    from scipy.sparse import csr_matrix

    random_numbers = np.random.default_rng(1)
    x = random_numbers.poisson(1.0, (40, 12)) * 1.0
    x = x / np.linalg.norm(x, axis=1, keepdims=True) if name == "clusters" else csr_matrix(x)
    settings = TopicSettings(method=name)
    method, other = METHODS[name](settings), METHODS[name](settings)
    method.fit(x, 4)
    method.reorder(np.array([2, 0, 3, 1]))
    other.restore(method.tensors())
    for one, two in zip(method.assign(x), other.assign(x)):
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_clusters_of_the_vectors_of_a_run(tmp_path, capsys) -> None:
    """Of a run of pretrain; the topics of new texts need it again."""
    rng = random.Random(5)
    lines = [(sentence(kind, rng), kind) for kind in KINDS for _ in range(30)]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"{text}\n" for text, _ in lines))
    small = {"hidden": 16, "layers": 1, "heads": 2, "epochs": 1, "valid_share": 0.1}
    model = unspool.train(corpus, task="pretrain", out=tmp_path / "model", quiet=True, **small)
    options = ["--from", str(model.path), "-k", "3", "--out", str(tmp_path / "out")]
    assert run(["topics", str(corpus), *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["method"] == "clusters"
    loaded = unspool.topics(tmp_path / "out")
    texts = [text for text, _ in lines]
    rows = table(tmp_path / "out" / "documents.csv")
    assert [row["topic"] for row in rows] == [own.topic for own in loaded.predict(texts)]
    one = loaded.vectors([texts[0]])
    np.testing.assert_allclose(one, loaded.vectors(texts)[:1], rtol=1e-4, atol=1e-6)  # padding
    assert np.linalg.norm(one) == pytest.approx(1)
    model.path.rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"is gone.*start="):
        unspool.topics(tmp_path / "out")
    assert len(unspool.topics(tmp_path / "out", start=tmp_path / "moved")) == 3


def test_words_that_the_font_of_the_map_lacks(tmp_path) -> None:
    """Warnings are errors here."""
    texts = ["船 海 波 船长", "海 船 风 波", "披萨 奶酪 番茄", "番茄 奶酪 烤箱"] * 5
    found = unspool.topics(texts, count=2, max_share=0.9, out=tmp_path / "out", quiet=True)
    assert any(
        "海" in topic.name or "船" in topic.name or "波" in topic.name for topic in found.topics
    )
    assert (tmp_path / "out" / "map.png").exists()


def test_a_map_of_many_topics_has_a_shape_for_those_of_one_colour(found) -> None:
    marks = [mark(number, 1.0, 2.0, "a <b>") for number in range(1, 37)]
    assert len(set(marks)) == 36
    assert all("a &lt;b&gt;" in own for own in marks)
    assert found.to_html().count("<path") == len(found.points) + len(found.topics)


SPLIT = ["strokes.npz", "--text", "split"]
BAD = [
    (["one.csv"], "several documents have in common, and there is one document"),
    (["empty.csv"], "several documents have in common, and there is no document"),
    (["small.csv", "-k", "50"], "fewer documents than topics: 12; got --topics 50"),
    (["small.csv", "-k", "1"], "one topic is all documents"),
    (["numbers.csv"], "no column holds texts"),
    (["series.npz"], "no field holds a text among series"),
    (["strokes.npz"], "strokes.npz: no column holds texts; got 'strokes, split'"),
    ([*SPLIT, "--date", "split"], "column 'split' holds no dates; got 'train'"),
    ([*SPLIT, "--date", "strokes"], "column 'strokes' holds no dates"),
    (["small.csv", "--text", "kind"], "no column 'kind'"),
    (["small.csv", "--date", "review"], "column 'review' holds no dates"),
    (["small.csv", "--method", "clusters"], "--method clusters needs vectors"),
    (["small.csv", "--method", "nmf", "--from", "x"], "counts words, and reads no vectors"),
    (["small.csv", "--method", "lsa"], "topics.method: input should be 'nmf', 'lda' or"),
    (["small.csv", "--from", "nowhere"], "no such run folder"),
    (["small.csv", "--set", "max_share=0.001", "--set", "min_documents=5"], "fewer than two words"),
    (["small.csv", "some text"], "is a corpus; got 'TEXT'"),
    (["small.csv", "--file", "small.csv"], "is a corpus; got '--file'"),
    (["small.csv", "--set", "colour=1"], "unknown setting"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda own: str(own)[:40])
def test_bad_input_is_one_line(arguments, message, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(6)
    small = [sentence(kind, rng) for kind in KINDS for _ in range(4)]
    for name, rows in {"one": small[:1], "empty": ["", " "], "small": small}.items():
        lines = "".join(f'"{row}",{i}\n' for i, row in enumerate(rows))
        Path(f"{name}.csv").write_text(f"review,id\n{lines}")
    Path("numbers.csv").write_text("a,b\n" + "1,2\n3,4\n" * 9)
    np.savez("series.npz", x=np.ones((6, 5, 2), dtype=np.float32))
    drawn = np.empty(3, object)
    drawn[:] = [np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]])] * 3
    np.savez("strokes.npz", train=drawn, valid=drawn, test=drawn)
    assert run(["topics", *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error
    assert error.startswith("unspool: ")
    assert not Path("runs").exists()


def test_a_folder_refuses_what_it_cannot_do(found, tmp_path, capsys) -> None:
    assert run(["topics", str(found.path), "-k", "4"]) == 2
    assert "holds topics that were found before; got '--topics'" in capsys.readouterr().err
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "topics.json").write_text('{"format": 2}')
    with pytest.raises(UserError, match="topics of format 2; this version reads 1"):
        unspool.topics(damaged)
    (damaged / "topics.json").write_text('{"format": 1}')
    with pytest.raises(UserError, match="damaged"):
        unspool.topics(damaged)


def test_weights_of_topics_are_not_negative(found) -> None:
    tensors = {name: torch.as_tensor(own) for name, own in found.method.tensors().items()}
    check_shapes(found, tensors)
    for name in tensors:
        with pytest.raises(ValueError, match=f"tensor '{name}' .* does not fit"):
            check_shapes(found, {**tensors, name: -tensors[name]})


@pytest.mark.parametrize("killed", [False, True])
def test_a_folder_that_was_interrupted_does_not_stand_in_the_way(
    corpus, tmp_path, monkeypatch, killed
) -> None:
    """`killed`: nothing of what was written is removed either."""
    out, replace = tmp_path / "out", os.replace
    for last in (1, 4, 9, 12):  # while files are written aside, and while they are moved
        count = 0

        def interrupt(source: object, target: object, last: int = last) -> None:
            nonlocal count
            count += 1
            if count == last:
                raise KeyboardInterrupt
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", interrupt)
            if killed:
                patch.setattr(
                    output_folder, "shutil", SimpleNamespace(rmtree=lambda *_, **__: None)
                )
            with pytest.raises(KeyboardInterrupt):
                unspool.topics(corpus, out=out, quiet=True, count=2)
        assert not (out / "topics.json").exists()
    assert unspool.topics(corpus, out=out, quiet=True, count=2).path == out
    assert not list(out.rglob("*.part"))
    with pytest.raises(UserError, match="already holds topics"):
        unspool.topics(corpus, out=out, quiet=True, count=2)
    assert len(unspool.topics(out)) == 2


def test_topics_of_a_table_keep_its_columns(found, corpus, tmp_path, capsys) -> None:
    out = tmp_path / "new.csv"
    assert run(["topics", str(found.path), "--file", str(corpus), "--out", str(out)]) == 0
    rows = table(out)
    before = table(found.path / "documents.csv")
    assert [row["topic"] for row in rows] == [row["topic"] for row in before]
    assert list(rows[0]) == ["review", "kind", "written", "topic", "share"]
    assert run(["topics", str(found.path)]) == 0
    assert f"{len(found)} topics of 117 documents" in capsys.readouterr().out
