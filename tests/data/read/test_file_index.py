"""Planning lists each folder once, and asks the disk for little else."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tones import tones, wav
from unspool.config import DataConfig
from unspool.data.read import file_index
from unspool.data.read.file_index import FileIndex
from unspool.errors import DataError
from unspool.tasks.planner import open_plan


@pytest.fixture
def calls(monkeypatch) -> Counter[str]:
    """Calls of os.stat and os.scandir."""
    counts: Counter[str] = Counter()
    for name in ("stat", "scandir"):
        real = getattr(os, name)

        def counted(*args, _real=real, _name=name, **options):
            counts[_name] += 1
            return _real(*args, **options)

        monkeypatch.setattr(os, name, counted)
    return counts


def write_reviews(folder: Path, subfolders: int) -> Path:
    rows = (f"short text {i},{'pos' if i % 2 else 'neg'}\n" for i in range(120))
    path = folder / "reviews.csv"
    path.write_text("text,label\n" + "".join(rows))
    for i in range(subfolders):
        (folder / f"folder{i}").mkdir()
        (folder / f"folder{i}" / "notes.txt").write_text("-")
    return path


@pytest.mark.parametrize("subfolders", [0, 10, 100])
def test_planning_does_not_scan_the_disk(subfolders: int, tmp_path, calls) -> None:
    path = write_reviews(tmp_path, subfolders)
    calls.clear()
    assert open_plan(path, DataConfig()).task == "classify"
    print(f"{subfolders} subfolders: {calls['stat']} stat, {calls['scandir']} scandir calls")
    assert calls["stat"] < 100
    assert calls["scandir"] <= subfolders + 2


def test_too_many_folders_are_reported(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(file_index, "MAX_FOLDERS", 5)
    path = write_reviews(tmp_path, 10)
    assert "searched" not in open_plan(path, DataConfig()).summary  # no text is the name of a file
    (tmp_path / "audio").mkdir()
    lines = ["file,label", *(f"{i}.wav,{i % 2}" for i in range(20))]
    path.write_text("\n".join(lines) + "\n")
    for i in range(20):
        (tmp_path / "audio" / f"{i}.wav").write_bytes(wav(tones("a")))
    summary = open_plan(path, DataConfig()).summary
    assert summary.endswith("(only 5 folders searched for files)"), summary


def test_files_are_found_by_name_path_and_absolute_path(tmp_path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.wav").write_text("")
    index = FileIndex(tmp_path)
    assert index.contains(tmp_path, "a/b/c.wav")
    assert index.contains(tmp_path / "a", "b/c.wav")
    assert index.contains(tmp_path / "a", "../a/b/c.wav")
    assert index.contains(tmp_path, str(tmp_path / "a" / "b" / "c.wav"))
    assert not index.contains(tmp_path, "a/b")
    assert index.contains(tmp_path, "a/b", folders=True)
    assert not index.contains(tmp_path, "x/c.wav")
    assert index.subfolders(tmp_path) == [tmp_path / "a"]
    assert {path.name for path in index.files_below(tmp_path)} == {"a", "b", "c.wav"}


def test_texts_too_long_for_names_are_no_videos(tmp_path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text,label\n" + "".join(f"{'long ' * 900}{i},a\n" for i in range(20)))
    with pytest.raises(DataError, match="no videos found"):
        open_plan(path, DataConfig(input="video"), "classify")
