"""`unspool topics`: what a corpus is about, without labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    readable,
)

if TYPE_CHECKING:
    from unspool.cli.answers import SourceRows
    from unspool.topic_model import Topics


@collecting(reading=reading_options("format", "encoding", "text"))
def topics(
    data: Annotated[
        str,
        Argument(
            metavar="DATA",
            help=DATA_HELP + " Labels are not looked at. Or the folder of an `unspool topics`.",
        ),
    ],
    texts: Annotated[
        list[str] | None,
        Argument(metavar="TEXT", help="New texts to assign to the topics of such a folder."),
    ] = None,
    number: Annotated[
        int | None,
        Option(
            "--topics",
            "-k",
            metavar="N",
            min=1,
            help="How many.  [default: 3, 5, 10, 20 or 40, what gives the largest coherence]",
        ),
    ] = None,
    method: Annotated[
        str | None,
        Option(
            "--method",
            metavar="METHOD",
            help="nmf (non-negative matrix factorisation of TF-IDF), lda (latent Dirichlet"
            " allocation of counts) or clusters (k-means of the vectors of --from)."
            "  [default: nmf; with --from clusters]",
        ),
    ] = None,
    start: Annotated[
        Path | None,
        Option(
            "--from",
            metavar="RUN",
            help="Cluster the vectors that this model gives for documents: a run of pretrain, elmo,"
            " classify or generate, or a folder of MiniLM, BERT or another that `unspool train"
            " --from` reads.",
        ),
    ] = None,
    stop_words: Annotated[
        str | None,
        Option(
            "--stop-words",
            metavar="LIST",
            help="Words to leave out: none, or english (scikit-learn's list).  [default: none]",
        ),
    ] = None,
    date: Annotated[
        str | None,
        Option(
            "--date",
            metavar="COLUMN",
            help="Column of dates, for topics over time, or none.  [default: one that holds dates]",
        ),
    ] = None,
    file: Annotated[
        str | None,
        Option("--file", "-f", metavar="FILE", help="Folder of topics: new texts from a file."),
    ] = None,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="RUN",
            help="The folder to write; of new texts the file: .csv, .tsv, .jsonl or .txt."
            "  [default: runs/NAME-topics; of new texts stdout]",
        ),
    ] = None,
    set_: Set = None,
    config: ConfigFile = None,
    reading: Chosen = NONE,
    as_json: AsJson = False,
) -> None:
    """Find what a corpus is about, without labels.

    A topic is words that occur in the same documents. Shown are the topics, the largest first: the
    share of the text that is about each, its coherence (NPMI: how much more often than by chance
    its words are near each other), its words, and the documents that it is most of. With a column
    of dates, the share of each topic over time.

    The words of nmf and lda are those with the largest weights; of clusters those that distinguish
    a topic from the others (class-based TF-IDF; --set ranking=ctfidf for all). No language is
    assumed: words of more than half of the documents or of fewer than 5 are left out. Texts in
    English are clearer with --stop-words english. --set max_share=0.2 leaves out more, --set
    words=15 shows more; `unspool settings` lists all.

    The folder has topics.html, a page with a map of the documents; map.png; documents.csv, DATA
    with the topic of each row, which `unspool train --label topic` learns from; topics.json and the
    weights. Given again, it shows its topics, or gives them to new texts.

    Examples:

    \b
      unspool topics reviews.csv
      unspool topics reviews.csv --text review --topics 20 --stop-words english
      unspool topics mails.jsonl --method lda --out runs/mails
      unspool topics reviews.csv --from models/minilm --topics 30
      unspool topics news.csv --date published --json
      unspool topics runs/reviews-topics "the plot has holes"
      unspool topics runs/reviews-topics --file new.csv --out new-topics.csv
      unspool train runs/reviews-topics/documents.csv --text review --label topic
    """
    from unspool.topic_model import topics as find
    from unspool.topic_model.folder import is_topics

    if is_topics(data):
        options = {"--topics": number, "--method": method, "--date": date, "--set": set_}
        _refuse(options, f"{data} holds topics that were found before", "name the corpus instead")
        result = find(data, start=start)
        if texts or file is not None:
            _assign(result, texts or [], file, reading, out, as_json=as_json)
        else:
            show.result(result, as_json=as_json)
        return
    options = {"TEXT": texts or None, "--file": file}
    _refuse(options, f"{data} is a corpus", "find its topics first, then give their folder")
    chosen = {"count": number, "method": method, "stop_words": stop_words}
    settings: dict[str, Any] = {
        f"topics.{name}": value for name, value in chosen.items() if value is not None
    }
    if start is not None and method is None:
        settings["topics.method"] = "clusters"
    with show.reading() as progress:
        result = find(
            data,
            start=start,
            date=date,
            out=out,
            config=config,
            note=show.note,
            progress=progress,
            **settings,
            **assignments(set_, reading),
        )
    show.result(result, as_json=as_json)


def _refuse(options: dict[str, Any], what: str, remedy: str) -> None:
    from unspool.errors import ConfigError

    for name, value in options.items():
        if value is not None:
            raise ConfigError(what, got=name, remedy=f"leave {name} out, or {remedy}")


def _assign(
    result: Topics,
    texts: list[str],
    file: str | None,
    reading: Chosen,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Topics of new texts, of the command line, a file or standard input."""
    from unspool.cli.answers import check_ending, write_answers
    from unspool.errors import ConfigError
    from unspool.topic_model import TopicAnswer

    if texts and file is not None:
        raise ConfigError(
            "give texts or --file, not both", got=texts[0], remedy="leave out one of them"
        )
    check_ending(out, TopicAnswer)
    items: Iterable[str] = [readable(text, "a text") for text in texts]
    source = None
    if file is not None or texts == ["-"]:
        items, source = _read(file or "-", reading)
    write_answers(result.predict_lazily(items), out, as_json=as_json, source=source)


def _read(path: str, reading: Chosen) -> tuple[Iterator[str], SourceRows | None]:
    """The texts of a file, and of a table all its columns."""
    from unspool.cli.answers import rows_of
    from unspool.config.resolve import resolve_data
    from unspool.topic_model.corpus import open_documents

    usual = {"data.format": "lines"} if path == "-" else {}
    plan = open_documents(path, resolve_data([("--set", {**usual, **assignments(None, reading)})]))
    if path != "-":
        show.note(plan.summary)
    return rows_of(plan) if plan.table.header else ((row.values[0] for row in plan.rows()), None)
