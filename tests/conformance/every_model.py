"""Every network of every task with fresh weights, and a few rows of data that it can read.

The cases are made from `TASKS` and the models that each task names, and the data from the kinds of
a task's fields, so that a new task or model is covered without a line here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from tones import RATE, tones, wav
from unspool.api.settings import make_config
from unspool.config import Config
from unspool.data.part import Part
from unspool.data.read.music import as_piece
from unspool.data.read.recording import Recording
from unspool.data.read.strokes import Strokes, from_lines
from unspool.data.streams import StreamBatch
from unspool.errors import ConfigError
from unspool.tasks import TASKS, build_model
from unspool.tasks.planner import open_plan
from unspool.tasks.task import Task
from unspool.training.folder import RunFolder
from unspool.training.tensors import save_tensors
from unspool.training.transfer import Start, open_start, take_over

WINDOW = {"self_attention": "window", "attention_window": 2}
SMALL = {
    "hidden": 8, "filters": 4, "layers": 2, "heads": 2, "embedding": 6, "dropout": 0.0,
    "word_dropout": 0.0, "character_embedding": 4, "character_hidden": 4, "projection": 6,
    "min_count": 1, "max_length": 12, "bptt": 8, "batch": 4, "valid_share": 0.0,
}  # fmt: skip

# What tasks of series in time cannot do without.
NEEDED: dict[str, dict[str, Any]] = {
    "forecast": {"horizon": 3, "window": 5},
    "transcribe": {"input": "audio", "max_length": 0, "bands": 6},
    "caption": {"input": "image", "max_length": 0},
}

# What the names of models do not say: settings that change what runs.
VARIANTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "classify": [
        ("bilstm", {"pooling": "last"}),
        ("gru", {"pooling": "attention", "embedding": 0}),
        ("cnn", {"widths": "5", "layers": 1, "dense": 4}),
        ("cnn", {"pooling": "mean", "embedding": 0}),
        ("transformer", {"pooling": "cls", "positions": "learned"}),
        ("transformer", {"norm": "post", "pooling": "attention"}),
        ("transformer", WINDOW),
        ("transformer", {"self_attention": "linear", "pooling": "max"}),
        ("transformer", {"positions": "none", "activation": "swiglu"}),
        ("bilstm", {"multilabel": True}),
        ("cnn", {"multilabel": True, "dense": 4}),
        ("transformer", {"multilabel": True, "pooling": "cls"}),
    ],
    "answer": [
        ("gru", {"pair": "decomposable", "pooling": "attention", "embedding": 0}),
        ("bilstm", {"pair": "sequence"}),
        ("transformer", {"positions": "learned", "pooling": "mean"}),
        ("gru", {"input": "story", "hops": 2, "memory": 3}),
        ("memory", {"input": "story", "hops": 2, "memory": 3}),
        ("reduction", {"input": "story", "pooling": "attention"}),
        ("reduction", {"input": "story", "answer": "write"}),
        ("transformer", {"input": "story", "hops": 1, "pooling": "mean", "answer": "write"}),
        ("bilstm", {"input": "story", "hops": 0}),
        ("transformer", {"input": "story", "hops": 1, "pooling": "mean"}),
        ("transformer", {"input": "story", "hops": 0, "pooling": "mean"}),
    ],
    "regress": [
        ("gru", {"pooling": "attention", "embedding": 0}),
        ("cnn", {"layers": 1, "dense": 4}),
        ("transformer", {"pooling": "cls", "positions": "learned"}),
    ],
    "tag": [
        ("lstm", {"characters": "cnn", "output": "softmax"}),
        ("cnn", {"characters": "none"}),
    ],
    "generate": [
        ("lstm", {"tied": True}),
        ("gru", {"embedding": 0}),
        ("transformer", {"positions": "sinusoidal", "tied": False}),
        ("transformer", {"positions": "rotary", "activation": "relu"}),
        ("transformer", WINDOW),
        ("transformer", {"self_attention": "linear"}),
    ],
    "translate": [
        ("seq2seq", {"reverse_source": True, "joint": False}),
        ("luong", {"attention": "dot", "bidirectional": False}),
        ("bahdanau", {"attention": "concat", "cell": "mingru"}),
        ("transformer", {"positions": "learned", "tied": False}),
        ("luong", {"copy": True, "kind": "word", "joint": False}),
    ],
    "summarize": [("bahdanau", {"coverage": True})],
    "handwrite": [
        ("lstm", {"conditional": True}),
        ("gru", {"conditional": True, "layers": 1, "embedding": 0, "mixture": 2}),
        ("mingru", {"conditional": True, "layers": 3, "text_window": 2}),
        ("gru", {"layers": 1, "embedding": 0, "stroke_size": "height", "stroke_slant": "remove"}),
    ],
    "compose": [
        *((model, {"music": "events"}) for model in ("lstm", "gru", "mingru", "transformer")),
        ("lstm", {"music": "events", "tied": True, "transpose": 3}),
        ("gru", {"embedding": 0, "transpose": 3}),
        ("transformer", {"positions": "rotary"}),
    ],
    "pretrain": [("transformer", {"positions": "learned"})],
    "transcribe": [
        ("bilstm", {"patch": 1, "band_warp": 0.1}),
        ("cnn", {"patch": 2, "features": "mfcc", "coefficients": 5}),
        ("bigru", {"reduction": "convolution", "patch": 4}),
        ("transformer", {"reduction": "convolution", "patch": 3, "objective": "hybrid"}),
        ("bilstm", {"objective": "attention", "patch": 2}),
        ("gru", {"objective": "hybrid", "attention": "dot", "input_feeding": True}),
        ("cnn", {"objective": "attention", "attention": "general"}),
    ],
    "forecast": [
        ("gru", {"strategy": "recursive"}),
        ("lstm", {"strategy": "recursive", "output": "gaussian"}),
        ("bilstm", {"patch": 2, "output": "quantiles"}),
        ("transformer", {"output": "student", "center": "last"}),
        ("cnn", {"skip": False, "center": "none"}),
    ],
}  # fmt: skip

# What reads series: every model of these tasks, and settings that change what is read.
SERIES = ("classify", "regress", "tag")
NGRAMS = ("nb_linear",)  # models of texts alone
SERIES_VARIANTS: list[tuple[str, str, dict[str, Any]]] = [
    ("classify", "bigru", {"window": 4, "stride": 3}),
    ("classify", "cnn", {"scaling": "series", "embedding": 0}),
    ("classify", "transformer", {"window": 4, "scaling": "window", "pooling": "cls"}),
    ("classify", "lstm", {"irregular": "channel"}),
    ("classify", "gru", {"irregular": "resample", "scaling": "none"}),
    ("regress", "bilstm", {"window": 4}),
    ("regress", "gru", {"embedding": 0}),
    ("tag", "bilstm", {"window": 4, "stride": 2}),
    ("tag", "transformer", {"window": 4, "output": "crf"}),
    ("tag", "bigru", {"output": "crf", "irregular": "channel"}),
]

# What reads strokes, also of drawings that are prepared.
STROKES = (
    *(("classify", model) for model in ("bilstm", "gru", "cnn", "transformer", "linear")),
    ("regress", "bigru"),
)
PREPARED = {
    "stroke_smoothing": 1,
    "stroke_tolerance": 0.01,
    "stroke_slant": "remove",
    "stroke_size": "box",
}
# What reads sound beside `transcribe`.
AUDIO = {"input": "audio", "max_length": 0, "bands": 6}
AUDIO_CASES: list[tuple[str, str, dict[str, Any]]] = [
    *(("classify", model, {}) for model in ("bilstm", "gru", "cnn", "transformer", "linear")),
    ("classify", "bigru", {"features": "mfcc", "coefficients": 4, "scaling": "series"}),
    ("classify", "lstm", {"window": 12, "hop": 5}),
    ("regress", "bigru", {}),
]

# What reads images: every network, every reading.
IMAGE = {"input": "image", "max_length": 0}
IMAGE_CASES: list[tuple[str, str, dict[str, Any]]] = [
    *(("classify", model, {}) for model in ("bilstm", "gru", "cnn", "transformer", "linear")),
    ("classify", "majority", {}),
    ("classify", "lstm", {"reading": "patches", "patch_size": 3, "scaling": "series"}),
    ("classify", "bigru", {"reading": "columns", "height": 5}),
    ("classify", "transformer", {"reading": "cnn", "pooling": "cls", "colours": "rgb"}),
    ("classify", "transformer", {"reading": "columns", "positions": "rotary"}),
    ("classify", "cnn", {"reading": "cnn_columns", "height": 16}),
    ("classify", "cnn", {"reading": "patches", "height": 4, "width": 6, "resize": "crop"}),
    ("regress", "bigru", {"reading": "cnn", "height": 17, "width": 16}),
    ("regress", "transformer", {"reading": "rows", "pooling": "mean"}),
    ("transcribe", "bilstm", {"height": 16}),
    ("transcribe", "gru", {"reading": "columns", "patch": 2}),
    ("transcribe", "cnn", {}),
    ("transcribe", "transformer", {"reading": "columns"}),
    ("caption", "xu", {"context_gate": True, "cell": "gru", "reading": "patches"}),
    ("caption", "xu", {"attention": "general", "encoder": "network", "bidirectional": True}),
    ("caption", "vinyals", {"reading": "columns", "encoder": "network", "layers": 1}),
    ("caption", "transformer", {"reading": "cnn"}),
]

# What reads videos.
VIDEO = {"input": "video", "max_length": 0}
VIDEO_CASES: list[tuple[str, str, dict[str, Any]]] = [
    *(("classify", model, {}) for model in ("bilstm", "gru", "cnn", "transformer", "linear")),
    ("classify", "majority", {}),
    ("classify", "lstm", {"reading": "patches", "patch_size": 4, "scaling": "series"}),
    ("classify", "gru", {"window": 3, "colours": "rgb", "embedding": 0}),
    ("regress", "bigru", {"height": 9, "width": 6}),
    ("tag", "bilstm", {"reading": "patches"}),
    ("tag", "gru", {"output": "softmax"}),
    ("tag", "transformer", {"output": "crf"}),
    ("caption", "xu", {}),
    ("caption", "transformer", {"reading": "patches"}),
]

# What reads two texts, as one sequence or each by itself.
PAIR_CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("classify", "bilstm", {"pooling": "last"}),
    ("classify", "gru", {"pair": "decomposable", "pooling": "attention", "embedding": 0}),
    ("classify", "gru", {"pair": "sequence"}),
    ("classify", "cnn", {"multilabel": True}),
    ("classify", "transformer", {"pooling": "cls", "positions": "learned"}),
    ("classify", "transformer", {"pair": "bidaf"}),
    ("classify", "linear", {}),
    ("regress", "bigru", {"embedding": 0}),
    ("regress", "transformer", {"pair": "decomposable"}),
]
# What reads music beside `compose`.
MUSIC = {"input": "music", "max_length": 0}
MUSIC_CASES = [("classify", model) for model in ("bilstm", "cnn", "transformer", "linear")]

# What reads with the contextual vectors of an `elmo` run (`--from`), frozen or not.
FROM_ELMO: list[tuple[str, str, dict[str, Any]]] = [
    ("classify", "bilstm", {}),
    ("classify", "transformer", {"tuned": True}),
    ("regress", "cnn", {}),
    ("regress", "bigru", {"tuned": True}),
    ("tag", "bilstm", {"tuned": True}),
    ("tag", "transformer", {"characters": "none"}),
]  # fmt: skip

# Sentences of different lengths, one of them a single word.
SENTENCES = [
    "anna met carl in ulm today", "carl", "dora saw anna", "eva left ulm and met dora in bern",
    "bern saw eva", "anna and eva and carl and dora met", "today carl left", "dora met eva in ulm",
    "eva", "carl saw bern again and again today",
]  # fmt: skip
NAMES = ("anna", "carl", "dora", "eva")


class Case(NamedTuple):
    task: str
    model: str
    settings: tuple[tuple[str, Any], ...] = ()
    from_elmo: bool = False

    def __str__(self) -> str:
        more = [f"{name}={value}" for name, value in self.settings]
        return "-".join([self.task, self.model, *more, *(["from-elmo"] if self.from_elmo else [])])

    def config(self, start: Start | None = None) -> Config:
        settings = {**SMALL, **NEEDED.get(self.task, {}), **dict(self.settings)}
        return make_config(self.task, self.model, settings=settings, start=start)


def all_cases() -> Iterator[Case]:
    for name, kind in TASKS.items():
        for model in kind.models():
            case = Case(name, model)
            try:
                case.config()
            except ConfigError:  # a language model does not read in both directions
                continue
            yield case
        for model, settings in VARIANTS.get(name, []):
            yield Case(name, model, tuple(settings.items()))
    for name in SERIES:
        for model in TASKS[name].models():
            if model not in NGRAMS:
                yield Case(name, model, of_series(name, {}))
    for name, model, settings in SERIES_VARIANTS:
        yield Case(name, model, of_series(name, settings))
    for name, model in STROKES:
        yield Case(name, model, (("input", "strokes"),))
    yield Case("classify", "bigru", tuple({"input": "strokes", **PREPARED}.items()))
    for name, model, settings in AUDIO_CASES:
        yield Case(name, model, tuple({**AUDIO, **settings}.items()))
    for name, model, settings in IMAGE_CASES:
        yield Case(name, model, tuple({**IMAGE, **settings}.items()))
    for name, model, settings in VIDEO_CASES:
        yield Case(name, model, tuple({**VIDEO, **settings}.items()))
    for name, model, settings in PAIR_CASES:
        yield Case(name, model, tuple({"input": "pair", **settings}.items()))
    for name, model in MUSIC_CASES:
        yield Case(name, model, tuple(MUSIC.items()))
    for name, model, settings in FROM_ELMO:
        yield Case(name, model, tuple(settings.items()), from_elmo=True)


def of_series(task: str, settings: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Every step of a tagged series has a label, so none can be cut off."""
    whole = {"max_length": 0} if task == "tag" else {}
    return tuple({"input": "series", **whole, **settings}.items())


CASES = list(all_cases())
USUAL = [Case(name, kind.default_model) for name, kind in TASKS.items()]
USUAL.append(Case("classify", "bilstm", (("multilabel", True),)))
USUAL_SERIES = [Case(name, "bilstm", of_series(name, {})) for name in SERIES]
USUAL_STROKES = [
    Case("classify", "bilstm", (("input", "strokes"),)),
    Case("handwrite", "lstm", (("conditional", True),)),
]


@cache
def recordings() -> list[Recording]:
    """Of different lengths, one of them a single step; irregular, and one channel with gaps."""
    rng = np.random.default_rng(5)
    found = []
    for i, length in enumerate((6, 1, 3, 9, 4, 12, 2, 7, 5, 8)):
        values = rng.normal(i % 3, 1, (length, 3)).round(3).astype(np.float32)
        values[rng.random(length) < 0.3, 1] = np.nan
        times = np.cumsum(rng.integers(1, 4, length)).astype(np.float64)
        found.append(Recording(values, ("x", "y", "z"), times, name=f"r{i}"))
    return found


@cache
def drawings() -> list[Strokes]:
    """Of one to three strokes, one of them a single point, each with a text."""
    rng = np.random.default_rng(6)
    found = []
    for i, sizes in enumerate(
        ((4, 2), (1,), (3,), (5, 1, 3), (2, 2), (7,), (2,), (3, 4), (6,), (4,))
    ):
        lines = [rng.normal(i % 3, 2, (n, 2)).round(2).cumsum(0) for n in sizes]
        found.append(replace(from_lines(lines), text=SENTENCES[i][:5].strip()))
    return found


def write_strokes(path: Path, target: str) -> None:
    """A drawing a line."""
    answers = {"label": "xyz", "number": (1.5, 2.25, 9.125)}
    with path.open("w") as file:
        for i, own in enumerate(drawings()):
            row: dict[str, Any] = {"strokes": [line.round(4).tolist() for line in own.lines()]}
            if target:
                row[target] = own.text if target == "text" else answers[target][i % 3]
            file.write(json.dumps(row) + "\n")


def write_series(path: Path, target: str) -> None:
    """A row a step."""
    rows = [f"id,time,x,y,z,{target}"]
    for i, own in enumerate(recordings()):
        for t, (time, step) in enumerate(zip(own.times, own.values.tolist())):
            answer = {
                "label": "xyz"[i % 3],
                "number": round(i**1.5, 3),
                "tags": "abc"[(t + i) % 3],
            }[target]
            cells = ("" if value != value else f"{value:.3f}" for value in step)
            rows.append(f"{own.name},{time:g},{','.join(cells)},{answer}")
    path.write_text("\n".join(rows) + "\n")


def sounds() -> list[tuple[np.ndarray, int]]:
    """Of different lengths, one of them shorter than a frame."""
    said = ("abc", "a", "cb", "aabb", "c", "bca", "ab", "ccc", "ba", "abcabc")
    found = [(tones(text, i), RATE) for i, text in enumerate(said)]
    return [*found[:-1], (found[-1][0][:150], RATE)]


def write_audio(folder: Path, target: str) -> str:
    """Recordings, and a table of what belongs to them."""
    rows = [f"file,{target}"]
    for i, (sound, rate) in enumerate(sounds()):
        (folder / f"{i}.wav").write_bytes(wav(sound, rate))
        text = "a" if len(sound) < 200 else "abc"[: 1 + i % 3]
        answer = {"text": text, "label": "xyz"[i % 3], "number": round(i**1.5, 3)}[target]
        rows.append(f"{i}.wav,{answer}")
    (folder / "some.csv").write_text("\n".join(rows) + "\n")
    return str(folder / "some.csv")


def images() -> list[np.ndarray]:
    """Of different sizes."""
    rng = np.random.default_rng(8)
    sizes = ((8, 9), (8, 9), (7, 12), (8, 20), (8, 9), (9, 31), (8, 9), (8, 15), (6, 9), (8, 40))
    return [rng.integers(0, 256, size).astype(np.uint8) for size in sizes]


def write_images(folder: Path, target: str) -> str:
    """Images, and a table of what belongs to them."""
    rows = [f"file,{'caption' if target == 'texts' else target}"]
    for i, image in enumerate(images()):
        Image.fromarray(image).save(folder / f"{i}.png")
        if target == "texts":  # two captions, in two rows
            rows += [f"{i}.png,{SENTENCES[i]}", f"{i}.png,{SENTENCES[i - 1]}"]
            continue
        answer = {"text": "abc"[: 1 + i % 3], "label": "xyz"[i % 3], "number": round(i**1.5, 3)}
        rows.append(f"{i}.png,{answer[target]}")
    (folder / "some.csv").write_text("\n".join(rows) + "\n")
    return str(folder / "some.csv")


def clips() -> list[np.ndarray]:
    """Of different lengths and sizes, one of them a single frame."""
    rng = np.random.default_rng(9)
    sizes = ((4, 8, 9), (1, 8, 9), (3, 8, 9), (6, 7, 12), (2, 8, 9), (5, 8, 9), (4, 9, 8))
    return [rng.integers(0, 256, size).astype(np.uint8) for size in sizes]


def write_clips(folder: Path, target: str) -> str:
    """Folders of frames, and a table of what belongs to them."""
    rows = []
    for i, clip in enumerate(clips()):
        (folder / f"clip{i}").mkdir(exist_ok=True)
        for t, frame in enumerate(clip):
            Image.fromarray(frame).save(folder / f"clip{i}" / f"{t}.png")
        answer = {
            "label": "xyz"[i % 3],
            "number": round(i**1.5, 3),
            "tags": [f"{'ab'[(t + i) % 2]}" for t in range(len(clip))],
            "texts": SENTENCES[i],
        }[target]
        rows.append(json.dumps({"file": f"clip{i}", target: answer}).replace("texts", "caption"))
    (folder / "some.jsonl").write_text("\n".join(rows) + "\n")
    return str(folder / "some.jsonl")


def music() -> list[list[list[int]]]:
    """Chords at steps, of different lengths, one of them a single step."""
    rng = np.random.default_rng(9)
    sizes = (9, 1, 4, 12, 6, 3, 17, 8, 5, 2)
    return [[(50 + rng.choice(20, rng.integers(1, 4), False)).tolist() for _ in range(size)]
            for size in sizes]  # fmt: skip


def write_music(folder: Path, target: str) -> str:
    """Lists of pitches; with something to learn, MIDI files and a table of what belongs to them."""
    if not target:
        (folder / "some.json").write_text(json.dumps({"train": music()}))
        return str(folder / "some.json")
    rows = [f"file,{target}"]
    for i, chords in enumerate(music()):
        (folder / f"{i}.mid").write_bytes(as_piece(chords, "a piece").midi())
        rows.append(f"{i}.mid,{'xyz'[i % 3]}")
    (folder / "some.csv").write_text("\n".join(rows) + "\n")
    return str(folder / "some.csv")


def write_data(config: Config, folder: Path) -> str:
    """A file for a task, by the kinds of its fields."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds = tuple(field.kind for field in TASKS[config.task].make_fields(config).values())
    words = [sentence.split() for sentence in SENTENCES]
    if kinds[0] == "strokes":
        path = folder / "some.jsonl"
        write_strokes(path, kinds[1] if len(kinds) > 1 else "")
        return str(path)
    if kinds[0] == "audio":
        return write_audio(folder, kinds[1])
    if kinds[0] == "image":
        return write_images(folder, kinds[1])
    if kinds[0] == "video":
        return write_clips(folder, kinds[1])
    if kinds[0] == "music":
        return write_music(folder, kinds[1] if len(kinds) > 1 else "")
    if kinds[0] == "series":
        path = folder / "steps.csv"
        write_series(path, kinds[1])
        return str(path)
    if kinds == ("text", "text"):
        paths = folder / "some.en", folder / "some.de"
        paths[0].write_text("".join(f"{text}\n" for text in SENTENCES))
        paths[1].write_text("".join(f"{' '.join(reversed(own)).upper()}\n" for own in words))
        return ",".join(map(str, paths))
    if kinds == ("words", "tags"):
        path = folder / "some.conll"
        rows = ([f"{w} {'B-PER' if w in NAMES else 'O'}" for w in own] for own in words)
        path.write_text("\n\n".join("\n".join(own) for own in rows) + "\n")
        return str(path)
    if kinds == ("text",):
        path = folder / "some.txt"
        path.write_text("".join(f"{text}\n" for text in SENTENCES))
        return str(path)
    if kinds == ("history",):
        path = folder / "some.csv"
        rows = (
            f"{k},{t},{len(word)},{word.count('a')}\n"
            for k, own in enumerate(words)
            for t, word in enumerate([*own, *own[::-1], *own])
        )
        path.write_text("id,time,size,others\n" + "".join(rows))
        return str(path)
    if kinds[0] == "question":
        path = folder / "some.jsonl"
        rows = (
            {"question": f"who {text}", "context": f"{text} {SENTENCES[i - 1]}",
             "answer": own[-1] if i % 3 else ""}
            for i, (text, own) in enumerate(zip(SENTENCES, words))
        )  # fmt: skip
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)
    if kinds[0].startswith("story"):
        path = folder / "some.txt"
        stories = (
            f"1 {text} .\n2 {SENTENCES[i - 1]} .\n3 who {text} ?\t{own[0]}\t1\n"
            f"4 {SENTENCES[i - 2]} .\n5 where {text} ?\t{own[-1]}\t4\n"
            for i, (text, own) in enumerate(zip(SENTENCES, words))
        )
        path.write_text("".join(stories))
        return str(path)
    path = folder / "some.csv"
    known = ("text", "bags", "pair", "pair_bags")
    assert kinds[0] in known, f"no data for fields {kinds}: add some here"
    values = {
        "label": lambda own: "xyz"[len(own) % 3],
        "labels": lambda own: "|".join(name for name in NAMES if name in own),
        "number": len,
    }
    texts = [" ".join(own) for own in words]
    names = ["text", *kinds[1:]]
    if kinds[0].startswith("pair"):
        texts = [f"{text},{other}" for text, other in zip(texts, texts[3:] + texts[:3])]
        names.insert(1, "text_pair")
    rows = (
        ",".join([text, *(str(values[kind](own)) for kind in kinds[1:])])
        for text, own in zip(texts, words)
    )
    path.write_text("\n".join([",".join(names), *rows]) + "\n")
    return str(path)


class Made(NamedTuple):
    """A case with its data: the model has fresh weights and is set to evaluation."""

    task: Task
    model: nn.Module
    part: Part  # all rows

    def with_batch(self, size: int) -> Task:
        """The same task with batches of another size."""
        config = self.task.config
        train = config.train.model_copy(update={"batch": size})
        return type(self.task)(config.model_copy(update={"train": train}), self.task.fields)

    def items(self) -> list[Any]:
        """Inputs to predict, of different lengths."""
        values: dict[str, Callable[[], Sequence[Any]]] = {
            "audio": sounds, "image": images, "video": clips,
            "music": music, "series": recordings, "strokes": drawings,
        }  # fmt: skip
        kind = self.task.input_field.kind
        if kind in values:
            return list(values[kind]())
        return [self.task.example(sentence.split()) for sentence in SENTENCES]


@cache
def make(case: Case, folder: Path) -> Made:
    """Tests share it, and do not change its weights."""
    start = elmo_start(folder) if case.from_elmo else None
    config = case.config(start)
    kind = TASKS[case.task]
    path = write_data(config, folder / str(case))
    corpus = kind.load_corpus(config, {"train": open_plan(path, config.data, case.task)})
    task = kind(config, corpus.fields)
    torch.manual_seed(1)
    model = build_model(task).eval()
    if start is not None:
        take_over(task, model, start)
    return Made(task, model, corpus.parts["train"])


@cache
def elmo_start(folder: Path) -> Start:
    """A fresh `elmo` model, saved as a run to start from."""
    made = make(Case("elmo", "elmo"), folder)
    save_run(made, folder / "elmo-run")
    return open_start(folder / "elmo-run")


def save_run(made: Made, path: Path) -> None:
    """A run folder of a model."""
    home = RunFolder(path)
    path.mkdir(exist_ok=True)
    made.task.save(path)
    home.write_config(made.task.config, {"train": {"path": "x", "sha256": "x"}}, 1)
    save_tensors(home.weights, made.model.state_dict(), {})


def batches(task: Task, part: Part) -> list[Any]:
    """All batches of an epoch."""
    made = task.batches(part, training=True)
    return [made.batch(0, step) for step in range(made.steps(0))]


def total(task: Task, model: nn.Module, given: Sequence[Any]) -> Tensor:
    """The sum of the losses of all targets of some batches, without what is carried over."""
    found = []
    for batch in given:
        step = task.loss(model, batch, None)
        found.append(step.loss * step.targets)
    return torch.stack(found).sum()


def in_rows(batch: StreamBatch) -> list[StreamBatch]:
    """The stretches of a batch of a stream, each alone."""
    rows = range(len(batch.ids))
    return [
        batch._replace(ids=batch.ids[i : i + 1], targets=batch.targets[i : i + 1]) for i in rows
    ]


def assert_same(found: Any, wanted: Any, tolerance: float = 1e-4) -> None:
    """Nested lists, dicts and arrays are the same but for rounding."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key in wanted:
            assert_same(found[key], wanted[key], tolerance)
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            assert_same(one, other, tolerance)
    elif isinstance(wanted, float):
        assert math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)
    else:
        assert found == wanted
