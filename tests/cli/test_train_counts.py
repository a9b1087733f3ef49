"""`unspool train --json` has the rows of each part and the notes on what was left out."""

from __future__ import annotations

import json


def test_rows_and_notes_are_in_the_json(tmp_path, unspool) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "good film,pos\nbad film,neg\n" * 20 + "no label,\n")
    result = unspool("train", path, "--model", "linear", "--out", tmp_path / "run", "--json")
    data = json.loads(result.out)["data"]
    assert data["rows"] == {"train": 36, "valid": 4}
    assert any("1 rows with" in note and "left out" in note for note in data["notes"])
