"""Clips of every kind, frame by frame, against what Pillow, NumPy and PyAV give."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from films import clip, write_frames, write_gif
from unspool.config import DataConfig
from unspool.data.read import open_table
from unspool.data.read.clip import Clip, as_clip
from unspool.errors import DataError


def frames(own: Clip) -> list[np.ndarray]:
    return [pixels for _, pixels in own.frames()]


def test_a_folder_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    x = clip(1, frames=12)
    found = Clip(write_frames(tmp_path / "a", x), "a")
    assert len(found) == 12
    assert np.array_equal(np.stack(frames(found))[..., 0], x)  # 2.png before 10.png


def test_a_gif_as_pillow_reads_it(tmp_path: Path) -> None:
    """Also one that is transparent and whose frames change parts of the one before."""
    path = tmp_path / "a.gif"
    first = Image.new("RGBA", (6, 5), (250, 0, 0, 255))
    second = Image.new("RGBA", (6, 5), (0, 0, 0, 0))
    second.putpixel((2, 2), (0, 0, 250, 255))
    first.save(path, save_all=True, append_images=[second], disposal=2)
    with Image.open(path) as image:
        wanted = []
        for frame in ImageSequence.Iterator(image):
            white = Image.new("RGBA", frame.size, "white")
            wanted.append(np.asarray(Image.alpha_composite(white, frame.convert("RGBA")))[..., :3])
    assert np.array_equal(np.stack(frames(Clip(path, "a"))), np.stack(wanted))
    still = write_gif(tmp_path / "b.gif", clip(1)[:1])
    assert len(Clip(still, "b")) == len(frames(Clip(still, "b"))) == 1


def test_a_film_as_pyav_reads_it(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="needs av, the extra video")
    path, x = tmp_path / "a.mp4", np.repeat(clip(2, 6, 32)[..., None], 3, 3)
    with av.open(str(path), "w") as film:
        stream = film.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        for frame in x:
            film.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        film.mux(stream.encode())
    with av.open(str(path)) as film:
        wanted = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
    found = Clip(path, "a.mp4")
    assert np.array_equal(np.stack(frames(found)), np.stack(wanted))
    assert len(found) == 6
    assert np.abs(np.stack(wanted).astype(int) - x).mean() < 20  # as the film was
    table = open_table(str(path), DataConfig())
    assert table.format == "video"
    playlist = tmp_path / "list.mp4"
    playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{path}\n#EXT-X-ENDLIST\n")
    with pytest.raises(DataError, match="cannot be decoded"):
        frames(Clip(playlist, "list.mp4"))  # what names other files is not opened


def test_arrays(tmp_path: Path) -> None:
    x = clip(3)
    assert np.array_equal(np.stack(frames(as_clip(x, "x")))[..., 0], x)
    np.savez_compressed(tmp_path / "a.npz", frames=x)
    assert np.array_equal(np.stack(frames(Clip(tmp_path / "a.npz", "a")))[..., 0], x)
    pictures = as_clip([Image.fromarray(own) for own in x], "x")
    assert np.array_equal(np.stack(frames(pictures))[..., 0], x)
    with pytest.raises(DataError, match="a list is not a video"):
        as_clip([1.0, 2.0], "x")


def rows(path: Path, **data: object) -> list[tuple[object, ...]]:
    table = open_table(str(path), DataConfig(**data))
    return [row.values for row in table.rows(table.columns)]


def test_arrays_of_several_clips(tmp_path: Path) -> None:
    """(N, T, H, W, C) is known by its look; others are asked for; ragged ones have lengths."""
    x = np.stack([clip(i) for i in range(3)])
    np.savez(tmp_path / "a.npz", x=x[..., None], label=np.array(["a", "b", "a"]))
    found = rows(tmp_path / "a.npz")
    assert [own[1] for own in found] == ["a", "b", "a"]
    assert np.array_equal(np.stack([np.stack(frames(own[0])) for own in found]), x[..., None])
    np.savez(tmp_path / "b.npz", x=x, tags=np.full((3, 5), "still"))
    assert [own[1] for own in rows(tmp_path / "b.npz", input="video")] == [["still"] * 5] * 3
    flat = np.concatenate([x[0], x[1, :2], x[2, :4]])
    tags = np.arange(11)
    np.savez(tmp_path / "c.npz", x=flat, lengths=[5, 2, 4], tags=tags)
    np.savez(tmp_path / "d.npz", x=flat, offsets=[0, 5, 7, 11], tags=tags)
    for name in ("c.npz", "d.npz"):
        found = rows(tmp_path / name, input="video")
        assert [len(own[0]) for own in found] == [5, 2, 4]
        assert [own[1] for own in found] == [[0, 1, 2, 3, 4], [5, 6], [7, 8, 9, 10]]
        assert np.array_equal(np.stack(frames(found[1][0]))[..., 0], x[1, :2])


def test_a_film_without_pyav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.mp4").write_bytes(b"\0\0\0\x18ftypisom")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(DataError, match=r"a\.mp4: films need the package av.*unspool\[video\]"):
        list(Clip(tmp_path / "a.mp4", "a.mp4").frames())
