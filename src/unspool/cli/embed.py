"""`unspool embed`: learn word vectors from a text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.option_groups import reading_options
from unspool.cli.options import (
    DATA_HELP,
    NONE,
    AsJson,
    Chosen,
    ConfigFile,
    Set,
    assignments,
    collecting,
)


@collecting(reading=reading_options("format", "encoding", "text"))
def embed(
    corpus: Annotated[
        str, Argument(metavar="CORPUS", help=DATA_HELP + " Labels are not looked at.")
    ],
    method: Annotated[
        str,
        Option(
            "--method",
            metavar="METHOD",
            help="How: word2vec (a vector a word) or elmo (a vector a word in its context).",
        ),
    ] = "word2vec",
    set_: Set = None,
    config: ConfigFile = None,
    out: Annotated[
        Path | None,
        Option(
            "--out", "-o", metavar="RUN", help="The folder to write.  [default: runs/NAME-METHOD]"
        ),
    ] = None,
    reading: Chosen = NONE,
    as_json: AsJson = False,
) -> None:
    """Learn a vector for each word of a text.

    Words that occur in similar contexts get similar vectors. Settings of word2vec: mode (skipgram
    or cbow), size, window, negatives, subsample, phrases, epochs, lr, min_count and others, which
    `unspool settings` lists. The corpus may be larger than memory. There is no --resume, as
    training takes minutes.

    --method elmo trains two language models, whose vectors of a word depend on the words around it;
    `unspool train DATA --from RUN` reads with them. It is a run of --task elmo, with the settings
    of `unspool train`, and `unspool train --resume --out RUN` goes on with it.

    Examples:

    \b
      unspool embed corpus.txt
      unspool embed reviews.csv --text review --set size=200 --set window=8 --out runs/words
      unspool embed corpus.txt.gz --set mode=cbow --set phrases=1
      unspool train reviews.csv --set embedding.from=runs/words
      unspool embed corpus.txt --method elmo --set epochs=2
      unspool train reviews.csv --from runs/corpus-elmo
    """
    from unspool.embed import embed as run_method

    with show.reading() as progress:
        result = run_method(
            corpus,
            method=method,
            out=out,
            config=config,
            note=show.note,
            progress=progress,
            **assignments(set_, reading),
        )
    show.result(result, as_json=as_json)
    if method == "word2vec":
        show.note(f"next: unspool vectors neighbours {result.path} WORD")
    else:
        show.note(f"next: unspool train DATA --from {result.path}")
