"""Every file that is loaded stands under a hash, whenever the process that writes it is killed."""

import json
import os

import pytest

from unspool.errors import RunError
from unspool.io import files
from unspool.io.files import (
    HASHES,
    check_hash,
    in_run,
    list_all,
    list_hash,
    read_hashed,
    read_json,
    unlist_hash,
    write_hashed,
    write_json,
)


def test_every_flipped_bit_is_noticed(tmp_path) -> None:
    path = tmp_path / "labels.json"
    write_json(path, ["neg", "pos"])
    for file in (path, tmp_path / HASHES):
        content = file.read_bytes()
        for place in range(len(content)):
            for bit in range(8):
                changed = bytearray(content)
                changed[place] ^= 1 << bit
                file.write_bytes(changed)
                try:
                    assert read_json(path) == ["neg", "pos"]
                    assert file.name == HASHES  # such as a blank that has become a line
                except RunError:
                    continue
        file.write_bytes(content)
    assert read_json(path) == ["neg", "pos"]


def test_what_to_do_is_said(tmp_path) -> None:
    path = tmp_path / "labels.json"
    write_json(path, ["neg", "pos"])
    path.write_text('["pos", "neg"]')
    with pytest.raises(RunError, match=r"labels\.json: damaged: its SHA-256 .* on purpose, remove"):
        read_json(path)
    (tmp_path / HASHES).unlink()
    assert read_json(path) == ["pos", "neg"]


def test_a_file_of_another_run(tmp_path) -> None:
    write_json(tmp_path / "a.json", 1)
    (tmp_path / "b.json").write_text("2")
    with pytest.raises(RunError, match=r"b\.json: not a file of this run: hashes\.json does not"):
        read_json(tmp_path / "b.json")


def test_a_file_that_is_lost(tmp_path) -> None:
    assert not in_run(tmp_path / "a.json")
    write_json(tmp_path / "a.json", 1)
    assert in_run(tmp_path / "a.json")
    (tmp_path / "a.json").unlink()
    with pytest.raises(RunError, match=r"a\.json: missing from the run folder"):
        in_run(tmp_path / "a.json")


@pytest.mark.parametrize("kill_at", [1, 2])
def test_killed_in_the_middle_of_a_write(tmp_path, monkeypatch, kill_at) -> None:
    """Twice in a row: the file that stays is the first one both times."""
    path = tmp_path / "a.json"
    write_json(path, "first")
    real = files.write_atomic
    for value in ("second", "third"):
        calls: list[object] = []

        def killed(own, content, calls=calls) -> None:
            calls.append(own)
            if len(calls) == kill_at:
                raise KeyboardInterrupt
            real(own, content)

        monkeypatch.setattr(files, "write_atomic", killed)
        with pytest.raises(KeyboardInterrupt):
            write_json(path, value)
        assert read_json(path) == "first"
    monkeypatch.setattr(files, "write_atomic", real)
    write_json(path, "fourth")
    assert read_json(path) == "fourth"


def test_a_log_is_listed_once_it_is_whole(tmp_path) -> None:
    path = tmp_path / "log"
    write_json(tmp_path / "a.json", 1)
    path.write_bytes(b"one\n")
    check_hash(path, b"one\n", growing=True)
    list_hash(path)
    with pytest.raises(RunError, match="damaged"):
        check_hash(path, b"two\n", growing=True)
    unlist_hash(path)
    check_hash(path, b"two\n", growing=True)


def test_a_folder_of_old(tmp_path) -> None:
    (tmp_path / "a.json").write_text("1")
    (tmp_path / "README.md").write_text("mine")
    assert read_json(tmp_path / "a.json") == 1
    list_all(tmp_path)
    assert read_json(tmp_path / "a.json") == 1
    assert list(json.loads((tmp_path / HASHES).read_text())) == ["a.json"]


@pytest.mark.parametrize("content", ["[]", '{"a.json": "x"}', "{", "[" * 100_000])
def test_damaged_hashes(tmp_path, content) -> None:
    write_json(tmp_path / "a.json", 1)
    (tmp_path / HASHES).write_text(content)
    with pytest.raises(RunError, match=r"hashes\.json: damaged.*or remove it"):
        read_json(tmp_path / "a.json")


def test_no_regular_file(tmp_path) -> None:
    write_hashed(tmp_path / "a", b"x")
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    with pytest.raises(RunError, match=r"cannot be read \(not a regular file but a pipe"):
        read_hashed(tmp_path / "a")
