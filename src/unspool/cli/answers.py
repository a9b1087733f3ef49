"""Answers as they are written by `unspool predict`: text, tables, JSON lines, further formats."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from unspool.cli.show import note
from unspool.errors import DataError, choose
from unspool.tasks import Answer

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def check_ending(out: Path | None, kind: type[Answer]) -> None:
    """Refuse a name whose ending stands for no format of these answers."""
    if out is not None:
        endings = [*DELIMITERS, ".jsonl", ".txt", *kind.formats]
        choose("ending of the output file", out.suffix.lower(), endings, where=out)


def write_answers(answers: Iterable[Answer], out: Path | None, *, as_json: bool) -> None:
    """Write each answer as it comes, in the format that the ending of `out` names; to stdout as
    text, or as JSON lines."""
    ending = out.suffix.lower() if out is not None else (".jsonl" if as_json else ".txt")
    count, warnings = 0, Counter[str]()
    answer = None
    with destination(out) as file:
        table = csv.writer(file, delimiter=DELIMITERS.get(ending, ","), lineterminator="\n")
        for count, answer in enumerate(answers, start=1):
            if answer.warning is not None:
                warnings[answer.warning] += 1
            if ending == ".jsonl":
                file.write(json.dumps(answer.to_json(), ensure_ascii=False) + "\n")
            elif ending in DELIMITERS:
                if count == 1:
                    table.writerow(answer.header())
                table.writerows(answer.rows(count))
            else:
                to_lines = answer.formats.get(ending)
                lines = answer.lines(count) if to_lines is None else to_lines(answer)
                file.writelines(f"{line}\n" for line in lines)
    for warning, times in warnings.items():
        note(f"{times} texts were {warning}")
    if out is not None:
        note(f"{count} {answer.plural if answer is not None else 'predictions'} in {out}")


@contextmanager
def destination(out: Path | None) -> Iterator[TextIO]:
    """stdout, or a file that appears only when it is complete."""
    if out is None:
        yield sys.stdout
        return
    partial = out.with_name(f".{out.name}.part")
    try:
        with open(partial, "w", encoding="utf-8", newline="") as file:
            yield file
        partial.replace(out)
    except OSError as error:
        raise DataError(
            f"cannot be written ({error.strerror})", where=out, remedy="give another --out"
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink()
