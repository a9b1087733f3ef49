"""Bad images, through the command line: one line that names the file, exit code 2."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pictures import shape, write_folders, write_lines, write_table

QUICK = ["--set", "epochs=1", "--set", "hidden=8", "--set", "baseline=false", "--model", "gru"]
QUICK += ["--set", "valid_share=0", "--set", "precision=fp32"]
NOISE = np.random.default_rng(1).integers(0, 256, (40, 40, 3)).astype(np.uint8)


def encoded(image: Image.Image, format: str) -> bytes:
    file = io.BytesIO()
    image.save(file, format)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"hello, I am a text", "3.png: is not an image that can be read"),
        (encoded(Image.fromarray(NOISE), "JPEG")[:900], "3.png: cannot be decoded"),
        (b"", "3.png: the file is empty"),
    ],
)
def test_a_broken_file(here: Path, refused, content: bytes, says: str) -> None:
    home = write_folders(here / "x", 9)
    (home / "bar" / "3.png").write_bytes(content)
    refused("train", home, *QUICK, says=[says])


def test_a_decompression_bomb(here: Path, refused) -> None:
    home = write_folders(here / "x", 9)
    Image.new("1", (20_000, 20_000)).save(home / "bar" / "3.png")
    refused("train", home, *QUICK, says=["3.png: would take"])


def test_every_kind_is_read_and_said(here: Path, unspool) -> None:
    """CMYK, 16 bits, alpha, a palette, one pixel, another size."""
    home = write_folders(here / "x", 12)
    Image.fromarray(NOISE).convert("CMYK").save(home / "bar" / "cmyk.jpg")
    Image.fromarray(shape(1).astype(np.uint16) * 250).save(home / "line" / "deep.png")
    Image.fromarray(NOISE[:8, :8]).convert("RGBA").save(home / "dot" / "alpha.png")
    Image.fromarray(NOISE[:8, :8]).convert("P").save(home / "dot" / "palette.gif")
    Image.new("L", (1, 1), 90).save(home / "bar" / "point.png")
    ended = unspool("train", home, "--out", here / "run", *QUICK)
    assert ended.code == 0, ended.err
    assert "label = folder" in ended.err
    assert "17 in train, 8 x 8 (height x width), red, green and blue, read as 8 rows" in ended.err
    assert "2 images resized (stretch) to 8 x 8: 1 of 40 x 40, 1 of 1 x 1" in ended.err
    assert "1 images have more than 8 bits, and are kept with all of them" in ended.err
    assert "1 images with transparent parts are put on white" in ended.err
    ended = unspool("predict", here / "run", home / "bar" / "0.png", home / "dot" / "palette.gif")
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 2
    for name, says in {
        "no.png": "no.png: no such file",
        "some text": "the model reads image, which is no text; got 'some text'",
    }.items():
        ended = unspool("predict", here / "run", name)
        assert ended.code == 2
        assert says in ended.err
    (here / "run" / "hashes.json").unlink()
    (here / "run" / "image.json").write_text('{"height": "tall"}')
    ended = unspool("predict", here / "run", home / "bar" / "0.png")
    assert ended.code == 2
    assert "image.json: invalid image settings" in ended.err


def test_a_missing_path_in_the_table(here: Path, refused) -> None:
    home = write_table(here / "x", 9)
    (home / "2.png").unlink()
    refused("train", home, *QUICK, says=["labels.csv:4:", "2.png: no such file"])


def test_a_row_without_a_path(here: Path, refused) -> None:
    home = write_table(here / "x", 9)
    with (home / "labels.csv").open("a") as file:
        file.write(",dot\n")
    refused("train", home, *QUICK, says=["labels.csv:11: the name of the file is missing"])


def test_a_folder_with_one_class(here: Path, refused) -> None:
    home = write_folders(here / "x", 9)
    refused(
        "train", home / "bar", *QUICK, says=["holds images without labels", "--task transcribe"]
    )
    only = here / "only"
    only.mkdir()
    (home / "bar").rename(only / "bar")
    refused(
        "train", only, "--set", "pattern={label}/{n}.png", *QUICK,
        says=["all rows have the same label"],
    )  # fmt: skip


def test_an_array_of_another_shape(here: Path, refused) -> None:
    path = here / "x.npz"
    np.savez(path, x=np.zeros((6, 5)), y=np.arange(6))
    refused("train", path, "--set", "input=image", says=["x.npz: holds no array of images"])


def test_images_have_no_label_a_step(here: Path, refused) -> None:
    home = write_folders(here / "x", 9)
    refused("train", home, "--task", "tag", says=["holds images without a label for each step"])


def test_texts_are_no_images(file, refused) -> None:
    path = file("text,label\na fine film,x\nwhat a bore,y\n" * 10)
    refused("train", path, "--set", "input=image", says=["no images found"])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["window=4"], "data.window is a setting of"),
        (["max_length=4"], "data.max_length is a setting of"),
        (["scaling=window"], "data.scaling=window is for series"),
        (["reading=columns", "width=8"], "images keep their proportions"),
        (
            ["reading=patches", "patch_size=3", "height=8"],
            "height must be a multiple of the 3",
        ),
    ],
)
def test_settings_of_others(here: Path, refused, settings: list[str], says: str) -> None:
    home = write_folders(here / "x", 9)
    given = [part for own in settings for part in ("--set", own)]
    refused("train", home, *QUICK, *given, says=[says])


def test_steps_of_a_convolution_are_not_joined(here: Path, refused) -> None:
    home = write_lines(here / "x", ["ab", "ba", "aa", "bb"])
    refused("train", home, "--set", "patch=2", says=["model.patch joins steps before"])


def test_texts_that_are_longer_than_their_lines(here: Path, refused) -> None:
    home = write_lines(here / "x", ["ab", "ba"])
    (home / "texts.csv").write_text("file,text\n0.png,abababababababababab\n1.png,baaaaaaaaaaa\n")
    refused("train", home, "--set", "valid_share=0", says=["every text is longer than the steps"])
