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
from unspool.cli.show import say
from unspool.errors import ConfigError, DataError, choose
from unspool.predict.classifier import Prediction
from unspool.predict.filler import Filled
from unspool.resolving import changed
from unspool.run import Run
from unspool.tasks.opening import open_inputs
from unspool.tasks.translation import Translation

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def inputs(
    run: Run,
    texts: list[str],
    file: str | None,
    reading: dict[str, Any],
    say: Callable[[str], None],
) -> Iterable[Any]:
    """The texts to label, tag or translate, in order; `reading` overrides how a file is read.
    Sentences that are cut into words already are lists of them."""
    if file is not None and texts:
        raise ConfigError(
            "give texts or --file, not both", got=texts[0], remedy="leave out one of them"
        )
    if not texts and file is None:
        raise ConfigError(
            "no text given", remedy="give some, or --file FILE, or - for standard input"
        )
    if texts and texts != ["-"]:
        return [readable(text, "a text") for text in texts]
    # What a person types is read as lines, whatever the training file was.
    usual = {"format": "auto"} if file is not None else {"format": "lines", "encoding": "utf-8"}
    config = changed(run.config, {f"data.{k}": v for k, v in {**usual, **reading}.items()})
    plan = open_inputs(file or "-", config.data, run.task.name)
    if file is not None:
        say(plan.summary)
    return (row.values[0] for row in plan.rows())


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


def write_translations(answers: Iterable[Translation], out: Path | None, *, as_json: bool) -> None:
    """Write a line a translation as it comes, or of several best ones number, score and text."""
    ending = out.suffix.lower() if out is not None else (".jsonl" if as_json else ".txt")
    choose("ending of the output file", ending, [".txt", ".csv", ".tsv", ".jsonl"], where=out)
    count = cut = 0
    with destination(out) as file:
        table = csv.writer(file, delimiter=DELIMITERS.get(ending, "\t"), lineterminator="\n")
        for count, answer in enumerate(answers, start=1):
            cut += answer.cut
            if ending == ".jsonl":
                file.write(json.dumps(answer.to_json(), ensure_ascii=False) + "\n")
                continue
            if ending in DELIMITERS and count == 1:
                table.writerow(["number", "score", "translation", "text"])
            for candidate in answer.nbest:
                shown = " ".join(candidate.translation.split())
                row = [count, f"{candidate.score:.4f}", shown]
                if ending in DELIMITERS:
                    table.writerow([*row, answer.text])
                elif len(answer.nbest) > 1:
                    table.writerow(row)
                else:
                    file.write(shown + "\n")
    if cut:
        say(f"{cut} texts were longer than the model reads, and cut")
    if out is not None:
        say(f"{count} translations in {out}")


def drawing_first(run: Run, answers: Iterable[Translation], path: Path) -> Iterator[Translation]:
    """The same translations; the alignment of the first becomes a picture."""
    from unspool.insight.plots import alignment_figure
    from unspool.pictures import check_picture, save_picture

    model = run.config.model
    if model.network == "recurrent" and model.attention == "none":
        raise ConfigError(
            "there is no alignment to draw",
            where=run.path,
            got="a model without attention",
            remedy="leave out --picture, or train bahdanau, luong or transformer",
        )
    check_picture(path)

    def drawn() -> Iterator[Translation]:
        for number, answer in enumerate(answers):
            if number == 0:
                save_picture(alignment_figure(answer), path)
                say(f"the alignment is in {path}")
            yield answer

    return drawn()


def write_filled(answers: Iterable[Filled], out: Path | None, *, as_json: bool) -> None:
    """Write a line a <mask> with its candidates and the text; in a table, a row a candidate."""
    ending = out.suffix.lower() if out is not None else (".jsonl" if as_json else ".txt")
    choose("ending of the output file", ending, [".txt", ".csv", ".tsv", ".jsonl"], where=out)
    with destination(out) as file:
        table = csv.writer(file, delimiter=DELIMITERS.get(ending, "\t"), lineterminator="\n")
        if ending in DELIMITERS:
            table.writerow(["number", "mask", "token", "probability", "text"])
        for count, answer in enumerate(answers, start=1):
            if ending == ".jsonl":
                file.write(json.dumps(answer.to_json(), ensure_ascii=False) + "\n")
                continue
            for number, mask in enumerate(answer.masks, start=1):
                if ending in DELIMITERS:
                    table.writerows(
                        [count, number, token, f"{p:.6f}", answer.text] for token, p in mask
                    )
                else:
                    chances = "  ".join(f"{token} {p:.4f}" for token, p in mask)
                    file.write(f"{chances}\t{' '.join(answer.text.split())}\n")


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
