"""The commands of word vectors: embed makes them, `vectors ...` looks at them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import (
    DATA_HELP,
    AsJson,
    ConfigFile,
    Encoding,
    Format,
    Set,
    Text,
    assignments,
    readable,
)

if TYPE_CHECKING:
    from unspool.vectors import Neighbour

Vectors = Annotated[
    Path,
    Argument(
        metavar="VECTORS",
        help="The folder of an `unspool embed`, or a file: word2vec's text or binary format or"
        " GloVe's text, also as .gz, or safetensors.",
    ),
]
Top = Annotated[int, Option("--top", metavar="N", help="How many words to show.", min=1)]

vectors_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Look at word vectors: neighbours, analogies, scores, a map.",
)


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
            "--out",
            "-o",
            metavar="RUN",
            help="The folder to write.  [default: runs/NAME-METHOD]",
        ),
    ] = None,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
    as_json: AsJson = False,
) -> None:
    """Learn a vector for each word of a text.

    Words that stand in like places get like vectors. Settings of word2vec: mode (skipgram or cbow),
    size, window, negatives, subsample, phrases, epochs, lr, min_count and others, which `unspool
    settings` lists. The corpus may be larger than memory. There is no --resume, as training takes
    minutes.

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
            say=show.say,
            progress=progress,
            **assignments(set_, format=format, encoding=encoding, text=text),
        )
    show.result(result, as_json=as_json)
    if method == "word2vec":
        show.say(f"next: unspool vectors neighbours {result.path} WORD")
    else:
        show.say(f"next: unspool train DATA --from {result.path}")


@vectors_app.command()
def neighbours(
    vectors: Vectors,
    words: Annotated[list[str], Argument(metavar="WORD...", help="The words to look up.")],
    top: Top = 10,
    as_json: AsJson = False,
) -> None:
    """The words nearest to a word, by the cosine of their vectors.

    Examples:

    \b
      unspool vectors neighbours runs/corpus-word2vec good film
      unspool vectors neighbours glove.6B.100d.txt paris --top 5
    """
    found = _load(vectors)
    rows = {word: found.neighbours(readable(word, "WORD"), top=top) for word in words}
    show.result(_Near(rows), as_json=as_json)


@vectors_app.command()
def analogy(
    vectors: Vectors,
    a: Annotated[str, Argument(metavar="A", help="The first word of the known pair.")],
    b: Annotated[str, Argument(metavar="B", help="Its second word.")],
    c: Annotated[str, Argument(metavar="C", help="The first word of the other pair.")],
    top: Top = 10,
    as_json: AsJson = False,
) -> None:
    """A is to B as C is to what? The words nearest to B - A + C.

    Examples:

    \b
      unspool vectors analogy runs/corpus-word2vec man king woman
      unspool vectors analogy vectors.bin good better bad --top 3
    """
    rows = _load(vectors).analogy(*(readable(word, "a word") for word in (a, b, c)), top=top)
    show.result(_Near({f"{a} : {b} = {c} : ?": rows}), as_json=as_json)


@vectors_app.command()
def similarity(
    vectors: Vectors,
    list_: Annotated[
        Path,
        Argument(
            metavar="LIST",
            help="`word word score` lines, as WordSim-353 and MEN have, or `a b c d` lines, as"
            " Google's analogies.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Score vectors against people's judgements, with the coverage.

    Of a list of pairs, Spearman's rank correlation; of a list of analogies, the share that is
    completed. Rows with a word that has no vector are left out, and counted.

    Examples:

    \b
      unspool vectors similarity runs/corpus-word2vec wordsim353.tsv
      unspool vectors similarity vectors.bin questions-words.txt --json
    """
    from unspool.vectors.lists import score

    show.result(score(_load(vectors), list_), as_json=as_json)


@vectors_app.command("map")
def map_(
    vectors: Vectors,
    words: Annotated[
        list[str] | None, Argument(metavar="WORD...", help="The words to draw.")
    ] = None,
    most: Annotated[
        int, Option("--most", metavar="N", help="Without WORD: the first N words.", min=2)
    ] = 100,
    out: Annotated[
        Path, Option("--out", "-o", metavar="FILE", help="A .png, .svg or .pdf file.")
    ] = Path("map.png"),
) -> None:
    """Draw words in the plane in which they differ most (PCA).

    Examples:

    \b
      unspool vectors map runs/corpus-word2vec good bad fine poor actor actress --out map.svg
      unspool vectors map vectors.bin --most 200
    """
    from unspool.vectors.picture import draw_map

    found = _load(vectors)
    chosen = [readable(word, "WORD") for word in words or []] or found.words[:most]
    draw_map(found, chosen, out)
    show.say(f"saved: {out}")


@vectors_app.command()
def convert(
    vectors: Vectors,
    out: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="What to write: .txt or .vec (word2vec's text), .glove (without its first line),"
            " .bin (word2vec's binary), .safetensors.",
        ),
    ],
) -> None:
    """Write vectors in another format.

    Examples:

    \b
      unspool vectors convert runs/corpus-word2vec vectors.bin
      unspool vectors convert glove.6B.100d.txt.gz glove.safetensors
    """
    from unspool.vectors import save

    found = _load(vectors)
    save(found, out)
    show.say(f"saved: {out}, {len(found):,} words, vectors of {found.size}")


def _load(path: Path) -> Any:
    from unspool.vectors import load

    return load(path)


class _Near:
    """What `neighbours` and `analogy` print: for each question the words and their cosines."""

    def __init__(self, rows: dict[str, list[Neighbour]]) -> None:
        self.rows = rows

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        return {question: [n._asdict() for n in found] for question, found in self.rows.items()}

    def lines(self) -> list[str]:
        lines = []
        for question, found in self.rows.items():
            width = max(map(len, (n.word for n in found)), default=0)
            lines += [question, *(f"  {n.word:<{width}}  {n.similarity:.4f}" for n in found)]
        return lines
