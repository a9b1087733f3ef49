"""Corpora of a table and a file for each text, as `metadata.csv` and `texts/ID.txt`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from unspool.config import DataConfig
from unspool.errors import DataError
from unspool.tasks.planner import open_plan

TEXTS = [f"A {'fine' if i % 2 else 'dull'} story.\nNumber {i}." for i in range(20)]
AUTHORS = ["Ann" if i % 2 else "Bob" for i in range(20)]


def corpus(folder: Path, name: str = "{:03}", where: str = "texts", table: str = "csv") -> Path:
    """A corpus whose table names its files as `name` is filled in."""
    (folder / where).mkdir(parents=True, exist_ok=True)
    for i, text in enumerate(TEXTS):
        (folder / where / f"{i:03}.txt").write_text(text)
    rows = [{"id": name.format(i), "author": author} for i, author in enumerate(AUTHORS)]
    content = "id,author\n" + "".join(f"{row['id']},{row['author']}\n" for row in rows)
    if table == "jsonl":
        content = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"metadata.{table}").write_text(content)
    return folder


@pytest.mark.parametrize(
    ("name", "where", "table"),
    [
        ("{:03}", "texts", "csv"),
        ("{:03}", ".", "csv"),
        ("{:03}.txt", "texts", "jsonl"),
        ("texts/{:03}.txt", "texts", "csv"),
        ("texts/{:03}", "texts", "csv"),
    ],
)
def test_the_texts_that_a_table_names(name, where, table, tmp_path) -> None:
    plan = open_plan(corpus(tmp_path, name, where, table), DataConfig())
    assert "texts of 20 files by 'id', text in" in plan.summary
    assert [row.values for row in plan.rows()] == list(zip(TEXTS, AUTHORS))
    before = plan.table.sha256
    (tmp_path / where / "003.txt").write_text("Another story.")
    assert open_plan(tmp_path, DataConfig()).table.sha256 != before
    if name.endswith(".txt"):
        alone = open_plan(tmp_path / f"metadata.{table}", DataConfig())
        assert [row.values[1] for row in alone.rows()] == AUTHORS


def test_ids_are_names_of_texts_only_in_a_folder_that_is_named(tmp_path) -> None:
    corpus(tmp_path)
    with pytest.raises(DataError, match=r"metadata.csv: was read as CSV, which holds nothing for"):
        open_plan(tmp_path / "metadata.csv", DataConfig())
    with pytest.raises(DataError, match=r"texts: its files are texts that .*metadata.csv names"):
        open_plan(tmp_path / "texts", DataConfig())
    assert "label = file name" in open_plan(tmp_path / "texts", DataConfig(format="folder")).summary
    named = open_plan(tmp_path, DataConfig(text="id"))
    assert next(named.rows()).values == ("000", "Bob")


def test_ids_of_texts_beside_a_table_are_not_read_as_texts(tmp_path) -> None:
    path = corpus(tmp_path, "t{:03}") / "metadata.csv"
    for where in (tmp_path / "texts", tmp_path):
        for text in (tmp_path / "texts").glob("*"):
            text.rename(where / f"t{text.name[-7:]}")
        with pytest.raises(DataError, match=rf"'id' holds names of texts in {where}; got 't000'"):
            open_plan(path, DataConfig(label="author"))
        plan = open_plan(path, DataConfig(label="author", text="id"))
        assert next(plan.rows()).values == ("t000", "Bob")


def test_texts_that_are_not_there(tmp_path) -> None:
    corpus(tmp_path)
    (tmp_path / "texts" / "004.txt").unlink()
    with pytest.raises(DataError, match="1 of 20 rows name a text that is not there; got '004'"):
        open_plan(tmp_path, DataConfig())


@pytest.mark.parametrize("folder", [".", "clips"])
def test_names_of_files_are_not_learnt_as_texts(tmp_path, folder) -> None:
    """Of any kind that a table does not name by itself."""
    (tmp_path / folder).mkdir(exist_ok=True)
    rows = []
    for i in range(12):
        (tmp_path / folder / f"c{i}.npy").write_bytes(b"x")
        rows.append(f"c{i}.npy,{'ab'[i % 2]}")
    (tmp_path / "clips.csv").write_text("\n".join(["file,label", *rows]) + "\n")
    with pytest.raises(DataError, match=r"'file' holds names of files.*c0.npy.*input="):
        open_plan(str(tmp_path / "clips.csv"), DataConfig(), None)
    plan = open_plan(str(tmp_path / "clips.csv"), DataConfig(text="file"), None)
    assert plan.task == "classify"
