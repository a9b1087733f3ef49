"""What was read, counted and left out stays with a run, whether or not anything was shown."""

from __future__ import annotations

import json

import unspool


def test_rows_and_what_was_left_out_are_recorded(tmp_path) -> None:
    rows = [f"good film {i},pos\nbad film {i},neg\n" for i in range(20)]
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(rows) + "no label,\n,pos\n")
    run = unspool.train(path, model="linear", out=tmp_path / "run", quiet=True)
    again = unspool.load(tmp_path / "run")
    for known in (run, again):
        assert known.data["rows"] == {"train": 36, "valid": 4}
        assert known.data["files"]["train"]["path"] == str(path)
        assert "label in 'label' -> classify" in known.data["summary"]
        assert known.report is not None
        for notes in (known.data["notes"], known.report.notes):
            assert any("rows: train 36, valid 4" in note for note in notes)
            assert any("1 rows with" in note and "a.csv:42" in note for note in notes)
    card = (tmp_path / "run" / "README.md").read_text()
    assert "| `train` | `36` |" in card
    assert "left out, the first at" in card
    assert json.loads((tmp_path / "run" / "evaluation.json").read_text())["notes"]
