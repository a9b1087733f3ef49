"""Pictures: what stands in them, where they go, and the message where they cannot."""

from pathlib import Path

import numpy as np
import pytest

from unspool.errors import DataError
from unspool.insight.plots import alignment_figure, matrix_figure
from unspool.io.pictures import check_picture, new_figure, save_picture
from unspool.tasks.translate.answer import Translation

WEIGHTS = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.1, 0.9]])


def translation(alignment: np.ndarray | None) -> Translation:
    tokens = ["zwei", "Hunde", "</s>"]
    return Translation(
        "two dogs", "zwei Hunde", -1.0, [], ["two", " dogs", "</s>"], tokens, alignment
    )


def test_alignment_shows_every_weight_and_token() -> None:
    axes = alignment_figure(translation(WEIGHTS)).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), WEIGHTS)
    assert axes.images[0].get_clim() == (0, 1)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["two", "dogs", "(end)"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["zwei", "Hunde", "(end)"]


def test_a_long_alignment_shows_its_beginning() -> None:
    weights = np.random.default_rng(1).random((70, 80))
    axes = matrix_figure(weights, list("ab" * 40), list("c" * 70)).axes[0]
    np.testing.assert_array_equal(axes.images[0].get_array(), weights[:60, :60])
    assert axes.get_xlabel() == "the first 60 of 80 tokens"
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {0}  # of characters


def test_no_alignment_no_picture() -> None:
    with pytest.raises(ValueError, match="has no alignment"):
        alignment_figure(translation(None))


@pytest.mark.parametrize(
    ("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_formats(ending: str, begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{ending}"
    save_picture(alignment_figure(translation(WEIGHTS)), check_picture(path))
    assert path.read_bytes().startswith(begins)


def test_the_same_picture_is_the_same_file_with_its_text(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        save_picture(alignment_figure(translation(WEIGHTS)), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "Hunde" in (tmp_path / "a.svg").read_text()


def test_refused_places(tmp_path: Path) -> None:
    for name, got in (("picture.gif", ".gif"), ("picture", "a name without an ending")):
        with pytest.raises(
            DataError, match=rf"in this format.*{got}.*End the name in .png, .svg, .pdf"
        ):
            check_picture(tmp_path / name)
    with pytest.raises(DataError, match="there is no such folder"):
        check_picture(tmp_path / "nowhere" / "picture.png")


def test_size() -> None:
    assert tuple(new_figure(3, 2).get_size_inches()) == (3, 2)
