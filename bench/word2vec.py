"""word2vec against gensim: words a second, agreement with people, and memory.

Both learn from the same words of the same corpus (IMDB's 25,000 training reviews) with the same
settings and threads. gensim reads a list in memory, or a file (corpus_file), its fastest way.
Contestants take turns; each turn is a process of its own, so that its memory is its own too.
Reading the corpus and counting words is not in the time; vectors are scored with WordSim-353 and
MEN.

    python bench/word2vec.py                 skip-gram, three turns each; ten minutes on two cores
    python bench/word2vec.py --mode cbow
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from timing import DATA, installed, parser, set_up, write_json
from unspool.data.store.ragged import TokenColumn
from unspool.embed.corpus import choose_words, encode_words, open_corpus
from unspool.embed.settings import EmbedConfig, make_config
from unspool.embed.word2vec import learn
from unspool.vectors import WordVectors
from unspool.vectors.lists import SimilarityScore, score

CORPUS = DATA / "sentiment/imdb/train.tsv.gz"
LISTS = {"wordsim": "EN-WS-353-ALL.txt", "men": "EN-MEN-TR-3k.txt"}
CONTESTANTS = ("unspool", "gensim", "gensim corpus_file")


def main() -> None:
    options = read_options()
    if options.one:
        print(json.dumps(one_turn(options)))
        return
    if not CORPUS.exists():
        print(f"skipped: {CORPUS} is not there")
        return
    machine = set_up(options)
    names = [n for n in CONTESTANTS if n == "unspool" or installed("gensim")]
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for seed in range(1, options.rounds + 1):
        for name in names:
            command = [sys.executable, __file__, *sys.argv[1:], "--one", name, "--seed", str(seed)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            turns[name].append(json.loads(done.stdout.splitlines()[-1]))
            print(f"{name:<20}{json.dumps(turns[name][-1])}", flush=True)
    rows = [summary(name, own) for name, own in turns.items()]
    print(f"\n{'':<20}  words/s  WordSim-353     MEN  peak MB  before MB")
    for row in rows:
        print(
            f"{row['name']:<20}{row['words_per_second']:9,.0f}  {row['wordsim']:11.4f}"
            f"  {row['men']:6.4f}  {row['peak_mb']:7.0f}  {row['before_mb']:9.0f}"
        )
    for row in rows[1:]:
        times = rows[0]["words_per_second"] / row["words_per_second"]
        print(f"unspool is {times:.2f} times as fast as {row['name']}")
    write_json(options.json, machine, rows)


def read_options() -> argparse.Namespace:
    made = parser(__doc__, rounds=3)
    made.add_argument("--mode", choices=("skipgram", "cbow"), default="skipgram")
    made.add_argument("--epochs", type=int, default=5)
    made.add_argument("--size", type=int, default=100)
    made.add_argument("--one", choices=CONTESTANTS, help="one turn of one contestant, as JSON")
    made.add_argument("--seed", type=int, default=1)
    options = made.parse_args()
    options.threads = options.threads or 2
    if options.quick:
        options.epochs = options.rounds = 1
    return options


def summary(name: str, turns: list[dict[str, Any]]) -> dict[str, Any]:
    middle = {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}
    means = {key: statistics.mean(turn[key] for turn in turns) for key in LISTS}
    return {"name": name, **middle, **means}


def one_turn(options: argparse.Namespace) -> dict[str, Any]:
    names = ("mode", "size", "epochs", "seed")
    settings = {"text": "4", **{name: getattr(options, name) for name in names}}
    config = make_config(settings, {}, None)
    store = encode_words(open_corpus(str(CORPUS), config.data), config.tokenizer)
    if options.quick:
        store = first_pieces(store, len(store) // 50)
    before = peak_mb()
    if options.one == "unspool":
        seconds, found = by_unspool(store, config, options.threads)
    else:
        seconds, found = by_gensim(store, config, options.threads, from_file="file" in options.one)
    after = peak_mb()
    scores = {}
    for key, name in LISTS.items():
        result = score(found, DATA / "wordsim" / name)
        assert isinstance(result, SimilarityScore)
        scores[key] = result.spearman
    return {
        "words_per_second": options.epochs * store.tokens / seconds,
        **scores,
        "peak_mb": after,
        "before_mb": before,
    }


def by_unspool(store: TokenColumn, config: EmbedConfig, threads: int) -> tuple[float, WordVectors]:
    words = choose_words(store, config.tokenizer, "")
    start = time.perf_counter()
    found = learn(store, words, config.word2vec, threads=threads)
    return time.perf_counter() - start, found


def by_gensim(
    store: TokenColumn, config: EmbedConfig, threads: int, *, from_file: bool
) -> tuple[float, WordVectors]:
    from gensim.models import Word2Vec

    options = config.word2vec
    model = Word2Vec(
        vector_size=options.size,
        window=options.window,
        negative=options.negatives,
        sample=options.subsample,
        alpha=options.lr,
        min_alpha=options.last_lr,
        min_count=config.tokenizer.min_count,
        sg=int(options.mode == "skipgram"),
        seed=options.seed,
        workers=threads,
    )
    types = np.array(store.types, dtype=object)
    pieces = zip(store.offsets[:-1], store.offsets[1:])
    texts = (types[store.ids[a:b]].tolist() for a, b in pieces)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        if from_file:
            file.writelines(" ".join(text) + "\n" for text in texts)
            file.flush()
            where: dict[str, Any] = {"corpus_file": file.name}
        else:
            where = {"corpus_iterable": list(texts)}
        model.build_vocab(**where)
        counts = {"total_examples": model.corpus_count, "total_words": model.corpus_total_words}
        start = time.perf_counter()
        model.train(**where, **counts, epochs=options.epochs)
        seconds = time.perf_counter() - start
    return seconds, WordVectors(model.wv.index_to_key, model.wv.vectors)


def first_pieces(store: TokenColumn, count: int) -> TokenColumn:
    end = store.offsets[count]
    counts = np.bincount(store.ids[:end], minlength=len(store.types))
    return TokenColumn(
        store.ids[:end], store.offsets[: count + 1], store.characters[:count], store.types, counts
    )


def peak_mb() -> float:
    """Most memory that this process has had in its hands, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
