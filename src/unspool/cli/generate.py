"""`unspool generate`: let a model write a text, draw by hand, or go on with music."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from unspool.cli import show
from unspool.cli.option_groups import option
from unspool.cli.options import NONE, AsJson, Chosen, Run, collecting, readable, task_options

if TYPE_CHECKING:
    from unspool.api.run import Run as LoadedRun


WRITING: dict[str, Any] = {
    "text": option("TEXT", "Handwriting: the text to write."),
    "length": option(
        "N",
        "Tokens to write, points at most, or steps of music to add.  [default: 200, 700, 64]",
        kind=int,
        min=1,
    ),
    "temperature": option(
        "T",
        "0: always the most probable token or move; below 1 safer, above 1 more varied."
        "  [default: 0.8, of handwriting and music 1]",
        kind=float,
    ),
    "top_k": option(
        "K", "Sample from the K most probable tokens, events or keys only; 0: from all.", kind=int
    ),
    "top_p": option("P", "Sample from the fewest tokens whose probability reaches P.", kind=float),
    "bias": option("B", "Handwriting: the larger, the neater.  [default: 0]", kind=float),
    "seed": option("N", "The same seed gives the same text.  [default: 1]", kind=int),
}


@collecting(writing=WRITING)
def generate(
    run: Run,
    prompt: Annotated[
        str,
        Option(
            metavar="TEXT",
            help="The text to continue; of handwriting and music a file, whose first drawing or"
            " piece is continued.",
        ),
    ] = "",
    writing: Chosen = NONE,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write to a file instead: .txt, .jsonl, .csv or .tsv, of handwriting also .svg, of"
            " music .mid or .svg.",
        ),
    ] = None,
    png: Annotated[
        Path | None,
        Option(
            "--png",
            "--picture",
            metavar="FILE",
            help="Handwriting and music: also draw it as a .png, .svg or .pdf.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a trained model write a text, draw or compose.

    The text appears as it is sampled: the prompt, then its continuation. Handwriting and music are
    written to a file, or printed with --json; of music its numbers are shown beside those of the
    training data: notes in key, parallel fifths, repeated steps.

    Examples:

    \b
      unspool generate runs/book-lstm --prompt "It was " --length 500
      unspool generate runs/book-lstm --temperature 0.5 --top-k 20 --seed 7
      unspool generate runs/letters-lstm --text "hello" --bias 0.5 --out hello.svg
      unspool generate runs/kanji-lstm --seed 3 --png drawing.png
      unspool generate runs/kanji-lstm --prompt begun.jsonl --out drawing.svg
      unspool generate runs/chorales-lstm --prompt begun.mid --length 64 --out more.mid
      unspool generate runs/chorales-lstm --temperature 0.7 --out new.mid --picture new.png
    """
    from unspool.cli.answers import check_ending, write_answers
    from unspool.tasks.abilities import Continues, reads_file

    loaded = show.loaded(run)
    chosen = dict(writing)
    if "text" in chosen:
        chosen["text"] = readable(chosen["text"], "--text")
    options = task_options(loaded, chosen) if isinstance(loaded.task, Continues) else None
    if reads_file(loaded.task):
        continue_file(loaded, prompt, options, out, png, as_json=as_json)
        return
    if png is not None:
        from unspool.cli.options import meant_for
        from unspool.tasks import TASKS

        raise meant_for(loaded, "png", [task for task in TASKS.values() if reads_file(task)])
    prompt = readable(prompt, "--prompt")
    pieces = loaded.pieces(prompt, options)
    if as_json or out is not None:
        assert loaded.task.answer is not None
        check_ending(out, loaded.task.answer)
        write_answers(loaded.predict_lazily([prompt], options), out, as_json=as_json)
        return
    for piece in pieces:
        print(show.shown(piece), end="", flush=True)
    print()


def continue_file(
    run: LoadedRun, prompt: str, options: Any, out: Path | None, png: Path | None, *, as_json: bool
) -> None:
    """Continue the first drawing or piece of a file, or start from nothing."""
    from unspool.cli.answers import check_ending, write_answers
    from unspool.cli.look_results import first_recording
    from unspool.io.pictures import check_picture, save_picture

    assert run.task.answer is not None
    check_ending(out, run.task.answer)
    if png is not None:
        check_picture(png)
    item = first_recording(prompt, run.task) if prompt else []
    answers = run.predict([item], options)
    if png is not None:
        from unspool.insight.gallery import written_figure

        save_picture(written_figure(answers[0]), png)
        show.note(f"the picture is in {png}")
    if out is not None:
        for line in answers[0].remarks():
            show.note(line)
    write_answers(answers, out, as_json=as_json)
