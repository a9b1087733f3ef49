"""A start that fails leaves nothing behind, and no command overwrites its own input."""

from __future__ import annotations


def test_folds_name_the_label_of_one_row_and_leave_no_folder(tmp_path, unspool) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "run"
    path.write_text("text,label\n" + "good film,pos\nbad film,neg\n" * 10 + "odd,rare\n")
    ended = unspool("train", path, "--model", "linear", "--folds", "5", "--out", out)
    assert ended.code == 2
    assert "a label with a single row ('rare') cannot be split into 5 folds" in ended.err
    assert not out.exists()


def test_predict_does_not_overwrite_its_input(tmp_path, unspool, classifier) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text\ngood film\nbad film\n")
    for file in (["--file", path], [path]):
        ended = unspool("predict", classifier, *file, "--out", path)
        assert ended.code == 2
        assert "--out is the file that is read, which the answers would replace" in ended.err
        assert path.read_text() == "text\ngood film\nbad film\n"
