"""Whole data of every format, before anything is damaged, and small trained runs of every task."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import math
import random
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import video_samples as video
from music_samples import chorales, write_songs

WORDS = [
    "the", "a", "film", "plot", "cast", "was", "is", "very", "and", "good", "great", "bad", "dull",
    "Anna", "met", "Bern", "red", "house",
]  # fmt: skip
odd_words: list[str] = []  # which a case may fill, and texts then hold
odd_numbers: list[str] = []  # the same for the numbers of series
wanted: list[str] = []  # names of the formats that are attacked; empty: all
SETTINGS = {
    "hidden": 8, "embedding": 6, "filters": 4, "heads": 2, "layers": 1, "character_embedding": 4,
    "character_hidden": 4, "projection": 6, "batch": 8, "threads": 1, "bptt": 16, "vocab": 300,
}  # fmt: skip


RATE = 8000
VIDEO = {"input": "video"}  # which images could be as well
HORIZON = {"horizon": 3, "window": 6}  # which forecasts need


def texts(rng: random.Random, count: int) -> list[str]:
    words = [*WORDS * 3, *odd_words]
    return [" ".join(rng.choices(words, k=rng.randint(1, 8))) for _ in range(count)]


def label_of(text: str) -> str:
    return "pos" if "good" in text or "great" in text else "neg"


def written(rng: random.Random, value: float) -> str:
    """A number as it stands in a text; now and then an odd one, where there are such."""
    if odd_numbers and rng.random() < 0.02:
        return rng.choice(odd_numbers)
    return f"{value:.3f}"


def valued(rng: random.Random, value: float) -> float:
    """The same for formats that hold the number itself."""
    try:
        return float(written(rng, value))
    except ValueError:
        return math.nan


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


def csv(rng: random.Random, sign: str = ",") -> bytes:
    rows = [
        sign.join([quoted(t) if rng.random() < 0.3 else t, label_of(t)]) for t in texts(rng, 30)
    ]
    header = [] if rng.random() < 0.2 else [sign.join(["text", "label"])]
    return "\n".join([*header, *rows]).encode()


def tsv(rng: random.Random) -> bytes:
    return csv(rng, "\t")


def ratings(rng: random.Random) -> bytes:
    rows = [f"{t},{len(t) / 7:.2f},{i % 4}" for i, t in enumerate(texts(rng, 30))]
    return "\n".join(["text,rating,group", *rows]).encode()


def genres(rng: random.Random) -> bytes:
    names = ["drama", "war", "comedy"]
    rows = [f"{t},{'|'.join(n for n in names if rng.random() < 0.5)}" for t in texts(rng, 30)]
    return "\n".join(["text,labels", *rows]).encode()


def parts(rng: random.Random) -> bytes:
    rows = [f"{t},{label_of(t)},{rng.choice(['train', 'valid', 'test'])}" for t in texts(rng, 30)]
    return "\n".join(["text,label,split", *rows]).encode()


def pairs(rng: random.Random) -> bytes:
    rows = [f"{t}\t{translated(t)}" for t in texts(rng, 30)]
    return "\n".join(["en\tde", *rows]).encode()


def translated(text: str) -> str:
    return " ".join(word[::-1] for word in text.split())


def entailment(rng: random.Random) -> bytes:
    """Two texts and a label."""
    rows = [
        f"{quoted(one)},{quoted(other)},{'yes' if label_of(one) == label_of(other) else 'no'}"
        for one, other in zip(texts(rng, 30), texts(rng, 30))
    ]
    return "\n".join(["premise,hypothesis,label", *rows]).encode()


def summaries(rng: random.Random) -> bytes:
    """Texts and shorter ones."""
    rows = [{"article": " ".join([t, *texts(rng, 2)]), "summary": t} for t in texts(rng, 30)]
    return "\n".join(map(json.dumps, rows)).encode()


def questions(rng: random.Random) -> bytes:
    """Answers that are words of a text."""
    rows = [
        {"context": t, "question": f"who {rng.choice(WORDS)}?", "answer": rng.choice(t.split())}
        for t in texts(rng, 30)
        if t.split()
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def stories(rng: random.Random) -> bytes:
    """Numbered sentences, and questions about them."""
    lines = []
    for _ in range(12):
        told = [text for text in texts(rng, 3) if text.split()] or ["nothing"]
        lines += [f"{i} {text}." for i, text in enumerate(told, 1)]
        answer = ",".join(rng.sample(WORDS, rng.randint(1, 2)))
        lines.append(f"{len(told) + 1} who {rng.choice(WORDS)}?\t{answer}\t1")
    return "\n".join(lines).encode()


def squad(rng: random.Random) -> bytes:
    """SQuAD's JSON."""
    paragraphs = []
    for text in texts(rng, 20):
        word = rng.choice(text.split() or [""])
        given = [{"text": word, "answer_start": text.find(word)}] if word else []
        qas = [{"id": "q", "question": f"who {rng.choice(WORDS)}?", "answers": given}]
        paragraphs.append({"context": text, "qas": qas})
    return json.dumps({"version": "v2.0", "data": [{"paragraphs": paragraphs}]}).encode()


def opinions(rng: random.Random) -> bytes:
    """Sentences with $T$, targets and polarities, a line each."""
    rows = [f"the $T$ {t}\n{rng.choice(WORDS)}\n{rng.choice([-1, 0, 1])}" for t in texts(rng, 20)]
    return "\n".join(rows).encode()


def jsonl(rng: random.Random) -> bytes:
    return "\n".join(json.dumps({"text": t, "label": label_of(t)}) for t in texts(rng, 30)).encode()


def json_array(rng: random.Random) -> bytes:
    rows: Any = [{"text": t, "label": label_of(t)} for t in texts(rng, 30)]
    return json.dumps(rng.choice([rows, {"version": 1, "data": rows}]), indent=1).encode()


def tagged(rng: random.Random) -> list[list[tuple[str, str]]]:
    named = {"Anna": "B-PER", "Bern": "B-LOC"}
    return [[(word, named.get(word, "O")) for word in t.split()] for t in texts(rng, 30)]


def conll(rng: random.Random) -> bytes:
    blocks = ("\n".join(f"{word} NN {tag}" for word, tag in own) for own in tagged(rng))
    return ("\n\n".join(blocks) + "\n").encode()


def conllu(rng: random.Random) -> bytes:
    blocks = []
    for own in tagged(rng):
        lines = [f"# text = {' '.join(word for word, _ in own)}"]
        for i, (word, tag) in enumerate(own, start=1):
            kind = "NOUN" if tag == "O" else "PROPN"
            lines.append(f"{i}\t{word}\t{word.lower()}\t{kind}\tNN\t_\t0\troot\t_\t_")
        blocks.append("\n".join(lines) + "\n")
    return ("\n".join(blocks) + "\n").encode()


def tagged_jsonl(rng: random.Random) -> bytes:
    rows = [{"tokens": [w for w, _ in own], "tags": [t for _, t in own]} for own in tagged(rng)]
    return "\n".join(map(json.dumps, rows)).encode()


def labelled(rng: random.Random) -> bytes:
    return "\n".join(f"{label_of(t)} {t}" for t in texts(rng, 30)).encode()


def fasttext(rng: random.Random) -> bytes:
    return "\n".join(f"__label__{label_of(t)} {t}" for t in texts(rng, 30)).encode()


def plain(rng: random.Random) -> bytes:
    return (".\n".join(texts(rng, 60)) + ".\n").encode()


def excel(rng: random.Random) -> bytes:
    import openpyxl
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book, content = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["text", "label"])
    for text in (ILLEGAL_CHARACTERS_RE.sub("", text) for text in texts(rng, 20)):
        book.active.append([text, rng.choice([label_of(text), 1, 2.5, None, True])])
    book.save(content)
    return content.getvalue()


def parquet(rng: random.Random) -> bytes:
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(arrow_table(rng), content)
    return content.getvalue()


def arrow(rng: random.Random) -> bytes:
    import pyarrow as pa

    content, table = io.BytesIO(), arrow_table(rng)
    with pa.ipc.new_file(content, table.schema) as writer:
        writer.write_table(table)
    return content.getvalue()


def arrow_table(rng: random.Random) -> Any:
    import pyarrow as pa

    own = texts(rng, 30)
    labels = rng.choice([[label_of(t) for t in own], [len(t) for t in own], [[t] for t in own]])
    return pa.table({"text": own, "label": labels})


def motions(rng: random.Random) -> list[tuple[str, list[tuple[float, float]]]]:
    """Labels, and series of two channels."""
    found = []
    for _ in range(16):
        label, steps = rng.choice(["walk", "run"]), rng.randint(3, 9)
        size = 1.0 if label == "walk" else 3.0
        found.append((label, [(rng.gauss(0, size), rng.gauss(1, size)) for _ in range(steps)]))
    return found


def steps(rng: random.Random) -> bytes:
    """A step a row."""
    rows = ["id,time,x,y,label"]
    for i, (label, series) in enumerate(motions(rng)):
        rows += [
            f"{i},{t},{written(rng, x)},{written(rng, y)},{label}"
            for t, (x, y) in enumerate(series)
        ]
    return "\n".join(rows).encode()


def speeds(rng: random.Random) -> bytes:
    """A step a row, and a number for each series."""
    rows = ["id,time,x,y,speed"]
    for i, (_, series) in enumerate(motions(rng)):
        speed = sum(x for x, _ in series)
        rows += [
            f"{i},{t},{written(rng, x)},{written(rng, y)},{speed:.3f}"
            for t, (x, y) in enumerate(series)
        ]
    return "\n".join(rows).encode()


def dated(rng: random.Random) -> bytes:
    """One series, day by day, with what is known ahead."""
    rows = ["date,sales,holiday"]
    for i in range(70):
        value = 20 + 5 * (i % 7) + rng.gauss(0, 1)
        day = date(2024, 1, 1) + timedelta(i)
        rows.append(f"{day},{written(rng, value)},{int(i % 7 == 6)}")
    return "\n".join(rows).encode()


def loads(rng: random.Random) -> bytes:
    """Two places, hour by hour, with a season."""
    rows = ["id,time,load"]
    for name in ("north", "south"):
        values = [10 + 3 * (i % 6) + rng.gauss(0, 1) for i in range(60)]
        rows += [f"{name},{i},{written(rng, value)}" for i, value in enumerate(values)]
    return "\n".join(rows).encode()


def wide(rng: random.Random) -> bytes:
    """A series a row."""
    rows = [",".join([*(f"x{i}" for i in range(6)), "label"])]
    for label, series in motions(rng):
        values = ([x for x, _ in series] * 2)[:6]
        rows.append(",".join([*(written(rng, x) for x in values), label]))
    return "\n".join(rows).encode()


def nested(rng: random.Random) -> bytes:
    rows = (
        {"series": [[valued(rng, v) for v in step] for step in series], "label": label}
        for label, series in motions(rng)
    )
    return "\n".join(map(json.dumps, rows)).encode()


def ts(rng: random.Random) -> bytes:
    """With time stamps, now and then."""
    stamps = rng.random() < 0.3
    rows = ["@problemName Motions", f"@timeStamps {str(stamps).lower()}", "@dimensions 2"]
    rows += ["@classLabel true walk run", "@data"]
    for label, series in motions(rng):
        channels = []
        for own in zip(*series):
            cells = [written(rng, v) for v in own]
            channels.append(
                ",".join(f"({t},{c})" for t, c in enumerate(cells)) if stamps else ",".join(cells)
            )
        rows.append(":".join([*channels, label]))
    return "\n".join(rows).encode()


def npz(rng: random.Random) -> bytes:
    import numpy as np

    found = motions(rng)
    labels = np.array([label for label, _ in found])
    flat = [[valued(rng, v) for v in step] for _, series in found for step in series]
    lengths = np.array([len(series) for _, series in found])
    arrays: dict[str, Any] = {"x": np.array(flat), "lengths": lengths, "y": labels}
    if rng.random() < 0.3:
        arrays = {"x": np.array(flat[:48]).reshape(16, 3, 2), "label": labels}
    elif rng.random() < 0.3:
        arrays = {"x": np.array(flat), "y": labels, "offsets": np.cumsum([0, *lengths])}
    return archive(arrays, rng)


def archive(arrays: dict[str, Any], rng: random.Random) -> bytes:
    """A .npz file; of odd arrays, where there are odd numbers."""
    import numpy as np

    content = io.BytesIO()
    if odd_numbers:
        odd_array(arrays, rng)
    rng.choice([np.savez, np.savez_compressed])(content, **arrays)
    return content.getvalue()


def clip_arrays(rng: random.Random) -> bytes:
    return archive(video.clip_arrays(rng), rng)


def odd_array(arrays: dict[str, Any], rng: random.Random) -> None:
    """One of them of another kind, shape or name, or gone."""
    import numpy as np

    name = rng.choice(list(arrays))
    own, action = arrays[name], rng.randrange(5)
    if action == 0:
        kinds = ["f8", "f2", "i1", "u8", "U4", "S3", "c16", "?", "M8[s]", "V8"]
        with contextlib.suppress(ValueError, TypeError), np.errstate(all="ignore"):
            arrays[name] = own.astype(rng.choice(kinds))
    elif action == 1:
        shapes = [(), (0,), (0, 2), (len(own), 0), (1, -1), (-1, 1), (-1, 1, 1), (-1,), (2, -1)]
        with contextlib.suppress(ValueError):
            arrays[name] = own.reshape(rng.choice(shapes))
    elif action == 2:
        arrays[name] = rng.choice([own[:-1], own[1:], own[::-1], own[:0], own[0]])
    elif action == 3:
        arrays[rng.choice(["x", "y", "lengths", "offsets", "label", "time", "é", "a b"])] = own
    else:
        del arrays[name]


def npy(rng: random.Random) -> bytes:
    import numpy as np

    content = io.BytesIO()
    values = [[valued(rng, rng.gauss(0, 1)) for _ in range(6)] for _ in range(16)]
    np.save(content, np.array(values))
    return content.getvalue()


def lists(rng: random.Random) -> bytes:
    """Parquet with a series in a cell."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content, found = io.BytesIO(), motions(rng)
    series = [[valued(rng, x) for x, _ in own] for _, own in found]
    pq.write_table(pa.table({"series": series, "label": [label for label, _ in found]}), content)
    return content.getvalue()


def square(rng: random.Random) -> list[list[float]]:
    """The points of a square, drawn with a pen from one corner to the next."""
    size = rng.uniform(1, 3)
    corners = [(0.0, 0.0), (size, 0.0), (size, size), (0.0, size), (0.0, 0.0)]
    return [[valued(rng, x + rng.gauss(0, 0.1)), valued(rng, y)] for x, y in corners]


def write_pictures(folder: Path, rng: random.Random) -> Path:
    """Light and dark images, in all formats that are read."""
    from PIL import Image

    for label, light in (("dark", 60), ("light", 200)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        for i in range(6):
            size = rng.randint(6, 12), rng.randint(6, 12)
            grey = bytes(light + rng.randrange(50) for _ in range(size[0] * size[1]))
            image = Image.frombytes("L", size, grey)
            ending = rng.choice(["png", "jpg", "gif", "webp", "bmp"])
            mode = rng.choice(["L", "RGB", "P"] if ending in ("png", "gif") else ["L", "RGB"])
            image.convert(mode).save(folder / label / f"{i}.{ending}")
    return folder


def write_captions(folder: Path, rng: random.Random) -> Path:
    """The same images, and a table of two captions for each."""
    files = [own for own in sorted(write_pictures(folder, rng).rglob("*")) if own.is_file()]
    rows = [f"{own.relative_to(folder)},{text}" for own in files for text in texts(rng, 2)]
    (folder / "captions.csv").write_text("\n".join(["file,caption", *rows]), encoding="utf-8")
    return folder


def strokes(rng: random.Random) -> bytes:
    """Lists of points, and a text for each drawing."""
    rows = ({"strokes": [square(rng)], "text": rng.choice(["a", "b", "ab"])} for _ in range(20))
    return "\n".join(map(json.dumps, rows)).encode()


def drawings(rng: random.Random) -> bytes:
    """As of Quick, Draw!: lists of x and of y, and a label."""
    rows = []
    for _ in range(20):
        lines = [square(rng) for _ in range(rng.randint(1, 2))]
        both = [[list(own) for own in zip(*line)] for line in lines]
        rows.append({"drawing": both, "label": "one" if len(lines) == 1 else "two"})
    return "\n".join(map(json.dumps, rows)).encode()


def sketches(rng: random.Random) -> bytes:
    """As of sketch-rnn: offsets in arrays of arrays, which NumPy pickles."""
    import numpy as np

    content, parts = io.BytesIO(), {}
    for name, count in (("train", 14), ("valid", 4), ("test", 3)):
        parts[name] = np.empty(count, object)
        for i in range(count):
            steps = rng.randint(3, 9)
            moves = [[valued(rng, rng.gauss(0, 9)), rng.gauss(0, 9), 0] for _ in range(steps)]
            moves[-1][2] = 1
            with np.errstate(over="ignore"):
                parts[name][i] = np.array(moves, rng.choice([np.float32, np.float64]))
    np.savez(content, **parts)
    return content.getvalue()


def unipen(rng: random.Random) -> bytes:
    """Segments of one or two strokes, up to the next one or by their numbers."""
    lines, component = [".COORD X Y T"], 0
    for _ in range(20):
        count = rng.randint(1, 2)
        named = f"{component}-{component + 2 * count - 1}" if rng.random() < 0.3 else "?"
        lines.append(f'.SEGMENT DIGIT {named} ? "{count}"')
        for _ in range(count):
            lines.append(".PEN_DOWN")
            lines += [
                f"{written(rng, x)} {written(rng, y)} {t}" for t, (x, y) in enumerate(square(rng))
            ]
            lines.append(".PEN_UP")
        component += 2 * count
    return "\n".join(lines).encode()


def inkml(rng: random.Random, truth: str = "a") -> bytes:
    """One drawing; the second stroke as differences."""
    points = ", ".join(f"{written(rng, x)} {written(rng, y)} 0" for x, y in square(rng))
    channels = "".join(f'<channel name="{name}"/>' for name in "XYT")
    return (
        '<ink xmlns="http://www.w3.org/2003/InkML">\n'
        f'<annotation type="truth">{truth}</annotation>\n'
        f"<traceFormat>{channels}</traceFormat>\n"
        f"<trace>{points}</trace>\n<trace>5 5 0, '1 '1 '1, 1 0 1, \"1 \"0 \"1</trace>\n</ink>\n"
    ).encode()


def write_inks(folder: Path, rng: random.Random) -> Path:
    """A drawing a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(12):
        (folder / f"{i}.inkml").write_bytes(inkml(rng, rng.choice(["a", "b", "ab"])))
    return folder


def sound(rng: random.Random, text: str) -> bytes:
    """A WAV file: a tone for each letter; mostly of 16 bits and one channel."""
    x = [0.0] * 300
    for letter in text:
        pitch = {"a": 400, "b": 900, "c": 1700}[letter] * rng.uniform(0.95, 1.05)
        x += [0.4 * math.sin(2 * math.pi * pitch * t / RATE) for t in range(600)] + [0.0] * 300
    bits, kind = rng.choice([(16, 1)] * 4 + [(8, 1), (24, 1), (32, 1), (32, 3), (64, 3)])
    channels = rng.choice([1, 1, 1, 2])
    values = [own + 0.01 * (rng.random() - 0.5) for own in x for _ in range(channels)]
    data = sampled(values, bits, kind)
    form = struct.pack(
        "<HHIIHH", kind, channels, RATE, RATE * channels * bits // 8, channels * bits // 8, bits
    )
    chunks = b"fmt " + struct.pack("<I", 16) + form
    if rng.random() < 0.2:
        chunks += b"LIST" + struct.pack("<I", 4) + b"INFO"
    chunks += b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def sampled(values: list[float], bits: int, kind: int) -> bytes:
    """Samples between -1 and 1 as a WAV file has them; `kind` 3 is floats."""
    if kind == 3:
        return struct.pack(f"<{len(values)}{'f' if bits == 32 else 'd'}", *values)
    if bits == 8:
        return bytes(int(128 + 100 * value) for value in values)
    most = 2 ** (bits - 1) - 1
    return b"".join(
        int(most * 0.9 * value).to_bytes(bits // 8, "little", signed=True) for value in values
    )


def write_sounds(folder: Path, rng: random.Random) -> Path:
    """Recordings, and a table of what they say."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["file,text"]
    for i in range(12):
        text = "".join(rng.choices("abc", k=rng.randint(1, 3)))
        (folder / f"{i}.wav").write_bytes(sound(rng, text))
        rows.append(f"{i}.wav,{text}")
    (folder / "texts.csv").write_text("\n".join(rows) + "\n")
    return folder


def write_spoken(folder: Path, rng: random.Random) -> Path:
    """Recordings in a folder for each label."""
    for label in "ab":
        (folder / label).mkdir(parents=True, exist_ok=True)
        for i in range(6):
            (folder / label / f"s{i % 3}_{i}.wav").write_bytes(sound(rng, label))
    return folder


def write_recordings(folder: Path, rng: random.Random) -> Path:
    """LABEL/NAME.csv, each a series."""
    for label in ("walk", "run", "stand"):
        (folder / label).mkdir(parents=True)
        for i in range(6):
            rows = [
                f"{t},{written(rng, rng.gauss(0, 1))},{written(rng, rng.gauss(1, 1))}"
                for t in range(8)
            ]
            (folder / label / f"s{i % 3}_{i}.csv").write_text("\n".join(["time,x,y", *rows]))
    return folder


def pixels(rng: random.Random) -> bytes:
    """Images as arrays."""
    import numpy as np

    size = rng.choice([(5, 4), (5, 4, 3), (5, 4, 1)])
    count = rng.choice([16, 16, 20])
    labels = [rng.choice(["dark", "bright"]) for _ in range(count)]
    images = [
        np.array([190 * (own == "bright") + rng.randrange(60) for _ in range(math.prod(size))])
        for own in labels
    ]
    arrays: dict[str, Any] = {"x": np.array(images, np.uint8).reshape(count, *size)}
    arrays["y"] = np.array(labels)
    return archive(arrays, rng)


def glove(rng: random.Random) -> bytes:
    rows = (" ".join([w, *(f"{rng.gauss(0, 1):.3f}" for _ in range(6))]) for w in WORDS)
    return ("\n".join(rows) + "\n").encode()


def word2vec(rng: random.Random) -> bytes:
    return f"{len(WORDS)} 6\n".encode() + glove(rng)


def word2vec_binary(rng: random.Random) -> bytes:
    rows = (w.encode() + b" " + rng.randbytes(6 * 4) + b"\n" for w in WORDS)
    return f"{len(WORDS)} 6\n".encode() + b"".join(rows)


def toml(rng: random.Random) -> bytes:
    lines = ["epochs = 1", "max_steps = 1", "hidden = 8", "lr = 0.01", 'kind = "word"']
    sections = ["[model]\nlayers = 1\ncell = 'gru'", "[train]\nbatch = 4\nseed = 3"]
    return "\n".join([*rng.sample(lines, k=3), *rng.sample(sections, k=rng.randint(0, 2))]).encode()


def arff(rng: random.Random) -> bytes:
    """Attributes with types; series in a relational one, now and then."""
    relational, rows = rng.random() < 0.3, ["@relation motions"]
    if relational:
        rows += ["@attribute series relational", "@attribute t0 numeric", "@end series"]
    else:
        rows += ["@attribute text string", "@attribute 'a size' numeric"]
    rows += ["@attribute label {walk,run}", "@data"]
    for text, (label, series) in zip(texts(rng, 16), motions(rng)):
        if relational:
            channels = (",".join(written(rng, x) for x in values) for values in zip(*series))
            rows.append("'" + "\\n".join(channels) + f"',{label}")
        else:
            cell = text.replace("\\", "").replace("'", "")
            rows.append(f"'{cell}',{rng.choice([written(rng, series[0][0]), '?'])},{label}")
    return "\n".join(rows).encode()


def tsf(rng: random.Random) -> bytes:
    """Series of Monash, two of them."""
    frequency = rng.choice(["daily", "10_minutes", "monthly", "half_hourly", "quarterly"])
    rows = ["# sales", "@relation sales", "@attribute series_name string"]
    rows += ["@attribute start_timestamp date", f"@frequency {frequency}", "@horizon 3", "@data"]
    for name in ("T1", "T2"):
        values = (written(rng, 10 + 3 * (i % 6) + rng.gauss(0, 1)) for i in range(60))
        rows.append(f"{name}:2012-01-0{rng.randint(1, 9)} 00-00-00:{','.join(values)}")
    return "\n".join(rows).encode()


def html_table(rng: random.Random) -> bytes:
    """Two tables, the second of data."""
    rows = "".join(
        f"<tr><td>{t}<td{rng.choice(['', ' rowspan=1', ' colspan=1'])}>{label_of(t)}</tr>\n"
        for t in texts(rng, 30)
    )
    return (
        "<!DOCTYPE html><html><body><table><tr><td>menu</table>\n"
        f"<table><tr><th>text<th>label</tr>\n{rows}</table></body></html>"
    ).encode()


def markup(rng: random.Random) -> bytes:
    """TEI."""
    body = "\n".join(f"<p n='{i}'>{t} &amp; <hi>so</hi></p>" for i, t in enumerate(texts(rng, 60)))
    head = "<?xml version='1.0'?>\n<TEI><teiHeader><title>x</title></teiHeader><text>"
    return f"{head}{body}<![CDATA[a < b]]></text></TEI>".encode()


def frame(rng: random.Random) -> bytes:
    """JSON as pandas writes it."""
    rows = [{"text": t, "label": label_of(t)} for t in texts(rng, 30)]
    names = ["text", "label"]
    layouts: list[Any] = [
        {name: {str(i): row[name] for i, row in enumerate(rows)} for name in names},
        {f"r{i}": row for i, row in enumerate(rows)},
        {"columns": names, "index": [*range(30)], "data": [[*row.values()] for row in rows]},
        {"schema": {"fields": []}, "data": rows},
        {name: [row[name] for row in rows] for name in names},
    ]
    return json.dumps(rng.choice(layouts)).encode()


def mat(rng: random.Random) -> bytes:
    """Series of MATLAB, in an array or in cells."""
    import numpy as np
    from scipy.io import savemat

    found = motions(rng)
    labels = np.array([1 + (label == "run") for label, _ in found])
    series = [np.array([[valued(rng, v) for v in step] for step in own]) for _, own in found]
    arrays: dict[str, Any] = {"x": np.stack([own[:3] for own in series]), "y": labels[:, None]}
    if rng.random() < 0.5:
        arrays["x"] = np.empty((1, len(series)), object)
        arrays["x"][0, :] = series
    content = io.BytesIO()
    savemat(content, arrays, do_compression=rng.random() < 0.5)
    return content.getvalue()


def chat(rng: random.Random) -> bytes:
    """Messages, of which one goes over two lines."""
    rows = ["01/02/2021, 10:00 - Messages are end-to-end encrypted"]
    rows += [
        f"{i % 28 + 1:02}/02/2021, 10:{i:02} - {rng.choice(['Ann', 'Bob'])}: {t}"
        for i, t in enumerate(texts(rng, 40))
    ]
    return "\n".join([*rows[:5], "and more", *rows[5:]]).encode()


class Format(NamedTuple):
    """A format of data: the ending of its files and what makes one, and settings that it needs."""

    ending: str
    make: Callable[[random.Random], bytes]
    task: str
    settings: Mapping[str, str] = MappingProxyType({})


FORMATS = {
    "csv": Format(".csv", csv, "classify"),
    "tsv": Format(".tsv", tsv, "classify"),
    "ratings": Format(".csv", ratings, "regress"),
    "genres": Format(".csv", genres, "classify"),
    "parts": Format(".csv", parts, "classify"),
    "pairs": Format(".tsv", pairs, "translate"),
    "jsonl": Format(".jsonl", jsonl, "classify"),
    "json": Format(".json", json_array, "classify"),
    "conll": Format(".conll", conll, "tag"),
    "conllu": Format(".conllu", conllu, "tag"),
    "tagged": Format(".jsonl", tagged_jsonl, "tag"),
    "labelled": Format(".txt", labelled, "classify"),
    "fasttext": Format(".txt", fasttext, "classify"),
    "plain": Format(".txt", plain, "generate"),
    "excel": Format(".xlsx", excel, "classify"),
    "parquet": Format(".parquet", parquet, "classify"),
    "arrow": Format(".arrow", arrow, "classify"),
    "steps": Format(".csv", steps, "classify"),
    "speeds": Format(".csv", speeds, "regress"),
    "loads": Format(".csv", loads, "forecast"),
    "dated": Format(".csv", dated, "forecast"),
    "wide": Format(".csv", wide, "classify"),
    "nested": Format(".jsonl", nested, "classify"),
    "ts": Format(".ts", ts, "classify"),
    "npz": Format(".npz", npz, "classify"),
    "npy": Format(".npy", npy, "classify"),
    "pixels": Format(".npz", pixels, "classify"),
    "lists": Format(".parquet", lists, "classify"),
    "strokes": Format(".jsonl", strokes, "handwrite"),
    "drawings": Format(".jsonl", drawings, "classify"),
    "sketches": Format(".npz", sketches, "handwrite"),
    "unipen": Format(".unp", unipen, "classify"),
    "inkml": Format(".inkml", inkml, "transcribe"),
    "entailment": Format(".csv", entailment, "classify"),
    "chorales": Format(".json", chorales, "compose"),
    "clip_arrays": Format(".npz", clip_arrays, "classify", VIDEO),
    "summaries": Format(".jsonl", summaries, "summarize"),
    "questions": Format(".jsonl", questions, "answer"),
    "stories": Format(".txt", stories, "answer"),
    "squad": Format(".json", squad, "answer"),
    "opinions": Format(".seg", opinions, "classify"),
    "arff": Format(".arff", arff, "classify"),
    "tsf": Format(".tsf", tsf, "forecast"),
    "html": Format(".html", html_table, "classify"),
    "markup": Format(".xml", markup, "generate", {"format": "markup"}),
    "frame": Format(".json", frame, "classify"),
    "mat": Format(".mat", mat, "classify"),
    "chat": Format(".txt", chat, "classify"),
}


class Shelf(NamedTuple):
    """Data that are a folder of files: what writes it, and settings that it needs."""

    write: Callable[[Path, random.Random], Path]
    task: str
    settings: Mapping[str, str] = MappingProxyType({})


SHELVES = {
    "sounds": Shelf(write_sounds, "transcribe"),
    "spoken": Shelf(write_spoken, "classify"),
    "inks": Shelf(write_inks, "transcribe"),
    "recordings": Shelf(write_recordings, "classify"),
    "pictures": Shelf(write_pictures, "classify"),
    "songs": Shelf(write_songs, "compose"),
    "captions": Shelf(write_captions, "caption"),
    "clips": Shelf(video.write_clips, "classify", VIDEO),
    "scenes": Shelf(video.write_scenes, "tag", VIDEO),
}
OF_SERIES = (
    "steps", "speeds", "loads", "dated", "wide", "nested", "ts", "npz", "npy", "lists", "strokes",
    "drawings", "sketches", "unipen", "inkml", "pixels", "chorales", "clip_arrays", "tsf", "mat",
    *SHELVES,
)  # fmt: skip
VECTORS = {"glove": glove, "word2vec": word2vec, "binary": word2vec_binary}


def zipped(content: bytes, name: str = "data.csv") -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return archive.getvalue()


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": zipped,
}

# name -> the format of its data, the task and the model, and settings of its own
RUNS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "bilstm": ("csv", "classify", "bilstm", {}),
    "cnn": ("csv", "classify", "cnn", {}),
    "linear": ("csv", "classify", "linear", {}),
    "bpe": ("csv", "classify", "transformer", {"kind": "bpe"}),
    "labels": ("genres", "classify", "gru", {"label_separator": "|"}),
    "rater": ("ratings", "regress", "gru", {"label": "rating"}),
    "tagger": ("conll", "tag", "bilstm", {}),
    "parts-of-speech": ("conllu", "tag", "transformer", {"characters": "cnn"}),
    "bahdanau": ("pairs", "translate", "bahdanau", {"kind": "word"}),
    "transformer": ("pairs", "translate", "transformer", {}),
    "writer": ("plain", "generate", "lstm", {}),
    "pretrained": ("plain", "pretrain", "transformer", {}),
    "motions": ("steps", "classify", "gru", {}),
    "moments": ("steps", "tag", "bilstm", {}),
    "speedometer": ("speeds", "regress", "gru", {"label": "speed", "window": 4}),
    "forecaster": ("loads", "forecast", "gru", HORIZON),
    "viewer": ("pixels", "classify", "gru", {}),
    "transcriber": ("sounds", "transcribe", "gru", {"bands": 8}),
    "listener": ("spoken", "classify", "bigru", {"bands": 8}),
    "pen": ("strokes", "handwrite", "lstm", {"mixture": 2}),
    "sketcher": ("sketches", "handwrite", "gru", {"mixture": 2}),
    "reader": ("strokes", "transcribe", "bilstm", {}),
    "digits": ("unipen", "classify", "cnn", {}),
    "eye": ("pictures", "classify", "gru", {}),
    "quantiles": ("dated", "forecast", "lstm", {**HORIZON, "output": "quantiles"}),
    "elmo": ("plain", "elmo", "elmo", {}),
    "logician": ("entailment", "classify", "bigru", {}),
    "composer": ("chorales", "compose", "gru", {}),
    "pianist": ("songs", "compose", "transformer", {}),
    "finder": ("questions", "answer", "bigru", {}),
    "story": ("stories", "answer", "reduction", {"valid_share": 0.3}),
    "teller": ("stories", "answer", "memory", {"answer": "write", "valid_share": 0.3}),
    "describer": ("captions", "caption", "xu", {"valid_share": 0.3}),
    "watcher": ("clips", "classify", "gru", VIDEO),
    "spotter": ("scenes", "tag", "bigru", VIDEO),
}


def path_of(name: str, folder: Path) -> Path:
    """Where `write_sample` writes."""
    return folder / (name if name in SHELVES else f"{name}{FORMATS[name].ending}")


def made(name: str) -> Format | Shelf:
    return SHELVES[name] if name in SHELVES else FORMATS[name]


def task_of(name: str) -> str:
    return made(name).task


def needed(name: str) -> list[str]:
    """Options of a command that reads data of a format, without which they are something else."""
    return [word for key, value in made(name).settings.items() for word in ("-s", f"{key}={value}")]


def wanted_runs() -> list[str]:
    """Those of the formats that are attacked; all, where there are none of them."""
    return [name for name in RUNS if RUNS[name][0] in wanted] or list(RUNS)


def write_sample(name: str, folder: Path, seed: int = 1) -> Path:
    """A whole file of a format."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(name, folder)
    if name in SHELVES:
        return path if path.exists() else SHELVES[name].write(path, random.Random(f"{seed} {name}"))
    path.write_bytes(FORMATS[name].make(random.Random(f"{seed} {name}")))
    return path


@cache
def planned(name: str, task: str, settings: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """The settings that follow from data of a format, read by a task."""
    from unspool.api.settings import open_data
    from unspool.errors import UserError

    needed = {**made(name).settings, **dict(settings)}
    with tempfile.TemporaryDirectory() as folder:
        try:
            plan = open_data(write_sample(name, Path(folder)), task=task, settings=needed)
        except UserError:  # a task that cannot read it
            return {}
    return {**made(name).settings, **plan.settings}


def read_by(name: str, task: str, model: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """Those of some settings that a run on data of a format reads; all, where they do not fit.

    A value of None only asks for the name."""
    from unspool.api.settings import make_config
    from unspool.errors import ConfigError
    from unspool.tasks.settings import read_settings

    values = {key: value for key, value in settings.items() if value is not None}
    try:
        follow = planned(name, task, tuple(values.items()))
        config = make_config(task, model, settings={**follow, **values})
    except ConfigError:
        return settings
    names = read_settings(config)
    read = {*names, *(name.partition(".")[2] for name in names)}
    return {name: value for name, value in settings.items() if name in read}


def train_run(name: str, folder: Path, **more: Any) -> Path:
    """A run of RUNS, with its data beside it; one that is there already is used again."""
    from unspool.api.train import train

    format, task, model, own = RUNS[name]
    settings = {**SETTINGS, "epochs": 2, "baseline": False, **own, **more}
    settings = read_by(format, task, model, settings)
    data = write_sample(format, folder / "data")
    out = folder / name
    if out.exists():
        return out
    train(data, task=task, model=model, out=out, **settings)
    return out


OF_PAIRS = ("entailment", "questions", "stories")
TEXTS = ["the film was good", "Anna met Bern <mask>", "zzz"]


def question(name: str, run: Path, data: Path) -> list[str]:
    """A command that asks the run of a name, at a path; its data lie in another folder."""
    if name == "vectors":
        return ["vectors", "neighbours", str(run), "good", "--json"]
    format, task, _, _ = RUNS[name]
    if task == "elmo":
        corpus = str(data / "plain.txt")
        return ["vectors", "context", str(run), "a good film", "--word=good", "--corpus", corpus]
    if format in OF_SERIES:
        return ["predict", str(run), "--file", str(path_of(format, data)), "--json"]
    pairs = [f"{text} ||| {TEXTS[0]}" for text in TEXTS]
    return ["predict", str(run), *(pairs if format in OF_PAIRS else TEXTS), "--json"]


def train_vectors(folder: Path) -> Path:
    from unspool.cli import run

    data, out = write_sample("plain", folder / "data"), folder / "vectors"
    if out.exists():
        return out
    words = ["embed", str(data), "-o", str(out), "-s", "size=8", "-s", "epochs=1"]
    assert run([*words, "-s", "min_count=1"]) == 0
    return out
