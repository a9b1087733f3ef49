"""The command `vectors context`: words whose vectors depend on what is around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import DATA_HELP, AsJson, Encoding, Format, Run, Text, given, readable

if TYPE_CHECKING:
    from unspool.predict.context import NearInContext


def context(
    run: Run,
    texts: Annotated[list[str], Argument(metavar="TEXT...", help="Texts that contain the word.")],
    word: Annotated[str, Option("--word", metavar="WORD", help="The word that is asked for.")],
    corpus: Annotated[
        str,
        Option("--corpus", metavar="DATA", help="Where neighbours are looked for. " + DATA_HELP),
    ],
    top: Annotated[int, Option("--top", metavar="N", help="How many to show.", min=1)] = 10,
    layer: Annotated[
        int | None,
        Option("--layer", metavar="N", help="0 does not look around.  [default: the top layer]"),
    ] = None,
    format: Format = None,
    encoding: Encoding = None,
    text: Text = None,
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
    from unspool.run import load

    loaded = load(run)
    with show.reading() as progress:
        found = loaded.near_in_context(
            [readable(given_text, "TEXT") for given_text in texts],
            readable(word, "--word"),
            corpus,
            top=top,
            layer=layer,
            say=show.say,
            progress=progress,
            **given(format=format, encoding=encoding, text=text),
        )
    show.result(Several(found), as_json=as_json)


class Several:
    """Results one after the other."""

    def __init__(self, results: list[NearInContext]) -> None:
        self.results = results

    def to_json(self) -> list[dict[str, Any]]:
        return [result.to_json() for result in self.results]

    def lines(self) -> list[str]:
        return [line for result in self.results for line in (*result.lines(), "")][:-1]
