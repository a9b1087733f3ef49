"""The options of answers: each is a field of the options of a task (`Task.options`), and is refused
where the task of a run has no such field. A new one is an entry here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option


def decoding_option(*names: str, help: str, metavar: str | None = None) -> Any:
    """An option in the group "Decoding" of the help."""
    return Option(*names, metavar=metavar, help=help, rich_help_panel="Decoding")


DECODING: dict[str, Any] = {
    "beam": Annotated[
        int | None,
        decoding_option(
            metavar="N", help="Width of the beam; 1 is greedy.  [default: 5; transcripts: 10]"
        ),
    ],
    "nbest": Annotated[
        int | None,
        decoding_option(
            metavar="N", help="Give the N best translations of each text.  [default: 1]"
        ),
    ],
    "length_penalty": Annotated[
        float | None,
        decoding_option(
            metavar="A", help="The larger, the longer the translations; 0: none.  [default: 1]"
        ),
    ],
    "max_length": Annotated[
        int | None,
        decoding_option(metavar="N", help="Most tokens.  [default: twice the source and 10 more]"),
    ],
    "min_length": Annotated[
        int | None, decoding_option(metavar="N", help="Fewest tokens.  [default: 0]")
    ],
    "no_repeat_ngram": Annotated[
        int | None,
        decoding_option(metavar="N", help="No sequence of N tokens occurs twice."),
    ],
    "temperature": Annotated[
        float | None,
        decoding_option(metavar="T", help="Sample, from the distribution at this temperature."),
    ],
    "top_k": Annotated[
        int | None,
        decoding_option(metavar="K", help="Sample from the K most probable tokens."),
    ],
    "top_p": Annotated[
        float | None,
        decoding_option(
            metavar="P", help="Sample from the fewest tokens whose probability reaches P."
        ),
    ],
    "seed": Annotated[
        int | None, decoding_option(metavar="N", help="Seed of sampling.  [default: 1]")
    ],
    "int8": Annotated[
        bool,
        decoding_option(
            "--int8", help="Quantise the decoder to int8: faster, nearly the same results."
        ),
    ],
    "lm": Annotated[
        Path | None,
        decoding_option(
            "--lm",
            metavar="RUN",
            help="Of transcripts: a run of --task generate, which knows how texts go on.",
        ),
    ],
    "lm_weight": Annotated[
        float | None,
        decoding_option(
            "--lm-weight", metavar="W", help="Weight of its log probability.  [default: 0.5]"
        ),
    ],
    "bonus": Annotated[
        float | None,
        decoding_option(
            "--bonus",
            metavar="B",
            help="Of transcripts: added for each token, so that they are longer.  [default: 0]",
        ),
    ],
    "decoder": Annotated[
        str | None,
        decoding_option(
            "--decoder",
            metavar="KIND",
            help="Of transcripts by a model of objective=hybrid: ctc, attention, or hybrid, which"
            " ranks the texts of both by both.  [default: hybrid]",
        ),
    ],
    "keep_unknown": Annotated[
        bool,
        decoding_option(
            "--keep-unknown",
            help="Keep <unk> instead of copying the source word that it is aligned with.",
        ),
    ],
    "coverage": Annotated[
        float | None,
        Option(
            metavar="P",
            help="Of forecast: share of the truth that intervals hold: 0.5, 0.8, 0.9 or 0.95."
            "  [default: 0.95]",
        ),
    ],
    "samples": Annotated[
        int | None,
        Option(
            metavar="N",
            help="Of forecast with a distribution: give N samples as well; paths of a recursive"
            " model, of a direct one draws whose steps are independent.",
        ),
    ],
    "top": Annotated[
        int | None,
        Option(metavar="N", help="Candidates for each <mask>.  [default: 5]", min=1),
    ],
}


def decoding_options(*names: str) -> dict[str, Any]:
    return {name: DECODING[name] for name in names}
