"""Formats know themselves, and a new one is a file and a line."""

from __future__ import annotations

import gzip
import importlib
import sys

import pytest

from unspool.config import DataConfig
from unspool.data.read import open_table
from unspool.data.read.formats import FORMATS
from unspool.data.read.reader import Shape
from unspool.errors import ConfigError, DataError
from unspool.tasks.planner import open_plan

STARS = '''
from unspool.data.read.formats import FORMATS
from unspool.data.read.reader import Column, Match, Reader, Row, Shape


class Stars(Reader):
    """`*** text`: as many stars as the label says."""

    name, shape, title = "stars", Shape.TABLE, "lines of stars"
    suffixes = (".stars",)
    header = True

    @classmethod
    def sniff(cls, head):
        return Match.CERTAIN.when(all(line.startswith("*") for line in head.lines))

    def __init__(self, files, data):
        super().__init__(files, data)
        rows = [row.values for row in self.read(files[0], [0, 1], None)]
        names = enumerate(("text", "stars"))
        self.columns = [Column(name, i, [row[i] for row in rows]) for i, name in names]

    def read(self, file, numbers, report):
        for line, content in enumerate(file.lines(report), start=1):
            stars, _, text = content.strip().partition(" ")
            yield Row(tuple((text, str(len(stars)))[i] for i in numbers), line)


FORMATS[Stars.name] = Stars
'''


@pytest.fixture
def stars(tmp_path, monkeypatch):
    """Registers a format of a module outside the package; forgotten afterwards."""
    (tmp_path / "star_format.py").write_text(STARS)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("star_format")
    yield "".join(f"{'*' * (1 + i % 3)} text {i}\n" for i in range(30))
    del FORMATS["stars"], sys.modules["star_format"]


@pytest.mark.parametrize("name", ["reviews.stars", "reviews.txt", "reviews.stars.gz"])
def test_a_format_from_outside_the_package(name: str, stars: str, tmp_path) -> None:
    content = stars.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    plan = open_plan(tmp_path / name, DataConfig())
    assert plan.summary.endswith(
        "lines of stars, text in column 'text', label in 'stars' -> classify"
    )
    assert next(plan.rows()).values == ("text 0", "1")
    (tmp_path / "other.csv").write_bytes(content)
    assert open_table(str(tmp_path / "other.csv"), DataConfig(format="stars")).format == "stars"


def test_every_format_has_a_shape_and_can_be_named(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("pos fine\nneg dull\npos good\nneg bad\n")
    for name, reader in FORMATS.items():
        assert reader.name == name
        assert isinstance(reader.shape, Shape)
        try:
            assert open_table(str(path), DataConfig(format=name)).format == name
        except DataError:  # not what the file holds
            continue


def test_an_unknown_format_names_the_nearest(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(ConfigError, match=r"unknown format; got 'jsonnl'. Did you mean 'jsonl'"):
        open_table(str(tmp_path / "a.txt"), DataConfig(format="jsonnl"))
