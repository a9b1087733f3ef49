"""Tagged texts as they are written by `unspool predict`: marked text, tables, columns, JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from unspool.cli.predictions import DELIMITERS, destination
from unspool.cli.show import say
from unspool.errors import choose
from unspool.predict.tagger import TaggedText

ENDINGS = [".txt", ".conll", ".csv", ".tsv", ".jsonl"]


def write_tagged(answers: Iterable[TaggedText], out: Path | None, *, as_json: bool) -> None:
    """Write each text as it comes: .txt a line with its spans marked, .conll a line a word, .csv
    and .tsv a row a span (or a word, where tags mark no spans), .jsonl everything."""
    ending = out.suffix.lower() if out is not None else (".jsonl" if as_json else ".txt")
    choose("ending of the output file", ending, ENDINGS, where=out)
    count = 0
    with destination(out) as file:
        if ending in DELIMITERS:
            table = csv.writer(file, delimiter=DELIMITERS[ending], lineterminator="\n")
            table.writerow(["number", "start", "end", "label", "probability", "text"])
        for count, answer in enumerate(answers, start=1):
            if ending == ".jsonl":
                file.write(json.dumps(answer.to_json(), ensure_ascii=False) + "\n")
            elif ending == ".conll":
                _write_columns(file, answer)
            elif ending in DELIMITERS:
                table.writerows(_rows(count, answer))
            else:
                file.write(f"{answer}\n")
    if out is not None:
        say(f"{count} texts in {out}")


def _write_columns(file: TextIO, answer: TaggedText) -> None:
    for word in answer.words:
        file.write(f"{'_'.join(word.word.split())} {word.tag}\n")
    file.write("\n")


def _rows(number: int, answer: TaggedText) -> list[list[object]]:
    if answer.spans is None:
        found = [(w.start, w.end, w.tag, w.probability, w.word) for w in answer.words]
    else:
        found = [(s.start, s.end, s.label, s.probability, s.text) for s in answer.spans]
    return [[number, start, end, label, f"{p:.6f}", text] for start, end, label, p, text in found]
