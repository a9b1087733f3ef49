"""Videos through the command line: how they are found, what is said, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from films import NAMES, clip, write_folders, write_frames, write_gif
from unspool.data.read.music import as_piece, piece_of_frames

QUICK = ["--set", "epochs=1", "--set", "hidden=8", "--set", "embedding=8", "--set", "valid_share=0"]
QUICK += ["--set", "precision=fp32", "--model", "gru"]
VIDEO = ["--set", "input=video"]


def test_folders_of_clips(here: Path, unspool) -> None:
    """Folders of frames and GIFs by label; one frame, other sizes and one pixel are said."""
    home = write_folders(here / "x", 12)
    write_gif(home / "left" / "still.gif", clip(0)[:1])
    mixed = write_frames(home / "up" / "mixed", clip(2))
    Image.fromarray(clip(2, size=14)[0]).save(mixed / "3.png")
    write_frames(home / "down" / "point", np.full((2, 1, 1), 90, np.uint8))
    ended = unspool("train", home, "--out", here / "run", *VIDEO, *QUICK)
    assert ended.code == 0, ended.err
    assert "15 files, clips, label = folder" in ended.err
    assert "15 clips in train, 1 to 5 frames each, 9 x 9 (height x width), grey" in ended.err
    assert "resized (stretch) to 9 x 9: 1 of 1 x 1, 1 of 14 x 14" in ended.err
    assert "1 clips have frames of different sizes" in ended.err
    assert "1 clips have one frame, which does not move" in ended.err
    given = [home / "up" / "mixed", home / "left" / "still.gif"]
    ended = unspool("predict", here / "run", *given)
    assert ended.code == 0, ended.err
    assert len(ended.out.splitlines()) == 2
    ended = unspool("look", here / "run", home / "up" / "mixed", "--pictures", here / "pictures")
    assert ended.code == 0, ended.err
    assert (here / "pictures" / "frames.png").exists()
    for name, says in {
        "no.gif": "no.gif: no such file",
        "some text": "the model reads video, which is no text; got 'some text'",
    }.items():
        ended = unspool("predict", here / "run", name)
        assert ended.code == 2
        assert says in ended.err
    (here / "run" / "hashes.json").unlink()
    (here / "run" / "video.json").write_text('{"height": "tall"}')
    ended = unspool("predict", here / "run", given[0])
    assert ended.code == 2
    assert "video.json: invalid video settings" in ended.err


def tagged(home: Path, count: int = 8) -> Path:
    """Folders of frames, and a table with a label a frame."""
    rows = ["file,labels"]
    for i in range(count):
        write_frames(home / f"c{i}", clip(i))
        rows.append(f"c{i},{' '.join([NAMES[i % 4]] * 4)} still")
    (home / "table.csv").write_text("\n".join(rows) + "\n")
    return home


def test_labels_of_frames(here: Path, unspool, refused) -> None:
    home = tagged(here / "x")
    ended = unspool("train", home, "--task", "tag", "--out", here / "run", *VIDEO, *QUICK)
    assert ended.code == 0, ended.err
    assert "videos in column 'file', tags in 'labels' -> tag" in ended.err
    ended = unspool("predict", here / "run", home / "c1", "--json")
    assert len(json.loads(ended.out)["labels"]) == 5
    with (home / "table.csv").open("a") as file:
        file.write("c1,left\n")
    refused(
        "train", home, "--task", "tag", *VIDEO, *QUICK,
        says=["table.csv:10: 5 steps have 1 labels in 'labels'"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("left/bad.gif", b"no GIF at all", "bad.gif: is not an image that can be read"),
        ("left/bad.gif", b"", "bad.gif: the file is empty"),
        ("left/0/9.png", b"hello", "9.png: is not an image that can be read"),
        ("left/bad.npy", b"\x93NUMPY???", "bad.npy"),
        ("left/bad.mp4", b"\0\0\0\x18ftyp", "bad.mp4: cannot be decoded (Invalid data found"),
        (
            "left/bad.mp4",
            b"no film, but a text\n",
            "bad.mp4: cannot be decoded (Invalid data found",
        ),
        ("left/bad.mp4", b"", "bad.mp4: the file is empty"),
    ],
)
def test_what_cannot_be_read(here: Path, refused, name: str, content: bytes, says: str) -> None:
    home = write_folders(here / "x", 8)
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_bytes(content)
    refused("train", home, *VIDEO, *QUICK, says=[says])


def test_an_array_of_another_shape(here: Path, refused) -> None:
    home = write_folders(here / "x", 8)
    np.savez(home / "left" / "flat.npz", np.zeros(5))
    refused(
        "train", home, *VIDEO, *QUICK, says=["flat.npz: holds no frames; got 'arr_0 float64 (5,)'"]
    )


def test_clips_that_the_table_does_not_name(here: Path, unspool, refused) -> None:
    """Folders of frames and files are counted; a clip without labels is refused."""
    home = tagged(here / "x")
    write_frames(home / "more", clip(1))
    write_gif(home / "other.gif", clip(2))
    (home / "notes").mkdir()
    asked = ["train", home, "--task", "tag", *VIDEO, *QUICK]
    ended = unspool(*asked, "--out", here / "run")
    assert ended.code == 0, ended.err
    assert "(2 clips of its folder are not in the table)" in ended.err
    with (home / "table.csv").open("a") as file:
        file.write("more,\n")
    refused(*asked, says=["table.csv:10: 5 steps have 0 labels in 'labels'"])


def test_music_without_notes(here: Path, refused) -> None:
    home = here / "songs"
    home.mkdir()
    for i in range(4):
        (home / f"{i}.mid").write_bytes(as_piece([[60, 64], [62]] * 8, "x").midi())
    (home / "silent.mid").write_bytes(piece_of_frames(np.zeros((3, 88))).midi())
    refused("train", home, "--set", "epochs=1", says=["silent.mid: a MIDI file without notes"])


def test_a_gif_that_ends_early(here: Path, refused) -> None:
    home = write_folders(here / "x", 8)
    path = write_gif(home / "left" / "cut.gif", np.random.default_rng(1).integers(
        0, 256, (5, 30, 30)).astype(np.uint8))  # fmt: skip
    path.write_bytes(path.read_bytes()[:-1500])
    refused("train", home, *VIDEO, *QUICK, says=["cut.gif: ends before its last frame"])


def test_other_refusals(here: Path, refused) -> None:
    home = tagged(here / "x")
    refused("train", home, *VIDEO, "--series", "clip", says=["there is no column 'clip' among"])
    refused("train", home, *VIDEO, "--label", "tag", says=["there is no column 'tag' among"])
    refused("train", home, *VIDEO, "--set", "reading=rows", says=["read by a CNN or as patches"])
    (home / "table.csv").write_text("file,label\nc0,a\nc99,b\nc1,a\nc2,b\n" + "c3,a\n" * 9)
    refused("train", home, *VIDEO, *QUICK, says=["table.csv:3:", "c99: no such file"])
    np.savez(here / "x.npz", x=np.zeros((6, 5)), y=np.arange(6))
    refused("train", here / "x.npz", *VIDEO, says=["x.npz: holds no array of clips"])
    home = write_folders(here / "huge", 8)
    Image.new("1", (20_000, 20_000)).save(home / "left" / "4" / "1.png")
    refused("train", home, *VIDEO, *QUICK, says=["1.png: would take"])
