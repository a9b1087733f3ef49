"""Texts in, predictions out, for `unspool predict`: words of the command line, a file, or stdin."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from unspool.cli.options import readable
from unspool.config import changed
from unspool.data.readers import open_source
from unspool.errors import ConfigError, DataError, choose
from unspool.predict.classifier import Prediction
from unspool.run import Run

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def inputs(
    run: Run,
    texts: list[str],
    file: str | None,
    reading: dict[str, Any],
    say: Callable[[str], None],
) -> Iterable[str]:
    """The texts to label, in order; `reading` overrides how a file is read."""
    if file is not None and texts:
        raise ConfigError(
            "give texts or --file, not both", got=texts[0], remedy="leave out one of them"
        )
    if not texts and file is None:
        raise ConfigError(
            "no text to label", remedy="give some, or --file FILE, or - for standard input"
        )
    if texts and texts != ["-"]:
        return [readable(text, "a text") for text in texts]
    # What a person types is read as lines, whatever the training file was.
    usual = {"format": "auto"} if file is not None else {"format": "lines", "encoding": "utf-8"}
    config = changed(run.config, {f"data.{k}": v for k, v in {**usual, **reading}.items()})
    source = open_source(file or "-", config.data, task="classify", labelled=False)
    if file is not None:
        say(source.says)
    return (example.text for example in source)


def write(answers: Iterable[Prediction], out: Path | None, *, as_json: bool) -> int:
    """Write one row a prediction as it comes; returns how many there were."""
    ending = out.suffix.lower() if out is not None else (".jsonl" if as_json else "")
    if out is not None:
        choose("ending of the output file", ending, [".csv", ".tsv", ".jsonl"], where=out)
    count = 0
    with destination(out) as file:
        table = csv.writer(file, delimiter=DELIMITERS.get(ending, "\t"), lineterminator="\n")
        for count, answer in enumerate(answers, start=1):
            chances, best = answer.probabilities, answer.probabilities[answer.label]
            if ending == ".jsonl":
                file.write(json.dumps(answer.to_json(), ensure_ascii=False) + "\n")
            elif ending in DELIMITERS:
                if count == 1:
                    table.writerow(["label", "probability", *(f"p({k})" for k in chances), "text"])
                figures = [f"{p:.6f}" for p in (best, *chances.values())]
                table.writerow([answer.label, *figures, answer.text])
            else:
                file.write(f"{answer.label}\t{best:.4f}\t{' '.join(answer.text.split())}\n")
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
        raise DataError(
            f"cannot be written ({error.strerror})", where=out, remedy="give another --out"
        ) from None
    finally:
        with suppress(OSError):
            beside.unlink()
