"""Folders of images, sound and music, and tables of them, as public data sets are laid out."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from messy import table
from PIL import Image

from pictures import shape
from tones import tones, wav
from unspool.data.read.music import piece_of_notes

Files = dict[str, str | bytes]
COUNT = 12
LABELS = ["cat", "dog"] * 6


def picture(i: int, format: str = "PNG") -> bytes:
    held = io.BytesIO()
    Image.fromarray(shape(i)).save(held, format)
    return held.getvalue()


def midi(i: int) -> bytes:
    return piece_of_notes(np.array([(0, 4, 60 + i, 80), (4, 8, 64, 80)], np.int64)).midi()


def sound(i: int) -> bytes:
    return wav(tones("a", i))


def images(folder: str, names: str = "{}.png") -> Files:
    return {f"{folder}/{names.format(i)}": picture(i) for i in range(COUNT)}


def idx(x: np.ndarray) -> bytes:
    sizes = struct.pack(f">{x.ndim}I", *x.shape)
    return gzip.compress(bytes((0, 0, 8, x.ndim)) + sizes + x.astype(np.uint8).tobytes())


def write_parquet(path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [{"image": {"bytes": picture(i), "path": None}, "label": i % 2} for i in range(COUNT)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def write_recordings(path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = [{"audio": {"bytes": sound(i), "path": None}, "text": "so it is"} for i in range(COUNT)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def write_arrays(path: Path) -> None:
    x = np.stack([shape(i) for i in range(COUNT)])
    y = np.arange(COUNT)[:, None] % 2
    np.savez(path, train_images=x, train_labels=y, val_images=x[:4], val_labels=y[:4])


def write_chorales(path: Path) -> None:
    parts = {}
    for name in ("train", "valid", "test"):
        parts[name] = np.empty(2, object)
        parts[name][:] = [[[60, 64, 67, 72]], [[62, 65]]]
    np.savez(path, **parts)


@dataclass
class Laid:
    """Files of a folder, and how it is read.

    files     by their paths in the folder, or what writes the one file
    open      which of them is named; "": the folder
    task      that it is read for; None where it is refused
    first     the first row: of a file its path in the folder, or where it stands
    count     of all rows
    says      what the printed line, or the refusal, has to say (a regular expression)
    parts     how many rows each part has
    """

    name: str
    files: Files | Callable[[Path], None]
    open: str = ""
    task: str | None = None
    first: tuple[Any, ...] = ()
    count: int | None = None
    says: str = ""
    parts: dict[str, int] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


CAPTIONED = {
    "images": [{"id": i, "file_name": f"{i}.png"} for i in range(COUNT)],
    "annotations": [{"image_id": i % COUNT, "caption": f"a shape {i}"} for i in range(2 * COUNT)],
}
LAYOUTS = [
    Laid("parts", {f"{part}/{label}/{i}.jpg": picture(i, "JPEG") for part, n in (("train", 6), (
         "val", 2), ("test", 3)) for label in ("cats", "dogs") for i in range(n)}, task="classify",
         first=("test/cats/0.jpg", "cats"), count=22,
         says="in the parts train, val, test by folder",
         parts={"train": 12, "valid": 4, "test": 6}),
    Laid("parts-below", {f"{label}/{part}/{i}.png": picture(i) for label in "ab" for part in (
         "train", "test") for i in range(3)}, task="classify", first=("a/test/0.png", "a"),
         count=12, parts={"train": 6, "test": 6}),
    Laid("test-without-labels", {**{f"train/{own}/{i}.png": picture(i) for own in "ab" for i in
         range(4)}, **{f"test/{i}.png": picture(i) for i in range(3)}}, task="classify",
         first=("test/0.png", ""), count=11, parts={"train": 8, "test": 3}),
    Laid("songs", {f"{part}/{i}.mid": midi(i) for part, n in (("train", 4), ("valid", 2), ("test",
         2)) for i in range(n)}, task="compose", first=("test/0.mid",), count=8,
         parts={"train": 4, "valid": 2, "test": 2}),
    Laid("karaoke", {"1.kar": midi(1), "2.KAR": midi(2), "3.MID": midi(3), "4.midi": midi(4)},
         task="compose", first=("1.kar",), count=4),
    Laid("stray", {**{f"{own}/{i}.JPG": picture(i, "JPEG") for own in ("cats", "dogs") for i in
         range(4)}, "cats/.DS_Store": b"\0", "cats/Thumbs.db": b"\xd0", "README.txt": "pets\n",
         "dogs/a.svg": "<svg/>", "dogs/b.heic": b"\0", "dogs/c.pdf": b"%PDF", "d.tif": b"II"},
         task="classify", first=("cats/0.JPG", "cats"), count=8,
         says=r"4 other files not read \(.heic, .pdf, .svg, ...\)"),
    Laid("numbered-frames", {f"{own}/{clip}/{i}.png": picture(i) for own in ("walk", "run") for clip
         in (1, 2) for i in (1, 2, 3)}, task="classify", first=("run/1/1.png", "1"), count=12,
         says="the inner one; --label folder_1 for the outer.*input=video where each folder is a"),
    Laid("kaggle", {**images("train"), "labels.csv": table("id,breed", rows=[(i, own) for i, own in
         enumerate(LABELS)])}, task="classify", first=("train/0.png", "cat"), count=COUNT,
         says="images in column 'id' in the folder train, called 0.png and so on, label in 'bre"),
    Laid("kaggle-by-table", {**images("train", "{}.JPG"), "l.csv": table("id,label", rows=[(i, own)
         for i, own in enumerate(LABELS)])}, "l.csv", "classify", ("train/0.JPG", "cat"), COUNT,
         settings={"input": "image"}),
    Laid("paths-without-endings", {**images("train"), "l.csv": table("id,label", rows=[(
         f"train/{i}", own) for i, own in enumerate(LABELS)])}, "l.csv", "classify",
         ("train/0.png", "cat"), COUNT),
    Laid("numbers-beside-music", {**{f"songs/{i}.mid": midi(i) for i in range(COUNT)},
         "t.csv": table("date,x", rows=[(f"2024-01-{i + 1:02}", i) for i in range(COUNT)])},
         "t.csv", says="", task="forecast", count=1),
    Laid("ids-of-others", {**images("x"), "t.csv": table("text,label", rows=[(f"a fine {i}", i % 2)
         for i in range(COUNT)])}, "t.csv", "classify", ("a fine 0", "0"), COUNT),
    Laid("coco", {**images("val2017"), "annotations/captions.json": json.dumps(CAPTIONED)},
         "annotations/captions.json", "caption", ("val2017/0.png", ["a shape 0", "a shape 12"]),
         COUNT, "captions of COCO.*in the folder val2017"),
    Laid("coco-folder", {**images("val2017"), "annotations/captions.json": json.dumps(CAPTIONED)},
         says="without labels.*Name the table that has their names: .*annotations/captions.json"),
    Laid("flickr30k", {**images("shots"), "results.csv": "image_name| comment_number| comment\n" +
         "".join(f"{i}.png| {n}| a shape , or {n}\n" for i in range(COUNT) for n in range(2))},
         task="caption", first=("shots/0.png", ["a shape , or 0", "a shape , or 1"]), count=COUNT),
    Laid("flickr8k", {**images("Images"), "text/a.token.txt": "".join(
         f"{i}.png#{n}\ta shape of {n}\n" for i in range(COUNT) for n in range(2))},
         "text/a.token.txt", "caption",
         ("Images/0.png", ["a shape of 0", "a shape of 1"]), COUNT, "in the folder Images"),
    Laid("imagefolder", {**images("train"), "train/metadata.csv": table("file_name,label", rows=[
         (f"{i}.png", own) for i, own in enumerate(LABELS)])},
         says="without labels.*Name the table that has their names: .*train/metadata.csv"),
    Laid("pixels", {"train.csv": table("label," + ",".join(f"pixel{i}" for i in range(64)), rows=[
         (i % 2, *shape(i).ravel()) for i in range(COUNT)])}, "train.csv", "classify",
         ("train.csv:2", "0"), COUNT, "images of 8 x 8 pixels in columns pixel0 to pixel63"),
    Laid("placed-pixels", {"x.csv": table("label," + ",".join(f"{r}x{c}" for r in range(1, 5) for c
         in range(1, 7)), rows=[(i % 2, *range(24)) for i in range(COUNT)])}, "x.csv", "classify",
         ("x.csv:2", "0"), COUNT, "images of 4 x 6 pixels"),
    Laid("a-pixel-of-letters", {"train.csv": table("label," + ",".join(f"pixel{i}" for i in
         range(64)), rows=[(i % 2, *shape(i).ravel()[:-1], "x" if i == 5 else 7) for i in
         range(COUNT)])}, "train.csv", says=":7: a pixel is not a number; got 'x'"),
    Laid("mnist", {"train-images-idx3-ubyte.gz": idx(np.stack([shape(i) for i in range(COUNT)])),
         "train-labels-idx1-ubyte.gz": idx(np.arange(COUNT) % 2)}, "train-images-idx3-ubyte.gz",
         "classify", ("train-images-idx3-ubyte.gz:1", "0"), COUNT,
         "12 of 8 x 8 pixels, labels of train-labels-idx1-ubyte.gz"),
    Laid("mnist-labels", {"train-labels-idx1-ubyte.gz": idx(np.arange(COUNT))},
         "train-labels-idx1-ubyte.gz", says="holds no images.*Name the file of the images"),
    Laid("mnist-folder", {"t10k-images-idx3-ubyte.gz": b"", "t10k-labels-idx1-ubyte.gz": b""},
         says="Name the file of images, such as .*t10k-images-idx3-ubyte.gz"),
    Laid("mnist-broken", {"a-images-idx3-ubyte": b"\x1f\x00 no idx"}, "a-images-idx3-ubyte",
         says="is called like an idx file of MNIST, and is none"),
    Laid("too-few-labels", {"a-images-idx3-ubyte": gzip.decompress(idx(np.zeros((3, 4, 4)))),
         "a-labels-idx1-ubyte": gzip.decompress(idx(np.zeros(2)))}, "a-images-idx3-ubyte",
         says="a-labels-idx1-ubyte: has 2 labels for 3 images"),
    Laid("cut-off", {"a-images-idx3-ubyte": gzip.decompress(idx(np.zeros((3, 4, 4))))[:-5]},
         "a-images-idx3-ubyte", says="a-images-idx3-ubyte: the file ends too early"),
    Laid("base64", {"a.csv": table("image,label", rows=[(base64.b64encode(picture(i)).decode(), own)
         for i, own in enumerate(LABELS)])}, "a.csv", "classify", ("a.csv:2", "cat"), COUNT,
         "images in column 'image', label in 'label'"),
    Laid("a.parquet", write_parquet, task="classify", first=("a.parquet:1", "0"), count=COUNT,
         says="images in column 'image'"),
    Laid("sound.parquet", write_recordings,
         says="column 'audio' holds recordings of sound, which are read from files. Write each"),
    Laid("chorales.npz", write_chorales, says="an array of rows of dx.*pieces of music as JSON"),
    Laid("medmnist.npz", write_arrays, task="classify", first=("medmnist.npz:1", "0"), count=COUNT,
         says=r"other images not read: val_images \(4\) \(--series names an array\)"),
    Laid("karpathy", {**images("Images"), "dataset.json": json.dumps({"images": [{"filename":
         f"{i}.png", "sentences": [{"tokens": ["a"], "raw": f"a shape {i}"}, {"raw": "it"}],
         "split": ["train", "restval", "test"][i % 3]} for i in range(COUNT)]})}, "dataset.json",
         "caption", ("Images/0.png", ["a shape 0", "it"]), COUNT,
         parts={"train": 8, "test": 4}),
    Laid("list-of-files", {**images("img"), "train.txt": "".join(f"img/{i}.png {i % 2}\n" for i in
         range(COUNT))}, "train.txt", says="is a list of files with spaces.*file,label above them"),
    Laid("urban", {**{f"audio/fold{i % 3}/{i}.wav": sound(i) for i in range(9)},
         "meta/u.csv": table("slice_file_name,fold,class", rows=[
         (f"{i}.wav", i % 3, LABELS[i]) for i in range(9)])}, "meta/u.csv", "classify",
         ("audio/fold0/0.wav", "cat"), 9, "in several folders, label in"),
    Laid("urban-folder", {**{f"audio/fold{i % 3}/{i}.wav": sound(i) for i in range(9)},
         "meta/u.csv": table("slice_file_name,class", rows=[(f"{i}.wav", own) for i,
         own in enumerate(LABELS[:9])])}, task="classify",
         first=("audio/fold0/0.wav", "fold0"), count=9,
         says="meta/u.csv names them, too, and is read where it is named"),
    Laid("heic", {f"{own}/{i}.HEIC": b"\0" for own in "ab" for i in range(3)},
         says="but 6 .heic files. Save them as PNG or JPEG"),
    Laid("scores", {"a.musicxml": "<a/>", "b.musicxml": "<a/>"},
         says="but 2 .musicxml files. Save them as MIDI"),
    Laid("tunes", {"a.abc": "X:1\n"}, says="but 1 .abc file. Make MIDI of them with abc2midi"),
    Laid("cifar", {"data_batch_1": b"\x80\x02}q\x01."}, says="data_batch_1: is a pickle"),
    Laid("ucf", {**{f"UCF/{own}/v_{i}.avi": b"RIFF" for own in ("Archery", "Biking") for i in
         range(3)}, "trainlist01.txt": "".join(f"Archery/v_{i}.avi 1\n" for i in range(3))},
         task="classify", first=("UCF/Archery/v_0.avi", "Archery"), count=6,
         says=r"1 other file not read \(trainlist01.txt\), label = folder"),
    Laid("speech-commands", {**{f"{own}/{i}_nohash_0.wav": sound(i) for own in ("no", "yes") for i
         in range(4)}, "_background_noise_/pink.wav": sound(1), "LICENSE": "x",
         "validation_list.txt": "no/1_nohash_0.wav\nyes/1_nohash_0.wav\n",
         "testing_list.txt": "no/2_nohash_0.wav\n"}, task="classify",
         first=("no/0_nohash_0.wav", "no"), count=8,
         says=r"train, valid, test by lists beside them, 1 other file not read \(pink.wav\)",
         parts={"train": 5, "valid": 2, "test": 1}),
    Laid("librispeech", {**{f"{own}/1/{own}-1-{i}.wav": sound(i) for own in (84, 174) for i in
         range(3)}, **{f"{own}/1/{own}-1.trans.txt": "".join(f"{own}-1-{i} GO ON {i}\n" for i in
         range(3)) for own in (84, 174)}}, task="transcribe", first=("174/1/174-1-0.wav",
         "GO ON 0"), count=6, says="text in 'text' -> transcribe"),
    Laid("ljspeech", {**{f"wavs/LJ1-{i}.wav": sound(i) for i in range(6)}, "metadata.csv": "".join(
         f"LJ1-{i}|In the {i}th year|In the year {i}\n" for i in range(6))}, task="transcribe",
         first=("wavs/LJ1-0.wav", "In the 0th year"), count=6,
         says=r"called LJ1-0.wav and so on, text in column 2 \(or 3: --text\)"),
    Laid("common-voice", {**{f"clips/{i}.wav": sound(i) for i in range(6)}, **{f"{part}.tsv": table(
         "path\tsentence", "\t", [(f"{i}.wav", f"so it is {i}") for i in range(6)]) for part in (
         "dev", "test", "train")}}, task="transcribe", first=("clips/0.wav", "so it is 0"),
         count=18, says="parts train, valid, test by name"),
    Laid("two-lists", {**{f"clips/{i}.wav": sound(i) for i in range(6)}, **{f"{name}.tsv": table(
         "path\tsentence", "\t", [(f"{i}.wav", f"so it is {i}") for i in range(6)]) for name in (
         "good", "train")}}, says=r"several tables of recordings \(good.tsv, train.tsv\). Name the"
         r" one to read, such as .*train.tsv"),
    Laid("esc", {**{f"audio/1-{i}.wav": sound(i) for i in range(8)}, "meta/esc.csv": table(
         "filename,fold,category", rows=[(f"1-{i}.wav", i % 4 + 1, LABELS[i]) for i in range(8)])},
         "meta/esc.csv", "classify", ("audio/1-0.wav", "cat"), 8, "in the folder audio"),
]  # fmt: skip
