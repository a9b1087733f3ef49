"""Clips: folders of frames, GIFs, films and arrays by label; a table of labels a frame; arrays of
several clips."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any


def frames(rng: random.Random, label: str, count: int | None = None) -> Any:
    """(T, 8, 8) uint8: a light column that goes left or right."""
    import numpy as np

    count = count or rng.randint(1, 5)
    x = np.frombuffer(rng.randbytes(count * 64), np.uint8).reshape(count, 8, 8) // 8
    for t in range(count):
        x[t, :, 1 + t if label == "right" else 6 - t] = 220
    return x


def write_frames(folder: Path, x: Any) -> None:
    from PIL import Image

    folder.mkdir(parents=True)
    for t, frame in enumerate(x, 1):
        Image.fromarray(frame).save(folder / f"{t}.png")


def write_film(path: Path, x: Any) -> None:
    import av
    import numpy as np

    with av.open(str(path), "w") as film:
        stream = film.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 16, 16, "yuv420p"
        for frame in x:
            large = np.repeat(np.repeat(frame, 2, 0), 2, 1)
            shown = av.VideoFrame.from_ndarray(np.stack([large] * 3, 2), "rgb24")
            film.mux(stream.encode(shown))
        film.mux(stream.encode())


def write_clips(folder: Path, rng: random.Random) -> Path:
    """A folder a label, with clips of every kind that is read."""
    import numpy as np
    from PIL import Image

    for label in ("left", "right"):
        (folder / label).mkdir(parents=True)
        for i in range(6):
            x, place = frames(rng, label), folder / label / str(i)
            ending = rng.choice(["", "", ".gif", ".gif", ".npy", ".npz", ".mp4", ".avi"])
            path = place.with_suffix(ending)
            if ending == "":
                write_frames(place, x)
            elif ending == ".gif":
                first, *rest = (Image.fromarray(frame) for frame in x)
                first.save(path, save_all=True, append_images=rest)
            elif ending == ".npy":
                np.save(path, x)
            elif ending == ".npz":
                np.savez(path, x)
            else:
                write_film(path, x)
    return folder


def write_scenes(folder: Path, rng: random.Random) -> Path:
    """Folders of frames, and a table with a label for each frame."""
    rows = []
    for i in range(10):
        label = rng.choice(["left", "right"])
        x = frames(rng, label)
        write_frames(folder / str(i), x)
        rows.append(json.dumps({"file": str(i), "labels": ["still", *[label] * (len(x) - 1)]}))
    (folder / "scenes.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def clip_arrays(rng: random.Random) -> dict[str, Any]:
    """Clips of one length, or frames one after the other; a label a clip or a frame."""
    import numpy as np

    labels = [rng.choice(["left", "right"]) for _ in range(16)]
    if rng.random() < 0.5:
        clips = np.stack([frames(rng, label, 4) for label in labels])[..., None]
        a_frame = rng.random() < 0.3
        return {"x": clips, "y": np.array([[own] * 4 if a_frame else own for own in labels])}
    own = [frames(rng, label) for label in labels]
    lengths = [len(x) for x in own]
    arrays = {"x": np.concatenate(own)[..., None], "y": np.array(labels)}
    if rng.random() < 0.5:
        return {**arrays, "lengths": np.array(lengths)}
    return {**arrays, "offsets": np.cumsum([0, *lengths])}
