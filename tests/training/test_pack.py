"""A pack is a run in one file: it answers as the folder does, and a forged one is refused before
anything of it is used."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import unspool
from unspool.cli import run as command
from unspool.errors import ConfigError, RunError
from unspool.training.pack import MANIFEST, unpacked, write_pack

TEXTS = ["a lovely film", "dull", ""]


@pytest.fixture(scope="module")
def pack(classifier, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("packs") / "reviews.unspool"
    unspool.load(classifier).pack(path)
    return path


def answers(run: unspool.Run) -> list[dict]:
    return [answer.to_json() for answer in run.predict(TEXTS)]


def test_a_pack_answers_as_the_folder(classifier, pack) -> None:
    run = unspool.load(pack)
    assert answers(run) == answers(unspool.load(classifier))
    assert run.report.metrics == unspool.load(classifier).report.metrics
    assert repr(run) == f"<Run {pack}: classify, bilstm>"


def test_packing_twice_gives_the_same_bytes(classifier, pack, tmp_path) -> None:
    again = write_pack(classifier, tmp_path / "again.unspool")
    assert (tmp_path / "again.unspool").read_bytes() == pack.read_bytes()
    with zipfile.ZipFile(pack) as archive:
        names = archive.namelist()
        listed = json.loads(archive.read(MANIFEST))["files"]
        assert names == [MANIFEST, *sorted(listed)]
        assert again.files == len(listed)
        for name, (size, digest) in listed.items():
            content = archive.read(name)
            assert (len(content), hashlib.sha256(content).hexdigest()) == (size, digest)
    assert not {"checkpoints", ".lock"} & set(names)


def test_commands_take_a_pack(classifier, pack, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert command(["pack", str(classifier)]) == 0
    assert capsys.readouterr().out.startswith("classifier.unspool: ")
    assert command(["predict", "classifier.unspool", *TEXTS[:2]]) == 0
    from_pack = capsys.readouterr().out
    assert command(["predict", str(classifier), *TEXTS[:2]]) == 0
    assert capsys.readouterr().out == from_pack
    assert command(["pack", str(classifier)]) == 2
    assert "classifier.unspool: the file exists. Name another with --out" in capsys.readouterr().err


def test_training_starts_from_a_pack(reviews, pack, tmp_path) -> None:
    small = {"epochs": 1, "threads": 1, "quiet": True}
    run = unspool.train(reviews, model="bilstm", start=pack, out=tmp_path / "run", **small)
    assert run.config.model.hidden == unspool.load(pack).config.model.hidden


def test_a_wrong_ending_is_refused(classifier, tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"model\.zip: a pack has the ending \.unspool\. Change"):
        unspool.load(classifier).pack(tmp_path / "model.zip")
    assert not list(tmp_path.iterdir())


def members(pack: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(pack) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of names that occur twice
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
    return content.getvalue()


def relisted(files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    """The files with a manifest that lists them."""
    manifest = json.loads(files[MANIFEST])
    manifest["files"] = {
        name: [len(data), hashlib.sha256(data).hexdigest()]
        for name, data in files.items()
        if name != MANIFEST
    }
    return [*{**files, MANIFEST: json.dumps(manifest).encode()}.items()]


def renamed(name: str) -> Callable[[dict[str, bytes]], bytes]:
    """config.json under another name, also in the manifest."""
    return lambda files: zipped(relisted({**files, name: files["config.json"]}))


def changed_byte(files: dict[str, bytes]) -> bytes:
    content = zipped([*files.items()])
    at = content.index(files["model.safetensors"][1000:1100])
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def changed_weights(files: dict[str, bytes]) -> bytes:
    """A byte of a file and its CRC-32 changed, but not its SHA-256."""
    return zipped(
        [*{**files, "model.safetensors": files["model.safetensors"][:-1] + b"\7"}.items()]
    )


def overlapping(files: dict[str, bytes]) -> bytes:
    """A directory whose members are all the same large one."""
    weights = files["model.safetensors"]
    content = bytearray(zipped(relisted({**files, "a": weights, "b": weights, "c": weights})))
    directory = content.index(b"PK\1\2")
    first = content.index(b"model.safetensors", directory) - 46
    offset = content[first + 42 : first + 46]
    for name in (b"a", b"b", b"c"):
        entry = content.index(b"PK\1\2", directory)
        while content[entry + 46 : entry + 46 + len(name)] != name or content[entry + 28] != 1:
            entry = content.index(b"PK\1\2", entry + 4)
        content[entry + 42 : entry + 46] = offset
    start = content.index(b"PK\3\4", content.index(weights[:64]) + len(weights))
    return bytes(cut_duplicates(content, start, directory))


def cut_duplicates(content: bytearray, start: int, directory: int) -> bytearray:
    """Remove the contents between two places, and move what the directory points at."""
    removed = directory - start
    shorter = content[:start] + content[directory:]
    end = len(shorter) - 22
    (at,) = struct.unpack_from("<L", shorter, end + 16)
    struct.pack_into("<L", shorter, end + 16, at - removed)
    return shorter


def many(files: dict[str, bytes]) -> bytes:
    return zipped(relisted({**files, **{f"f{n}": b"" for n in range(300)}}))


def large_directory(files: dict[str, bytes]) -> bytes:
    """An archive whose end refers to a directory of more than 4 GB."""
    content = zipped([*files.items()])
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(content), 1)
    return content[:-22] + locator + content[-22:]


def manifest(**changes: object) -> Callable[[dict[str, bytes]], bytes]:
    def forge(files: dict[str, bytes]) -> bytes:
        content = json.loads(files[MANIFEST]) | changes
        return zipped([*{**files, MANIFEST: json.dumps(content).encode()}.items()])

    return forge


FORGED: dict[str, tuple[Callable[[dict[str, bytes]], bytes], str]] = {
    "empty": (lambda files: b"", "too short"),
    "text": (lambda files: b"a film,pos\n" * 100, "it does not end like one"),
    "cut": (lambda files: zipped([*files.items()])[:-1], "it does not end like one"),
    "comment": (
        lambda files: zipped([*files.items()])[:-2] + b"\2\0hi",
        "it does not end like one",
    ),
    "another archive": (lambda files: zipped([("a.txt", b"hello")]), "no pack.json"),
    "compressed": (
        lambda files: zipped([*files.items()], zipfile.ZIP_DEFLATED),
        "pack.json is not stored as it is",
    ),
    "folder above": (
        renamed("../../evil.json"),
        "not the name of a file of a run.*got '../../evil",
    ),
    "root": (renamed("/tmp/evil.json"), "not the name of a file of a run"),
    "folder": (renamed("checkpoints/evil.json"), "not the name of a file of a run"),
    "hidden": (renamed(".lock"), "not the name of a file of a run"),
    "backslash": (renamed("..\\evil.json"), "not the name of a file of a run"),
    "twice": (
        lambda files: zipped([*files.items(), ("config.json", files["config.json"])]),
        "pack.json does not list its files",
    ),
    "one more": (
        lambda files: zipped([*files.items(), ("extra.json", b"{}")]),
        "pack.json does not list its files",
    ),
    "one less": (
        lambda files: zipped([(n, d) for n, d in files.items() if n != "labels.json"]),
        "pack.json does not list its files",
    ),
    "changed byte": (changed_byte, "Bad CRC-32"),
    "changed weights": (changed_weights, "another SHA-256 than listed.*'model.safetensors'"),
    "overlapping": (overlapping, "its files overlap"),
    "too many": (many, "too many files"),
    "large directory": (large_directory, "it does not end like one"),
    "no settings": (
        lambda files: zipped(relisted({n: d for n, d in files.items() if n != "config.json"})),
        "no config.json",
    ),
    "newer": (manifest(format=2), "pack of another format; this version reads 1; got 2. Install"),
    "no format": (manifest(format=None), "pack of another format"),
    "list of files": (manifest(files=["config.json"]), "pack.json does not list its files"),
    "numbers": (
        lambda files: manifest(files=dict.fromkeys([*files][1:], 5))(files),
        "pack.json does not list its files",
    ),
    "no manifest": (
        lambda files: zipped([(MANIFEST, b"[1, 2"), *[*files.items()][1:]]),
        "not JSON at line 1",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_pack_is_refused(case, pack, tmp_path, monkeypatch, capsys) -> None:
    forge, problem = FORGED[case]
    path = tmp_path / "forged.unspool"
    path.write_bytes(forge(members(pack)))
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    with pytest.raises(RunError, match=problem):
        unspool.load(path)
    assert command(["predict", str(path), "a film"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"unspool: {path}: ")
    kept = [p.name for p in tmp_path.rglob("*") if p.is_file()]
    assert kept == ["forged.unspool"]


def test_a_damaged_cache_entry_is_unpacked_again(pack, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("UNSPOOL_CACHE", str(tmp_path / "cache"))
    folder = unpacked(pack)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\7")
    assert unpacked(pack) == folder
    assert weights.read_bytes() == members(pack)["model.safetensors"]


def test_a_disk_that_is_full_leaves_no_pack(classifier, tmp_path, monkeypatch) -> None:
    def full(self, data):
        raise OSError(28, "No space left on device")

    folder = shutil.copytree(classifier, tmp_path / "run")
    monkeypatch.setattr(zipfile._ZipWriteFile, "write", full)
    with pytest.raises(
        RunError, match=r"m\.unspool: cannot be written \(No space left on device\)"
    ):
        write_pack(folder, tmp_path / "m.unspool")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
