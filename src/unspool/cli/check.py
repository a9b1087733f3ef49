"""`unspool check`: look at data before training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from unspool.cli import show
from unspool.cli.option_groups import reading_options
from unspool.cli.options import (
    NONE,
    AsJson,
    Chosen,
    Files,
    Set,
    Task,
    Test,
    Valid,
    assignments,
    collecting,
    one_path,
)

Group = Annotated[
    str | None,
    Option(
        "--group",
        metavar="COLUMN",
        help="A column, such as a speaker or a film, whose values should not be in two parts.",
    ),
]
Suspects = Annotated[
    bool, Option("--suspects/--no-suspects", help="Look for wrong labels, which takes longest.")
]
Html = Annotated[
    Path | None, Option("--html", metavar="FILE", help="Write the report as a page with pictures.")
]
Fix = Annotated[
    Path | None,
    Option(
        "--fix",
        metavar="OUT",
        help="Write a repaired copy of DATA, in the same format with all columns, and"
        " OUT.log.jsonl with every row that was dropped or changed. No file is overwritten.",
    ),
]
Repair = Annotated[
    str | None,
    Option(
        "--repair",
        metavar="NAMES",
        help="What --fix repairs, with commas. Rows are dropped: empty (a field has no value),"
        " repeated (all fields are those of an earlier row), contradiction (all rows with the same"
        " text and different labels), near (nearly an earlier row, with the same label). Texts are"
        " changed: mojibake (Ã© becomes é), windows (quotation marks and dashes of Windows-1252"
        " read as Latin-1), control (control characters go), html (tags go, entities become"
        " characters). usual is empty,repeated,mojibake,windows,control; all is all of them. "
        " [default: usual]",
    ),
]


@collecting(reading=reading_options(without=("folds", "group")))
def check(
    data: Files,
    task: Task = None,
    set_: Set = None,
    valid: Valid = None,
    test: Test = None,
    reading: Chosen = NONE,
    group: Group = None,
    suspects: Suspects = True,
    html: Html = None,
    fix: Fix = None,
    repair: Repair = None,
    as_json: AsJson = False,
) -> None:
    """Look at data before training: counts, labels, doubtful rows.

    Shows how the file would be read and split, the lengths of the texts, the balance of the labels,
    the share of unknown tokens; rows that are empty, repeated, nearly repeated or contradict each
    other, also in two parts (leaks); labels that are probably wrong, that drift between parts or
    are spelled in two ways; texts in another script or of odd length, damaged characters, HTML;
    empty columns. Suggests settings, and writes a repaired copy.

    Examples:

    \b
      unspool check reviews.csv
      unspool check train.tsv --valid dev.tsv --test test.tsv
      unspool check rt-polarity.all --encoding latin-1 --json
      unspool check speech.csv --group speaker --html report.html
      unspool check reviews.csv --fix clean.csv --repair usual,html
    """
    from unspool.api.check import check as check_data
    from unspool.errors import ConfigError
    from unspool.io.files import write_atomic

    if repair is not None and fix is None:
        raise ConfigError(
            "--repair is for --fix", got=repair, remedy="name the file to write with --fix OUT"
        )
    if html is not None and not html.parent.is_dir():
        raise ConfigError("there is no such folder", where=html.parent, remedy="make it first")
    with show.reading() as progress:
        report = check_data(
            one_path(data),
            task=task,
            valid=valid,
            test=test,
            group=group,
            suspects=suspects,
            fix=fix,
            repair=repair,
            progress=progress,
            **assignments(set_, reading),
        )
    if html is not None:
        write_atomic(html, report.to_html())
        show.note(f"report written to {html}")
    show.result(report, as_json=as_json)
