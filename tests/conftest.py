"""Small generated data and small trained runs, shared by the tests."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)

# The suite's examples are the same every time; --hypothesis-profile=search looks for others.
# A busy machine is no failure, so none has a deadline.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", print_blob=True, deadline=None)
settings.load_profile("same")

WORDS = ["the", "a", "film", "plot", "cast", "music", "was", "is", "felt", "seemed", "very"]
GOOD = ["good", "great", "fine", "lovely"]
BAD = ["bad", "poor", "dull", "awful"]


def review(rng: random.Random, label: str) -> str:
    words = rng.choices(WORDS, k=rng.randint(2, 8))
    words.insert(rng.randrange(len(words)), rng.choice(GOOD if label == "pos" else BAD))
    return " ".join(words)


def write_reviews(path: Path, count: int, seed: int = 1) -> Path:
    rng = random.Random(seed)
    labels = [("pos", "neg")[i % 2] for i in range(count)]
    rows = "".join(f"{review(rng, label)},{label}\n" for label in labels)
    path.write_text("text,label\n" + rows)
    return path


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory) -> None:
    """No test reads or writes the user's cache or configuration."""
    os.environ["UNSPOOL_CACHE"] = str(tmp_path_factory.getbasetemp() / "cache")


@pytest.fixture(scope="session")
def reviews(tmp_path_factory) -> Path:
    return write_reviews(tmp_path_factory.mktemp("reviews") / "reviews.csv", 240)


@pytest.fixture(scope="session")
def genres(tmp_path_factory) -> Path:
    """Texts with several labels each, or none."""
    rng = random.Random(4)
    words = {"drama": "tears", "comedy": "jokes", "war": "tanks"}
    path = tmp_path_factory.mktemp("genres") / "genres.csv"
    lines = ["text,labels"]
    for _ in range(240):
        own = [name for name in words if rng.random() < 0.4]
        lines.append(f"a film {' '.join(words[name] for name in own)},{'|'.join(own)}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def book(tmp_path_factory) -> Path:
    rng = random.Random(2)
    path = tmp_path_factory.mktemp("book") / "book.txt"
    path.write_text("\n".join(review(rng, rng.choice(["pos", "neg"])) + "." for _ in range(200)))
    return path


def _settings(**more):
    return {"hidden": 16, "embedding": 12, "threads": 1, "lr": 0.01, **more}


@pytest.fixture(scope="session")
def classifier(reviews, tmp_path_factory) -> Path:
    """A run folder of `classify`; copy it before changing it."""
    from unspool.api.train import train

    out = tmp_path_factory.mktemp("runs") / "classifier"
    train(reviews, model="bilstm", out=out, **_settings(epochs=16, batch=16, test_share=0.1))
    return out


@pytest.fixture(scope="session")
def writer(book, tmp_path_factory) -> Path:
    """A run folder of `generate`; copy it before changing it."""
    from unspool.api.train import train

    out = tmp_path_factory.mktemp("runs") / "writer"
    train(book, task="generate", model="gru", out=out, **_settings(epochs=4, batch=8, bptt=32))
    return out


DICTIONARY = {
    "red": "rot", "green": "grün", "blue": "blau", "house": "Haus", "tree": "Baum", "dog": "Hund",
    "cat": "Katze", "sees": "sieht", "hears": "hört", "and": "und",
}  # fmt: skip


def write_pairs(folder: Path, count: int, seed: int = 3, name: str = "train") -> tuple[Path, Path]:
    """Parallel files of a language that is translated word by word; names stay as they are."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        words = rng.choices(list(DICTIONARY), k=rng.randint(1, 4))
        someone = "".join(rng.choices("AEIOU", k=6))
        place = rng.randint(0, len(words))
        written = [DICTIONARY[word] for word in words]
        pairs.append([[*side[:place], someone, *side[place:]] for side in (words, written)])
    paths = folder / f"{name}.en", folder / f"{name}.de"
    for path, side in zip(paths, zip(*pairs)):
        path.write_text("".join(" ".join(words) + "\n" for words in side), encoding="utf-8")
    return paths


@pytest.fixture(scope="session")
def pairs(tmp_path_factory) -> str:
    return ",".join(map(str, write_pairs(tmp_path_factory.mktemp("pairs"), 900)))


@pytest.fixture(scope="session")
def translator(pairs, tmp_path_factory) -> Path:
    """A run folder of `translate`, of words; copy it before changing it."""
    from unspool.api.train import train

    out = tmp_path_factory.mktemp("runs") / "translator"
    settings = _settings(hidden=24, embedding=24, epochs=8, batch=16, test_share=0.1, dropout=0.0)
    train(pairs, model="bahdanau", out=out, kind="word", min_count=3, **settings)
    return out


FIRST, LAST, PLACES = ["Anna", "Bert", "Cleo", "Dora"], ["Kunz", "Lang", "Mohr"], ["Bern", "Ulm"]
VERBS, REST = ["met", "saw", "left"], ["today", "again", "there"]


def sentence(rng: random.Random) -> list[tuple[str, str, str]]:
    """(word, part of speech, tag in IOB2)"""
    rows = [(rng.choice(FIRST), "PROPN", "B-PER")]
    if rng.random() < 0.5:
        rows.append((rng.choice(LAST), "PROPN", "I-PER"))
    rows.append((rng.choice(VERBS), "VERB", "O"))
    rows.append((rng.choice(PLACES), "PROPN", "B-LOC"))
    if rng.random() < 0.5:
        rows.append((rng.choice(REST), "ADV", "O"))
    return [*rows, (".", "PUNCT", "O")]


def write_sentences(path: Path, count: int, seed: int = 1) -> Path:
    rng = random.Random(seed)
    blocks = ["\n".join(" ".join(row) for row in sentence(rng)) for _ in range(count)]
    path.write_text("\n\n".join(blocks) + "\n")
    return path


@pytest.fixture(scope="session")
def sentences(tmp_path_factory) -> Path:
    """Words, parts of speech and tags in IOB2."""
    return write_sentences(tmp_path_factory.mktemp("sentences") / "people.conll", 200)


@pytest.fixture(scope="session")
def tagger(sentences, tmp_path_factory) -> Path:
    """A run folder of `tag`; copy it before changing it."""
    from unspool.api.train import train

    out = tmp_path_factory.mktemp("runs") / "tagger"
    settings = _settings(epochs=6, batch=16, test_share=0.1, dropout=0.1, character_hidden=8)
    train(sentences, model="bilstm", out=out, **settings)
    return out
