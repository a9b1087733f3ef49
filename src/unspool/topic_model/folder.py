"""The folder of topics: what new texts get their topics from, and what people look at.

topics.json · model.safetensors · documents.csv, every column of the corpus with the topic of each
row · topics.html · map.png · hashes.json
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

import unspool
from unspool.data.check.fix import Partial
from unspool.data.plan import Plan
from unspool.errors import Command, Option, RunError
from unspool.io.files import AGAIN, read_json, write_atomic, write_json
from unspool.topic_model.corpus import Documents
from unspool.topic_model.map import draw_map
from unspool.topic_model.methods import METHODS, Assigned
from unspool.topic_model.result import Topic, Topics, TriedCount
from unspool.topic_model.settings import TopicsConfig
from unspool.topic_model.times import OverTime
from unspool.topic_model.vectors import model_record, open_vectors
from unspool.training.output_folder import gathered
from unspool.training.tensors import DamagedFile, load_tensors, save_tensors

FORMAT = 1
FILE, WEIGHTS, TABLE, PAGE, MAP = (
    "topics.json", "model.safetensors", "documents.csv", "topics.html", "map.png",
)  # fmt: skip


def is_topics(path: str | Path) -> bool:
    """Return whether a folder holds topics that were found before."""
    return (Path(path) / FILE).is_file()


def save_topics(topics: Topics, documents: Documents, assigned: Assigned, path: Path) -> list[str]:
    """Write the folder; returns the names of the two columns that the table has more."""
    topics.path = path
    with gathered(path) as aside:
        names = write_table(aside / TABLE, documents, assigned, topics)
        tensors = {
            name: torch.from_numpy(np.ascontiguousarray(array))
            for name, array in topics.method.tensors().items()
        }
        save_tensors(aside / WEIGHTS, tensors, {"method": topics.config.topics.method})
        write_atomic(aside / PAGE, topics.to_html())
        if topics.points:
            draw_map(topics, aside / MAP)
        write_json(
            aside / FILE,
            {
                "format": FORMAT,
                "unspool": unspool.__version__,
                "config": topics.config.model_dump(mode="json"),
                "start": topics.start,
                "words": topics.words,
                **topics.to_json(),
            },
        )
    return names


def write_table(path: Path, documents: Documents, assigned: Assigned, topics: Topics) -> list[str]:
    """Every row of the corpus, with the topic and its share; both are empty where there is none."""
    plan = documents.plan
    names = [column.name for column in plan.table.columns]
    added = [free_name(name, names) for name in ("topic", topics.method.measure)]
    number = np.full(documents.total, -1)
    number[documents.rows] = np.arange(len(documents))
    values = assigned.shares if topics.method.measure == "share" else assigned.nearness
    with Partial(path) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*names, *added])
        for row, (_, row_values) in enumerate(plan.whole_rows()):
            i = int(number[row])
            k = int(assigned.topic[i]) if i >= 0 else -1
            cells = [topics.names[k], f"{values[i, k]:.6f}"] if k >= 0 else ["", ""]
            table.writerow([*map(cell, row_values), *cells])
    return added


def free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"found_{name}"
    return name


def cell(value: Any) -> str:
    """A raw value of any format, in a table of text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def train_command(plan: Plan, path: Path, label: str) -> str:
    """Command that trains a classifier of these topics."""
    text = ",".join(column.name for column in plan.columns["text"].members)
    return str(Command("train", str(path / TABLE), text=text, label=label))


def load_topics(path: str | Path, *, start: str | Path | None = None) -> Topics:
    """The topics of a folder. `start`: where the model of the vectors is, if it was moved."""
    folder = Path(path)
    stored = read_json(folder / FILE)
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise RunError(
            f"topics of format {stored.get('format') if isinstance(stored, dict) else None!r};"
            f" this version reads {FORMAT}",
            where=folder / FILE,
            remedy=AGAIN,
        )
    try:
        config = TopicsConfig.model_validate(stored["config"])
        method = METHODS[config.topics.method](config.topics)
        tensors, _ = load_tensors(folder / WEIGHTS)
        method.restore({name: item.numpy() for name, item in tensors.items()})
        topics = Topics(
            config=config,
            method=method,
            words=stored["words"],
            topics=[Topic.from_json(item) for item in stored["topics"]],
            summary=stored["summary"],
            notes=stored["notes"],
            rows=stored["rows"],
            empty=stored["empty"],
            without=stored["without_words"],
            tried=[TriedCount(**item) for item in stored["tried"]],
            times=None if stored["times"] is None else OverTime.from_json(stored["times"]),
            start=stored["start"],
            seconds=stored["seconds"],
            path=folder,
        )
        check_types(topics)
        check_shapes(topics, tensors)
    except FileNotFoundError:
        raise RunError("missing from the folder", where=folder / WEIGHTS, remedy=AGAIN) from None
    except DamagedFile as error:
        raise RunError(f"damaged: {error}", where=folder / WEIGHTS, remedy=AGAIN) from None
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(
            f"damaged: {type(error).__name__} {error}", where=folder / FILE, remedy=AGAIN
        ) from None
    if method.reads_vectors:
        topics.vectors = _vectors(topics, start)
    return topics


def check_types(topics: Topics) -> None:
    """Raise a ValueError where a value of the file is not of its type."""
    for topic in topics.topics:
        for name, kind in get_type_hints(Topic).items():
            check_type(name, kind, getattr(topic, name))
    counts = [topics.rows, topics.empty, topics.without]
    check_type("words", list[str], topics.words)
    check_type("tried", list[TriedCount], topics.tried)
    check_type("notes", list[str], list(topics.notes))
    check_type("rows, empty or without_words", list[int], counts)
    check_type("seconds", float, topics.seconds)
    check_type("summary", str, topics.summary)
    check_type("start", dict[str, Any] | None, topics.start)


def check_type(name: str, kind: Any, value: Any) -> None:
    try:
        TypeAdapter(kind).validate_python(value, strict=True)
    except ValidationError:
        raise ValueError(f"{name} has a value of another type") from None


def check_shapes(topics: Topics, tensors: Mapping[str, Tensor]) -> None:
    """Raise a ValueError where the weights do not fit the words and topics."""
    words, count = len(topics.words), len(topics.topics)
    shapes = {"idf": [words], "components": [count, words]}
    for name, tensor in tensors.items():
        shape = list(tensor.shape)
        fits = shape == shapes.get(name, [count, *shape[1:]])
        fits = fits and tensor.is_floating_point() and bool(tensor.isfinite().all())
        if not fits or (name in shapes and bool((tensor < 0).any())):
            raise ValueError(f"the tensor {name!r} of {tensor.dtype} {shape} does not fit")


def _vectors(topics: Topics, start: str | Path | None) -> Any:
    assert topics.start is not None
    path = Path(start if start is not None else topics.start["path"])
    if not path.is_dir():
        raise RunError(
            "the folder of the model that makes vectors for these topics is gone",
            where=topics.path,
            got=str(path),
            remedy=("name where it is now with ", Option("start")),
        )
    if model_record(path)["sha256"] != topics.start["sha256"]:
        raise RunError(
            "not the model that these topics were made with: its weights differ",
            where=path,
            remedy=("name that one with ", Option("start"), ", or find the topics anew"),
        )
    return open_vectors(path, max_length=topics.config.topics.max_length)
