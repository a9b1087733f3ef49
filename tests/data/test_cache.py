"""Cache entries are whole or not there; damage is found and corrected."""

import json
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pytest

from unspool.data.store import cache
from unspool.data.store.cache import cached
from unspool.data.store.ragged import DTYPES, IdsFile


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def build(folder: Path) -> None:
    (folder / "a.txt").write_text("content")
    (folder / "b.bin").write_bytes(bytes(range(256)) * 100)


def load(folder: Path) -> str:
    return (folder / "a.txt").read_text()


def test_second_time_is_a_hit(home) -> None:
    assert cached({"k": 1}, build, load) == ("content", False)
    assert cached({"k": 1}, build, load) == ("content", True)
    assert cached({"k": 2}, build, load) == ("content", False)
    assert len(list(home.iterdir())) == 2


def remove(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [remove, truncate, flip])
@pytest.mark.parametrize("name", ["a.txt", "b.bin", "manifest.json"])
def test_damaged_entry_is_rebuilt(home, damage, name: str) -> None:
    cached({}, build, load)
    (entry,) = home.iterdir()
    damage(entry / name)
    assert cached({}, build, load) == ("content", False)
    assert cached({}, build, load) == ("content", True)
    assert list(home.iterdir()) == [entry]


def test_every_byte_of_a_large_file_counts(home) -> None:
    """Of one larger than was once read whole."""

    def build_large(folder: Path) -> None:
        with open(folder / "large.bin", "wb") as file:
            file.truncate(130 << 20)

    cached({}, build_large, lambda folder: None)
    (entry,) = home.iterdir()
    with open(entry / "large.bin", "r+b") as file:
        file.seek((1 << 20) + 7)  # between two of 128 windows of a megabyte
        file.write(b"x")
    assert cached({}, build_large, lambda folder: None) == (None, False)


@pytest.mark.parametrize("name", ["b.bin", "manifest.json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_an_entry_that_is_no_file_is_rebuilt(home, name, kind) -> None:
    cached({}, build, load)
    (entry,) = home.iterdir()
    (entry / name).unlink()
    os.mkfifo(entry / name) if kind == "pipe" else os.symlink("/dev/zero", entry / name)
    assert cached({}, build, load) == ("content", False)
    assert cached({}, build, load) == ("content", True)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a.txt": ' + "9" * 5000 + "}", "[]", "7"])
def test_a_manifest_without_bounds(home, text) -> None:
    cached({}, build, load)
    (entry,) = home.iterdir()
    (entry / "manifest.json").write_text(text)
    assert cached({}, build, load) == ("content", False)


def test_failed_build_leaves_nothing(home) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        cached({}, fail, load)
    assert list(home.iterdir()) == []


def test_old_leftovers_are_swept(home) -> None:
    for name, age in ((".building-old", 3 * 24 * 3600), (".building-new", 60)):
        (home / name).mkdir(parents=True)
        os.utime(home / name, (time.time() - age, time.time() - age))
    cached({}, build, load)
    assert not (home / ".building-old").exists()
    assert (home / ".building-new").exists()


def slow_build(folder: Path) -> None:
    build(folder)
    time.sleep(0.3)


def in_process(home: str, results) -> None:
    os.environ["UNSPOOL_CACHE"] = home
    results.put(cached({"same": "key"}, slow_build, load)[0])


def test_two_processes_write_the_same_key(home) -> None:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=in_process, args=(str(home), results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    assert [results.get(timeout=60) for _ in workers] == ["content"] * 2
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert len(list(home.iterdir())) == 1


def test_another_process_was_quicker(home) -> None:
    def build_while_another_does(folder: Path) -> None:
        build(folder)
        if not any(path for path in home.iterdir() if not path.name.startswith(".")):
            cached({}, build, load)

    assert cached({}, build_while_another_does, load)[0] == "content"
    assert len(list(home.iterdir())) == 1


def test_unwritable_cache_falls_back(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "file" / "cache"))
    assert cached({"f": 1}, build, load) == ("content", False)
    assert cached({"f": 1}, build, load) == ("content", True)


def test_default_place(monkeypatch) -> None:
    monkeypatch.delenv("UNSPOOL_CACHE")
    assert cache.cache_dir() == Path.home() / ".cache" / "unspool"


@pytest.mark.parametrize(
    ("largest", "dtype"), [(255, "uint8"), (256, "uint16"), (70_000, "uint32")]
)
def test_ids_are_as_narrow_as_can_be(tmp_path, largest: int, dtype: str) -> None:
    file = IdsFile(tmp_path / "ids.bin")
    chunks = [np.array([1, 2]), np.array([], dtype=np.int64), np.array([largest, 0])]
    for chunk in chunks:
        file.append(chunk)
    assert DTYPES[file.width] == np.dtype(dtype)
    assert np.fromfile(tmp_path / "ids.bin", dtype).tolist() == [1, 2, largest, 0]
    assert json.dumps(os.listdir(tmp_path)) == '["ids.bin"]'
