"""Which weights are kept: those that were best on the validation part, or the last."""

from __future__ import annotations

import pytest

import unspool
from unspool.training.progress import read_log

SMALL = {"model": "gru", "hidden": 4, "embedding": 4, "epochs": 4, "lr": 0.1, "baseline": False}
FEW = "validation rows are fewer than 50, too few to choose one by"


@pytest.mark.parametrize(
    ("rows", "settings", "last"),
    [(49, {}, True), (50, {}, False), (50, {"keep": "last"}, True)],
    ids=["few", "enough", "keep=last"],
)
def test_few_rows_choose_no_epoch(tmp_path, rows, settings, last) -> None:
    texts, labels = ["good", "bad"] * 30, ["x", "y"] * 30
    valid = (["bad", "good"] * 25)[:rows], (["x", "y"] * 25)[:rows]  # worse with each epoch
    notes: list[str] = []
    run = unspool.train(
        texts, labels, valid=valid, out=tmp_path / "run", note=notes.append, quiet=True,
        patience=1, **SMALL, **settings,
    )  # fmt: skip
    epochs = [entry for entry in read_log(run.folder.metrics) if "best" in entry]
    assert (len(epochs) == 4 and all(entry["best"] for entry in epochs)) == last
    assert any(FEW in note for note in notes) == (rows < 50)
