"""`unspool vectors ...`: neighbours, analogies, scores and a map of word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from unspool.cli import show
from unspool.cli.option_groups import reading_options
from unspool.cli.options import DATA_HELP, NONE, AsJson, Chosen, Run, collecting, readable

if TYPE_CHECKING:
    from unspool.insight.occurrences import NearestOccurrences
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
    table = _load(vectors)
    rows = {word: table.neighbours(readable(word, "WORD"), top=top) for word in words}
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

    table = _load(vectors)
    chosen = [readable(word, "WORD") for word in words or []] or table.words[:most]
    draw_map(table, chosen, out)
    show.note(f"saved: {out}")


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

    table = _load(vectors)
    save(table, out)
    show.note(f"saved: {out}, {len(table):,} words, vectors of {table.size}")


@vectors_app.command()
@collecting(reading=reading_options("format", "encoding", "text"))
def context(
    run: Run,
    texts: Annotated[list[str], Argument(metavar="TEXT...", help="Texts that contain the word.")],
    word: Annotated[str, Option("--word", metavar="WORD", help="The word.")],
    corpus: Annotated[
        str,
        Option("--corpus", metavar="DATA", help="Where neighbours are looked for. " + DATA_HELP),
    ],
    top: Annotated[int, Option("--top", metavar="N", help="How many to show.", min=1)] = 10,
    layer: Annotated[
        int | None,
        Option("--layer", metavar="N", help="0 does not look around.  [default: the top layer]"),
    ] = None,
    reading: Chosen = NONE,
    as_json: AsJson = False,
) -> None:
    """The words of a corpus nearest to a word as it stands in a text.

    RUN is one of `unspool embed --method elmo`, whose vectors depend on what is around a word: in
    another text, the same word has other neighbours.

    Examples:

    \b
      unspool vectors context runs/corpus-elmo "give me the stick" --word stick --corpus corpus.txt
      unspool vectors context runs/corpus-elmo "let's stick to it" --word stick --corpus corpus.txt
    """
    from unspool.insight.occurrences import nearest_occurrences

    loaded = show.loaded(run)
    with show.reading() as progress:
        occurrences = nearest_occurrences(
            loaded.task,
            loaded.model,
            [readable(given_text, "TEXT") for given_text in texts],
            readable(word, "--word"),
            corpus,
            top=top,
            layer=layer,
            note=show.note,
            progress=progress,
            **reading,
        )
    show.result(_Several(occurrences), as_json=as_json)


def _load(path: Path) -> Any:
    from unspool.vectors import load

    return load(path)


class _Near:
    """Printed `neighbours` and `analogy`: for each question the words and their cosines."""

    def __init__(self, rows: dict[str, list[Neighbour]]) -> None:
        self.rows = rows

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        return {question: [n._asdict() for n in near] for question, near in self.rows.items()}

    def lines(self) -> list[str]:
        lines = []
        for question, near in self.rows.items():
            width = max(map(len, (n.word for n in near)), default=0)
            lines += [question, *(f"  {n.word:<{width}}  {n.similarity:.4f}" for n in near)]
        return lines


class _Several:
    """Results one after the other."""

    def __init__(self, results: list[NearestOccurrences]) -> None:
        self.results = results

    def to_json(self) -> list[dict[str, Any]]:
        return [result.to_json() for result in self.results]

    def lines(self) -> list[str]:
        return [line for result in self.results for line in (*result.lines(), "")][:-1]
