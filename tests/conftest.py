"""Small generated data and small trained runs, shared by the tests."""

from __future__ import annotations

import fcntl
import functools
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from hypothesis import settings

from reviews import review, write_reviews

torch.set_num_threads(1)

# The suite's examples are the same every time; --hypothesis-profile=search looks for others.
# A busy machine is no failure, so none has a deadline.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", print_blob=True, deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def _no_flushing() -> Iterator[None]:
    """Nothing written here has to survive a power cut, and waiting for a disk takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands_built_once() -> Iterator[None]:
    """Typer reads the signatures of all commands again for each that is run in one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory) -> None:
    """No test reads or writes the user's cache or configuration."""
    os.environ["UNSPOOL_CACHE"] = str(tmp_path_factory.getbasetemp() / "cache")


# Files that take longest, longest first: none of them is left for the end, when others are idle.
LONGEST = (
    "page/test_accessible.py",
    "conformance/test_devices.py",
    "conformance/test_all_models.py",
    "test_faults.py",
    "native/test_recurrence.py",
    "training/test_resume.py",
    "page/test_answer_line.py",
    "native/test_attention_decoder.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    """The one driver of browsers of a process: a second one cannot start while it runs."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with api.sync_playwright() as running:
        yield running


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory) -> Once:
    """`once("a/b", make)`: a path that `make` fills once for all workers. Copy before changing."""
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"

    def path_of(name: str, make: Callable[[Path], object]) -> Path:
        path, lock = root / name, root / "locks" / name
        complete = lock.with_name(f"{lock.name}.complete")
        for file in (path, lock):
            file.parent.mkdir(parents=True, exist_ok=True)
        with lock.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not complete.exists():
                if path.is_dir():
                    shutil.rmtree(path)  # left by a `make` that failed
                make(path)
                complete.touch()
        return path

    return path_of


@pytest.fixture(scope="session")
def reviews(once) -> Path:
    return once("reviews/reviews.csv", lambda path: write_reviews(path, 240))


def write_genres(path: Path) -> None:
    rng = random.Random(4)
    words = {"drama": "tears", "comedy": "jokes", "war": "tanks"}
    lines = ["text,labels"]
    for _ in range(240):
        labels = [name for name in words if rng.random() < 0.4]
        lines.append(f"a film {' '.join(words[name] for name in labels)},{'|'.join(labels)}")
    path.write_text("\n".join(lines) + "\n")


def write_book(path: Path) -> None:
    rng = random.Random(2)
    path.write_text("\n".join(review(rng, rng.choice(["pos", "neg"])) + "." for _ in range(200)))


@pytest.fixture(scope="session")
def genres(once) -> Path:
    """Texts with several labels each, or none."""
    return once("genres/genres.csv", write_genres)


@pytest.fixture(scope="session")
def book(once) -> Path:
    return once("book/book.txt", write_book)


def _settings(**more):
    return {"hidden": 16, "embedding": 12, "threads": 1, "lr": 0.01, **more}


@pytest.fixture(scope="session")
def classifier(reviews, once) -> Path:
    """A run folder of `classify`; copy it before changing it."""
    from unspool.api.train import train

    settings = _settings(epochs=16, batch=16, test_share=0.1, valid_share=0.22)
    return once("runs/classifier", lambda out: train(reviews, model="bilstm", out=out, **settings))


@pytest.fixture(scope="session")
def writer(book, once) -> Path:
    """A run folder of `generate`; copy it before changing it."""
    from unspool.api.train import train

    settings = _settings(task="generate", model="gru", epochs=4, batch=8, bptt=32)
    return once("runs/writer", lambda out: train(book, out=out, **settings))


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
def pairs(once) -> str:
    def write(folder: Path) -> None:
        folder.mkdir()
        write_pairs(folder, 900)

    folder = once("pairs", write)
    return f"{folder / 'train.en'},{folder / 'train.de'}"


@pytest.fixture(scope="session")
def translator(pairs, once) -> Path:
    """A run folder of `translate`, of words; copy it before changing it."""
    from unspool.api.train import train

    settings = _settings(hidden=24, embedding=24, epochs=8, batch=16, test_share=0.1, dropout=0.0)
    settings |= {"model": "bahdanau", "kind": "word", "min_count": 3}
    return once("runs/translator", lambda out: train(pairs, out=out, **settings))


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
def sentences(once) -> Path:
    """Words, parts of speech and tags in IOB2."""
    return once("sentences/people.conll", lambda path: write_sentences(path, 200))


@pytest.fixture(scope="session")
def tagger(sentences, once) -> Path:
    """A run folder of `tag`; copy it before changing it."""
    from unspool.api.train import train

    settings = _settings(epochs=6, batch=16, test_share=0.1, dropout=0.1, character_hidden=8)
    return once("runs/tagger", lambda out: train(sentences, model="bilstm", out=out, **settings))
