"""The run folder: the model as files that load anywhere, offline, without running any code.

config.json · model.safetensors · tokenizer.json and what else the fields save · metrics.jsonl ·
README.md · checkpoints/ · hashes.json of what is loaded · .lock while it is written
"""

from __future__ import annotations

import io
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import nn

import unspool
from unspool.config import Config, Section
from unspool.config.resolve import build
from unspool.data.corpus import Corpus
from unspool.data.part import Part
from unspool.errors import Command, ConfigError, Option, RunError, Setting, choose
from unspool.io.files import (
    AGAIN,
    HASHES,
    list_all,
    read_hashed,
    read_hashes,
    read_json,
    write_hashed,
    write_json,
)
from unspool.io.lock import LOCK, owned
from unspool.nn.cells import CELLS
from unspool.nn.init import left_empty
from unspool.tasks import TASKS, Report, Task, build_model
from unspool.training.output_folder import CONFIG, begun
from unspool.training.pack import is_pack, unpacked
from unspool.training.tensors import DamagedFile, TensorFile, load_tensors

OWN = ("part", "metrics", "interval", "lines", "notes")


def stored(report: Report) -> dict[str, Any]:
    """Stored form of a report."""
    return {
        "part": report.part,
        **report.to_json(),
        "metrics": report.metrics,
        "interval": list(report.interval),
        "lines": report.lines(),
        "notes": list(report.notes),
    }


class StoredReport(Report):
    """The report in evaluation.json on a `part`; files of older runs have no lines."""

    def __init__(self, content: Any, path: Path) -> None:
        fields = content if isinstance(content, dict) else {}
        figures = {k: v for k, v in fields.items() if isinstance(v, float)}
        metrics, interval = fields.get("metrics", figures), fields.get("interval", [])
        lines = fields.get("lines", [f"{name}  {value:.4f}" for name, value in figures.items()])
        if not (isinstance(metrics, dict) and isinstance(interval, list) and metrics):
            raise RunError("damaged: no figures in it", where=path, remedy=AGAIN)
        self.part = fields.get("part")
        self.metrics = metrics
        self.interval = tuple(interval) if len(interval) == 2 else (float("nan"),) * 2
        self.scores = np.empty(0)
        self._json = {key: value for key, value in fields.items() if key not in OWN}
        self.notes = tuple(map(str, fields.get("notes", ())))
        self._lines = [str(line) for line in lines]

    def to_json(self) -> dict[str, Any]:
        return self._json

    def lines(self) -> list[str]:
        return self._lines


FORMAT = 1  # of the run folder; a newer one is refused
MOST_ROWS = 2_000_000  # that are kept a digest of


def path_of(value: Any, argument: str) -> Path:
    """The path; a ConfigError where it is none."""
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise ConfigError(
            (Option(argument), " is not a path"),
            got=value,
            remedy="give the name of a file or folder",
        )
    return Path(value)


@dataclass(frozen=True)
class RunFolder:
    """The paths and the small files of one run; `pack`: the file that it was unpacked from."""

    path: Path
    pack: Path | None = None

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """The folder at a path; of a pack the one that it is unpacked into."""
        path = Path(path)
        return cls(unpacked(path), path) if is_pack(path) else cls(path)

    @property
    def name(self) -> str:
        return self.path.name if self.pack is None else self.pack.stem

    @property
    def config_file(self) -> Path:
        return self.path / CONFIG

    @property
    def weights(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def rows(self) -> Path:
        return self.path / "rows.npy"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def making(self) -> AbstractContextManager[None]:
        """Make the folder, and hold it, for what is done inside; where that fails, and has left
        nothing in it, remove it again."""
        return begun(self.path)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold a folder that is there, for a run that goes on in it."""
        with owned(self.path):
            list_all(self.path)  # of a run of old, which has no hashes
            yield

    def take(self, other: RunFolder) -> None:
        """Copy another run into this folder. Its settings come last, so that a folder whose process
        is killed meanwhile still has its own."""
        files = sorted(read_hashes(other.path) or {}, key=lambda name: name == CONFIG)
        names = shutil.ignore_patterns(*files, HASHES, LOCK)
        shutil.copytree(other.path, self.path, dirs_exist_ok=True, ignore=names)
        for name in files:
            write_hashed(self.path / name, read_hashed(other.path / name))

    def write_config(
        self,
        config: Section,
        data: dict[str, Any],
        threads: int,
        more: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """`more`: the origin of weights that were not initialised at random ({"start": ...} of a
        model, {"vectors": ...} of its embedding), what a search goes on by ({"auto": ...})."""
        write_json(
            self.config_file,
            {
                "format": FORMAT,
                "config": config.model_dump(mode="json"),
                "data": data,
                **(more or {}),
                **plugin_of(config),
                "threads": threads,
                "versions": versions(),
            },
        )

    def record_weights(self, unvalidated: int | None) -> None:
        """Note in config.json that the weights are those of a step before the first validation, or
        that they no longer are."""
        record = read_json(self.config_file)
        before = record.pop("weights", None)
        if unvalidated is not None:
            record["weights"] = {"step": unvalidated, "validated": False}
        if before != record.get("weights"):
            write_json(self.config_file, record)

    def record_corpus(self, summary: str, corpus: Corpus) -> None:
        """Keep in config.json how the data were read, the rows of each part, and the notes about
        what was left out."""
        record = read_json(self.config_file)
        rows = {name: len(part) for name, part in corpus.parts.items()}
        record["corpus"] = {"summary": summary, "rows": rows, "notes": corpus.notes}
        write_json(self.config_file, record)

    def hashes_note(self) -> str | None:
        """Note about files that cannot be checked."""
        if (self.path / HASHES).exists():
            return None
        return f"{self.path}: no {HASHES}, so its files are taken as they are"

    def weights_note(self) -> str | None:
        """Note about weights that no validation has chosen."""
        weights = self.read_record().get("weights")
        if not isinstance(weights, dict):
            return None
        command = Command("train", resume=True, out=self.path)
        return (
            f"{self.path}: the weights are those of step {weights.get('step')}, where training was"
            f" stopped before its first validation; go on with `{command}`"
        )

    def write_rows(self, *parts: Part) -> None:
        """Keep 8 bytes of each row that is trained on, to know it again; of very many none."""
        if sum(map(len, parts)) > MOST_ROWS:
            return
        digests = [hashes for part in parts if (hashes := part.digests()) is not None]
        if digests:
            content = io.BytesIO()
            np.save(content, np.unique(np.concatenate(digests)))
            write_hashed(self.rows, content.getvalue())

    def seen(self, part: Part) -> np.ndarray | None:
        """(N,) bool: the rows that the model was trained on; None where that is not known."""
        digests = part.digests() if self.rows.exists() else None
        if digests is None:
            return None
        content = io.BytesIO(read_hashed(self.rows))
        try:
            return np.isin(digests, np.load(content, allow_pickle=False))
        except Exception:  # it raises whatever its parsers do
            raise RunError("damaged: no list of rows", where=self.rows, remedy=AGAIN) from None

    def read_report(self) -> StoredReport | None:
        """The report at the end of the training; None where nothing was held out for one."""
        path = self.path / "evaluation.json"
        return StoredReport(read_json(path), path) if path.exists() else None

    def write_report(self, report: Report, more: Mapping[str, Any]) -> None:
        write_json(self.path / "evaluation.json", {**stored(report), **more})

    def read_record(self) -> dict[str, Any]:
        """config.json as written, after checking that this version can read it."""
        if not self.path.exists():
            raise RunError("no such run folder", where=self.path, remedy="check the path")
        if not self.path.is_dir():
            raise RunError(
                "not a run folder but a file",
                where=self.path,
                remedy="give the folder of a run, or a pack of one (.unspool)",
            )
        if not self.config_file.exists():
            raise RunError(
                "not a run folder: it has no config.json",
                where=self.path,
                remedy=("give the ", Option("out"), " folder of an `unspool train`"),
            )
        record = read_json(self.config_file)
        if not isinstance(record, dict) or not isinstance(record.get("config"), dict):
            raise RunError("damaged: no settings in it", where=self.config_file, remedy=AGAIN)
        if not _is_data(record.get("data")) or not isinstance(record.get("threads"), int):
            raise RunError(
                "damaged: the training data or threads are not in it",
                where=self.config_file,
                remedy=AGAIN,
            )
        if record.get("format") != FORMAT:
            newer = isinstance(record.get("format"), int) and record["format"] > FORMAT
            raise RunError(
                f"run folder of format {record.get('format')!r}; this version reads {FORMAT}",
                where=self.config_file,
                remedy="install a newer unspool" if newer else AGAIN,
            )
        return record

    def read_config(self) -> Config:
        record = self.read_record()
        if "method" in record["config"]:
            raise RunError(
                "holds word vectors and no model",
                where=self.path,
                remedy=("use `unspool vectors`, or ", Setting(**{"embedding.from": self.path})),
            )
        older = {"embedding", "members"}  # which runs did not have at first
        missing = sorted(Config.model_fields.keys() - record["config"].keys() - older)
        if missing:
            raise RunError(
                f"damaged: the settings of {missing[0]!r} are missing",
                where=self.config_file,
                remedy=AGAIN,
            )
        try:
            config = build(Config, record["config"])
        except ConfigError as error:
            raise RunError(f"damaged: {error}", where=self.config_file, remedy=AGAIN) from None
        if "plugin" in record and config.model.cell not in CELLS:
            module = record["plugin"]
            raise ConfigError(
                "unknown cell",
                where=self.config_file,
                got=config.model.cell,
                remedy=("if you trust its author, load its code with ", Option(plugin=module)),
            )
        return config

    def load_task(self) -> Task:
        """The task with its tokenizer and labels, as it was when the run was trained."""
        config = self.read_config()
        choose("task", config.task, TASKS, where=self.config_file)
        return TASKS[config.task].load(config, self.path)

    def load_model(self) -> tuple[Task, nn.Module]:
        """The task, and its model with the trained weights."""
        task = self.load_task()
        try:
            with left_empty():
                model = build_model(task)
        except ConfigError as error:  # such as a cell that this program does not have
            raise ConfigError(error.message, where=self.config_file) from None
        self.load_weights(model)
        return task, model.eval()

    def read_weights(self) -> TensorFile:
        """The trained weights by name, and the metadata of their file."""
        try:
            return load_tensors(self.weights)
        except FileNotFoundError:
            raise RunError(
                "missing: the run has no trained weights yet",
                where=self.weights,
                remedy=("finish it with `", Command("train", resume=True, out=self.path), "`"),
            ) from None
        except DamagedFile as error:
            raise RunError(f"damaged: {error}", where=self.weights, remedy=AGAIN) from None

    def load_weights(self, model: nn.Module) -> dict[str, Any]:
        """Put the trained weights into `model`; returns what was noted with them."""
        tensors, meta = self.read_weights()
        expected = model.state_dict()
        for name, tensor in expected.items():
            if name not in tensors:
                raise RunError(f"has no tensor {name!r}", where=self.weights, remedy=AGAIN)
            if tensors[name].shape != tensor.shape:
                raise RunError(
                    f"tensor {name!r} should have shape {tuple(tensor.shape)}",
                    where=self.weights,
                    got=tuple(tensors[name].shape),
                    remedy="the weights belong to another config.json; " + AGAIN,
                )
            if not tensors[name].isfinite().all():
                raise RunError(
                    f"tensor {name!r} holds values that are not finite",
                    where=self.weights,
                    remedy=AGAIN,
                )
        unknown = sorted(set(tensors) - set(expected))
        if unknown:
            raise RunError(
                "holds a tensor that this model has not",
                where=self.weights,
                got=unknown[0],
                remedy=AGAIN,
            )
        model.load_state_dict(tensors)
        return meta


def plugin_of(config: Section) -> dict[str, str]:
    """{"plugin": the module that the cell of a run comes from}, where that is none of ours."""
    if not isinstance(config, Config) or config.model.network != "recurrent":
        return {}
    module = CELLS[config.model.cell].__module__
    return {} if module.startswith("unspool.") else {"plugin": module}


def _is_data(value: Any) -> bool:
    """{"train": {"path": ..., "sha256": ...}, ...}"""
    return (
        isinstance(value, dict)
        and "train" in value
        and all(isinstance(f, dict) and {"path", "sha256"} <= f.keys() for f in value.values())
    )


def versions() -> dict[str, str]:
    return {
        "unspool": unspool.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
