"""word2vec: a corpus in, a folder with a vector for each word out.

Skip-gram learns vectors that predict the words around a word, CBOW vectors that predict a word
from those around it (Mikolov et al. 2013a), each against words sampled at random (2013b).
`native/word2vec.py` does the work, on a corpus that stays on disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from unspool.config.resolve import read_toml
from unspool.data.read.files import STDIN
from unspool.data.store.columns import Progress
from unspool.data.store.ragged import TokenColumn
from unspool.embed.corpus import CorpusWords, choose_words, encode_words, open_corpus
from unspool.embed.settings import Word2vecConfig, make_config
from unspool.errors import TrainingError
from unspool.io.files import write_atomic
from unspool.native import word2vec as kernel
from unspool.training.card import settings_lines, table_row
from unspool.training.folder import RunFolder
from unspool.training.output_folder import free_folder
from unspool.training.progress import Note
from unspool.vectors import WordVectors
from unspool.vectors.files import IN_FOLDER, save_in_folder

CHUNK = 1 << 20  # tokens between two looks at the clock
EPOCH = 0x9E3779B97F4A7C15  # between the seeds of two epochs


@dataclass(frozen=True)
class Embedded:
    """Result of a word2vec run."""

    path: Path
    vectors: WordVectors
    tokens: int
    seconds: float
    words_per_second: float  # words of the corpus, whether or not they get a vector

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.path),
            "vectors": str(self.path / IN_FOLDER),
            "words": len(self.vectors),
            "size": self.vectors.size,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 2),
            "words_per_second": round(self.words_per_second),
        }

    def lines(self) -> list[str]:
        return [
            f"{len(self.vectors):,} words, vectors of {self.vectors.size}: {self.path / IN_FOLDER}",
            f"{self.seconds:.1f} s of training, {self.words_per_second:,.0f} words/s",
        ]


def train_word2vec(
    corpus: str,
    *,
    out: Path | None = None,
    settings: Mapping[str, Any],
    config_file: str | None = None,
    note: Note,
    progress: Progress | None = None,
) -> Embedded:
    """Learn a vector for each word of a corpus; everything about them lies in the folder `out`."""
    from_file = read_toml(config_file) if config_file else {}
    config = make_config(settings, from_file, config_file)
    plan = open_corpus(corpus, config.data)
    table = plan.table
    note(plan.summary)
    folder = RunFolder(out if out is not None else free_folder(table.path, "word2vec"))
    with folder.making():
        options = config.word2vec
        column = encode_words(
            plan,
            config.tokenizer,
            phrases=options.phrases,
            phrase_score=options.phrase_score,
            progress=progress,
        )
        words = choose_words(column, config.tokenizer, table.name)
        share = words.counts.sum() / column.tokens
        note(
            f"vocabulary: {len(words.words):,} of {int((column.counts > 0).sum()):,} words,"
            f" {100 * share:.1f} % of {column.tokens:,}"
        )
        if not kernel.is_native():
            note("no native kernel: word2vec runs in numpy, which is about fifty times slower")
        threads = options.threads or torch.get_num_threads()
        started = time.monotonic()
        vectors = learn(column, words, options, threads=threads, note=note, progress=progress)
        seconds = time.monotonic() - started
        path = str(Path(table.path).resolve()) if table.path != STDIN else STDIN
        data = {"train": {"path": path, "sha256": table.sha256}}
        speed = options.epochs * column.tokens / max(seconds, 1e-9)
        done = Embedded(folder.path, vectors, column.tokens, seconds, speed)
        save_in_folder(vectors, folder.path)
        folder.write_config(config, data, threads)
        write_atomic(folder.path / "README.md", vector_card(folder, done.lines()))
    return done


def learn(
    column: TokenColumn,
    words: CorpusWords,
    options: Word2vecConfig,
    *,
    threads: int,
    note: Note = lambda text: None,
    progress: Progress | None = None,
) -> WordVectors:
    """The vectors of a column of words."""
    inputs, outputs = first_vectors(len(words.words), options.size, options.seed)
    table = alias_table(words.counts.astype(np.float64) ** options.noise)
    keep = keep_probabilities(words.counts, options.subsample)
    total = options.epochs * max(1, column.tokens)
    fall = (options.lr - options.last_lr) / total  # of the rate, from token to token
    for epoch in range(options.epochs):
        job = kernel.Job(
            ids=column.ids,
            offsets=column.offsets,
            words=words.of_raw,
            keep=keep,
            share=table.share,
            alias=table.alias,
            inputs=inputs,
            outputs=outputs,
            window=options.window,
            negatives=options.negatives,
            cbow=options.mode == "cbow",
            seed=(options.seed + epoch * EPOCH) % 2**64,
            rate=options.lr - fall * epoch * column.tokens,
            slope=fall,
            floor=options.last_lr,
        )
        started = time.monotonic()
        for first, last in chunks(column):
            kernel.train(job, first, last, threads=threads)
            if progress is not None:
                progress("training", (epoch * column.tokens + int(column.offsets[last])) / total)
        speed = column.tokens / max(time.monotonic() - started, 1e-9)
        note(f"epoch {epoch + 1} of {options.epochs}: {speed:,.0f} words/s")
    if not np.isfinite(inputs).all():
        raise TrainingError("the vectors have grown beyond all bounds", remedy="set a smaller lr")
    return WordVectors(words.words, inputs[:, : options.size].copy())


def first_vectors(count: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(V, E) vectors to read with, evenly from ±1/2E, and zeros to predict with. In memory their
    size is a multiple of what the kernel wants, filled up with zeros."""
    padded = -(-size // kernel.PADDING) * kernel.PADDING
    # torch's memory begins at a multiple of 64 bytes, and so do rows: fewer cache lines hold each.
    inputs, outputs = (torch.zeros(count, padded).numpy() for _ in range(2))
    random = np.random.default_rng(seed)
    inputs[:, :size] = (random.random((count, size), np.float32) - 0.5) / size
    return inputs, outputs


def chunks(column: TokenColumn) -> Iterator[tuple[int, int]]:
    """Stretches of pieces, of about CHUNK tokens each."""
    edges = np.arange(CHUNK, column.tokens + CHUNK, CHUNK)
    cuts = np.unique([0, *np.searchsorted(column.offsets, edges, "right") - 1, len(column)])
    yield from zip(cuts[:-1].tolist(), cuts[1:].tolist())


def vector_card(folder: RunFolder, result: list[str]) -> str:
    """The card as Markdown: use, result, data, all settings."""
    record = folder.read_record()
    file = record["data"]["train"]
    lines = [
        f"# {folder.path.name}",
        "",
        f"Word vectors, made by {record['config']['method']} with unspool "
        f"{record['versions']['unspool']}.",
        "",
        f"    unspool vectors neighbours {folder.path} WORD",
        f"    unspool train DATA --set embedding.from={folder.path}",
        "",
        "## Result",
        "",
        *(f"    {line}" for line in result),
        "",
        "## Data",
        "",
        "| file | SHA-256 |",
        "|---|---|",
        table_row(Path(file["path"]).name, file["sha256"]),
        "",
        *settings_lines(record),
        f"On {record['threads']} threads. "
        "Versions: " + ", ".join(f"{k} {v}" for k, v in record["versions"].items()) + ".",
        "",
    ]
    return "\n".join(lines)


def keep_probabilities(counts: np.ndarray, threshold: float) -> np.ndarray:
    """(V,) float32: how likely an occurrence of each word is read.

        min(1, √(t / f) + t / f)   for a word of the share f of the text,

    which is what Mikolov's program computes; his paper (2013b, section 2.3) has √(t / f).
    """
    if threshold == 0:
        return np.ones(len(counts), np.float32)
    ratio = threshold * counts.sum() / counts
    return np.minimum(1.0, np.sqrt(ratio) + ratio).astype(np.float32)


class AliasTable(NamedTuple):
    """A distribution over V words, sampled with two look-ups (Walker 1977; Vose 1991): choose
    i evenly, then it is i with probability share[i], otherwise alias[i]."""

    share: np.ndarray  # (V,) float32
    alias: np.ndarray  # (V,) int32


def alias_table(weights: np.ndarray) -> AliasTable:
    """The table of a distribution in proportion to `weights` (V,)."""
    scaled = (weights * (len(weights) / weights.sum())).tolist()
    share = np.ones(len(scaled), np.float32)
    alias = np.arange(len(scaled), dtype=np.int32)
    poor = [i for i, weight in enumerate(scaled) if weight < 1]
    rich = [i for i, weight in enumerate(scaled) if weight >= 1]
    while poor and rich:
        small, large = poor.pop(), rich[-1]
        share[small], alias[small] = scaled[small], large
        scaled[large] -= 1 - scaled[small]
        if scaled[large] < 1:
            poor.append(rich.pop())
    return AliasTable(share, alias)
