"""Texts in, predictions out, for `unspool predict`: words of the command line, a file, or stdin."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from unspool.data.readers import open_source
from unspool.errors import ConfigError, DataError, choose
from unspool.predict.classifier import Prediction
from unspool.run import Run

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def inputs(run: Run, texts: list[str], file: str | None, columns: dict[str, Any]) -> Iterable[str]:
    """The texts to label, in order."""
    if file is not None and texts:
        raise ConfigError("give texts or --file, not both", got=texts[0])
    if texts == ["-"]:
        return (line.rstrip("\r\n") for line in sys.stdin)
    if file is None:
        if not texts:
            raise ConfigError(
                "no text to label", remedy="give some, or --file F, or - for standard input"
            )
        return texts
    config = run.config.data.model_copy(update={"format": "auto", **columns})
    source = open_source(file, config, task="classify", labelled=False)
    return (example.text for example in source)


def write(
    predictions: Iterator[Prediction], labels: list[str], out: Path | None, *, as_json: bool
) -> int:
    """Write one row a prediction as it comes; returns how many there were."""
    count = 0
    ending = out.suffix.lower() if out is not None else (".jsonl" if as_json else "")
    if out is not None:
        choose("ending of the output file", ending, [".csv", ".tsv", ".jsonl"], where=out)
    with destination(out) as file:
        table = csv.writer(file, delimiter=DELIMITERS.get(ending, "\t"), lineterminator="\n")
        if ending in DELIMITERS:
            table.writerow(["label", "probability", *(f"p({name})" for name in labels), "text"])
        for answer in predictions:
            count += 1
            if ending == ".jsonl":
                file.write(json.dumps(answer.to_json(), ensure_ascii=False) + "\n")
            elif ending in DELIMITERS:
                chances = [f"{p:.6f}" for p in answer.probabilities.values()]
                best = f"{answer.probabilities[answer.label]:.6f}"
                table.writerow([answer.label, best, *chances, answer.text])
            else:
                chance = answer.probabilities[answer.label]
                file.write(f"{answer.label}\t{chance:.4f}\t{' '.join(answer.text.split())}\n")
    return count


@contextmanager
def destination(out: Path | None) -> Iterator[TextIO]:
    """stdout, or a file that appears only when it is complete."""
    if out is None:
        yield sys.stdout
        return
    beside = out.with_name(f".{out.name}.part")
    try:
        with open(beside, "w", encoding="utf-8", newline="") as file:
            yield file
        beside.replace(out)
    except OSError as error:
        raise DataError(f"cannot write ({error.strerror})", where=out) from None
    finally:
        beside.unlink(missing_ok=True)
