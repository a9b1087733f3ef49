"""Only files that end are read, and only JSON with bounds."""

import json
import os

import pytest

from unspool.config.resolve import read_toml
from unspool.errors import ConfigError
from unspool.io.files import open_regular, parse_json, read_regular


@pytest.mark.parametrize("mode", ["rb", "ab", "r+b"])
def test_pipes_and_devices_are_refused_at_once(tmp_path, mode) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "device")
    for name in ("pipe", "device"):
        with pytest.raises(OSError, match=f"not a regular file but a {name}|No such device"):
            open_regular(tmp_path / name, mode)


def test_a_file_without_an_end(tmp_path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(OSError, match="1,099,511,627,776 bytes, more than"):
        read_regular(tmp_path / "large")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 100 + b"]" * 100, "nested too deeply"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number has too many digits"),
        (b'{"a": \n', "not JSON at line 2"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"\0" * 10, "not JSON at line 1"),
    ],
)
def test_json_without_bounds(text, says) -> None:
    with pytest.raises(ValueError, match=says):
        parse_json(text)


def test_json(tmp_path) -> None:
    value = {"a": [1, 2.5, None, {"b": ["ä", []]}]}
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hidden = " + "9" * 5000, "not a TOML file"),
        ("hidden = " + "[" * 5000, "nested too deeply"),
        ("[" + ".".join("a" * 5000) + "]\nb = 1", "nested too deeply"),
        ("hidden = " + "[" * 90 + "]" * 90, "nested too deeply"),
        ("x" * 2_000_000, "2,000,000 bytes, more than such a file can have"),
    ],
)
def test_toml_without_bounds(tmp_path, text, says) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        read_toml(str(path))


def test_toml_that_is_no_file(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path / "pipe", "a pipe"), ("/dev/zero", "a device")):
        with pytest.raises(ConfigError, match=f"not a regular file but {kind}"):
            read_toml(str(path))
    with pytest.raises(ConfigError, match="no such config file"):
        read_toml("a\0b")
