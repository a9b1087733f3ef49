"""A small ELMo of the development data: how well it predicts, and what is near to "stick".

    python bench/elmo.py FOLDER            write FOLDER/corpus.txt, train FOLDER/elmo, or go on
    python bench/elmo.py FOLDER --near     print neighbours of "stick" in two sentences

The corpus is the text of 25,000 film reviews and of the training parts of three tagged corpora,
some six million words; their labels are not looked at. 1,200 updates, half an epoch, take about
half an hour of one core. Then `ELMO=FOLDER/elmo python bench/tags.py conll2003-elmo` tags with it.
The figures go to bench/results/elmo.json. Without ../shared/data (or $UNSPOOL_DATA) it says so and
ends.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import unspool
from rows import DATA, STORE, size, train
from unspool.insight.occurrences import nearest_occurrences

TAGGED = {  # file: column of the words
    "ner/conll2003/eng.train": 0,
    "chunk/conll2000/train.txt": 0,
    "pos/UD_English-EWT/en_ewt-ud-train.conllu": 1,
}
SENTENCES = ["give me the stick", "let's stick to it"]


def sentences(path: Path, column: int) -> Iterator[str]:
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if fields and not line.startswith(("#", "-DOCSTART-")):
            words.append(fields[column])
        elif words and not fields:
            yield " ".join(words)
            words = []
    if words:
        yield " ".join(words)


def write_corpus(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        for name, column in TAGGED.items():
            out.writelines(f"{sentence}\n" for sentence in sentences(DATA / name, column))
        with gzip.open(DATA / "sentiment/imdb/train.tsv.gz", "rt", encoding="utf-8") as reviews:
            for line in reviews:
                text = line.rstrip("\n").split("\t")[3].replace("<br />", " ")
                out.write(" ".join(text.split()) + "\n")


def measure(folder: Path) -> None:
    if (folder / "elmo").exists():
        run = train(None, str(folder), "elmo", resume=True)
    else:
        corpus = folder / "corpus.txt"
        write_corpus(corpus)
        run = train(corpus, str(folder), "elmo", task="elmo", epochs=1, max_steps=1200, threads=1)
    figures = run.report.metrics
    found = {
        "model": "elmo",
        "figure": f"perplexity {figures['forward_perplexity']:.1f} forwards,"
        f" {figures['backward_perplexity']:.1f} backwards",
        "parameters": size(run),
        "seconds": max(row.get("seconds", 0.0) for row in run.metrics()),
        "report": run.report.to_json(),
    }
    STORE.mkdir(exist_ok=True)
    (STORE / "elmo.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def show_near(folder: Path) -> None:
    run = unspool.load(folder / "elmo")
    for found in nearest_occurrences(
        run.task, run.model, SENTENCES, "stick", folder / "corpus.txt", top=15
    ):
        print("\n".join(found.lines()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--near", action="store_true")
    options = parser.parse_args()
    if options.near:
        show_near(options.folder)
    elif not DATA.exists():
        print(f"skipped: no development data at {DATA}", file=sys.stderr)
    else:
        measure(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
