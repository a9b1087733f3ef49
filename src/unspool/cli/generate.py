"""`unspool generate`: let a language model write."""

from __future__ import annotations

import json
from typing import Annotated

from typer import Option

from unspool.cli import show
from unspool.cli.options import (
    AsJson,
    Run,
    readable,
)


def generate(
    run: Run,
    prompt: Annotated[str, Option(metavar="TEXT", help="The text to continue.")] = "",
    length: Annotated[
        int, Option(metavar="N", help="Tokens to write.", min=1, show_default=True)
    ] = 200,
    temperature: Annotated[
        float,
        Option(
            metavar="T",
            help="0: always the most probable token; below 1 safer, above 1 more varied.",
        ),
    ] = 0.8,
    top_k: Annotated[
        int, Option(metavar="K", help="Sample from the K most probable tokens only; 0: from all.")
    ] = 0,
    top_p: Annotated[
        float,
        Option(metavar="P", help="Sample from the fewest tokens whose probability reaches P."),
    ] = 1.0,
    seed: Annotated[int, Option(metavar="N", help="The same seed gives the same text.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Let a trained language model write.

    The text appears as it is sampled: the prompt, then its continuation.

    Examples:

    \b
      unspool generate runs/book-lstm --prompt "It was " --length 500
      unspool generate runs/book-lstm --temperature 0.5 --top-k 20 --seed 7
    """
    from unspool.tasks.generate import Generation

    loaded = show.loaded(run)
    options = Generation(
        length=length, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed
    )
    prompt = readable(prompt, "--prompt")
    pieces = loaded.pieces(prompt, options)
    if as_json:
        (answer,) = loaded.predict(prompt, options)
        print(json.dumps(answer.to_json(), ensure_ascii=False))
        return
    for piece in pieces:
        print(piece, end="", flush=True)
    print()
