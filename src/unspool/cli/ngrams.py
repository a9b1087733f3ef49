"""`unspool ngrams`: what the filters of a cnn look for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from unspool.cli import show
from unspool.cli.option_groups import reading_options
from unspool.cli.options import NONE, AsJson, Chosen, Data, Run, collecting


@collecting(reading=reading_options("format", "encoding", "text", "label"))
def ngrams(
    run: Run,
    data: Data,
    top: Annotated[int, Option(metavar="N", help="N-grams of each filter.", min=1)] = 5,
    filters: Annotated[
        int, Option(metavar="N", help="Filters to show for each class; --json has all.", min=1)
    ] = 5,
    picture: Annotated[
        Path | None, Option("--picture", metavar="FILE", help="Also draw them: .png, .svg or .pdf.")
    ] = None,
    reading: Chosen = NONE,
    as_json: AsJson = False,
) -> None:
    """Show the n-grams that the filters of a cnn look for.

    For each class the filters that raise its score most, and the n-grams of the data that activate
    them most: their activation, and how often they occur. A dot stands for a position outside of a
    text. The data need no labels.

    Examples:

    \b
      unspool ngrams runs/reviews-cnn reviews.csv
      unspool ngrams runs/reviews-cnn reviews.csv --top 10 --filters 3
      unspool ngrams runs/reviews-cnn reviews.csv --picture filters.svg
      unspool ngrams runs/reviews-cnn reviews.csv --json
    """
    from unspool.insight.ngrams import ngrams_of_file
    from unspool.io.pictures import check_picture, save_picture

    if picture is not None:
        check_picture(picture)
    with show.reading() as progress:
        loaded = show.loaded(run)
        table = ngrams_of_file(
            loaded.task,
            loaded.model,
            data,
            top=top,
            filters=filters,
            note=show.note,
            progress=progress,
            **reading,
        )
    show.result(table, as_json=as_json)
    if picture is not None:
        from unspool.insight.plots import ngram_figure

        save_picture(ngram_figure(table, filters=filters, ngrams=top), picture)
        show.note(f"saved: {picture}")
