"""`unspool look`: what a trained model does inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import AsJson, readable


def look(
    run: Annotated[
        Path | None,
        Argument(
            metavar="[RUN]", help="The folder of a trained run; or a trace.json, with --pictures."
        ),
    ] = None,
    text: Annotated[str | None, Argument(metavar="[TEXT]", help="The input of the model.")] = None,
    page: Annotated[
        bool, Option("--page", help="Open the page with TEXT instead of printing a table.")
    ] = False,
    view: Annotated[
        str | None,
        Option(
            "--view",
            metavar="NAME",
            help="Open the page at this view: ahead (of a forecast), transcript, writing,"
            " unrolled, attention, saliency, gradients, ngrams, positions, neighbours or"
            " training.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        Option(
            "--html",
            metavar="FILE",
            help="Save the page as one file that works offline, instead of opening it; with --view"
            " that view alone.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        Option("--data", metavar="DATA", help="CNN: texts whose n-grams the page shows."),
    ] = None,
    port: Annotated[
        int | None,
        Option(
            "--port", metavar="N", help="Port of the page.  [default: a free one]", max=65535, min=0
        ),
    ] = None,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Only print the address of the page.")
    ] = False,
    pictures: Annotated[
        Path | None, Option("--pictures", metavar="DIR", help="Write pictures to this folder.")
    ] = None,
    format: Annotated[
        str, Option("--format", metavar="png|svg|pdf", help="Format of pictures.")
    ] = "png",
    step: Annotated[
        int | None,
        Option(
            "--step",
            metavar="N",
            help="Explain the answer at step N, from 1: the N-th word (tag), after the N-th token"
            " (generate), the N-th token of the translation (translate).  [default: the first tag"
            " other than O, the first <mask>, else the last step]",
        ),
    ] = None,
    answer: Annotated[
        str | None,
        Option(
            "--answer",
            metavar="NAME",
            help="Explain this label, tag or token.  [default: the answer of the model]",
        ),
    ] = None,
    method: Annotated[
        str,
        Option(
            "--method",
            metavar="METHOD",
            help="Contributions by integrated gradients (integrated) or gradient x input"
            " (gradient).",
        ),
    ] = "integrated",
    gradients: Annotated[
        bool, Option("--gradients", help="Recurrent models: gradient norms by steps back in time.")
    ] = False,
    distance: Annotated[
        int, Option("--distance", metavar="N", help="Steps of --gradients without TEXT.", min=1)
    ] = 200,
    what_if: Annotated[
        bool,
        Option(
            "--what-if",
            help="Of --gradients: compare with the same weights and one thing changed instead of"
            " with untrained cells.",
        ),
    ] = False,
    compare: Annotated[
        list[Path] | None,
        Option(
            "--compare",
            metavar="RUN",
            help="Also draw the learning curves of this run; may be repeated.",
        ),
    ] = None,
    figure: Annotated[
        str | None,
        Option(
            "--figure",
            metavar="NAME",
            help="Draw a figure that needs no run: activations, density, smoothing, kernels,"
            " shapes,"
            " gradients, lstm, cells, attention, positions, curves or transformer.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a trained model does inside.

    Without a TEXT: opens a page in the browser, to type texts and follow the model step by step.
    Only this machine can open it, and it needs no network; Ctrl-C ends it.

    With a TEXT: prints the answer of the model, the contribution of each token to it, and the
    answer without that token. --pictures also draws gates, states, attention, alignments and
    filters, and writes all numbers to trace.json. Without a TEXT, --pictures draws the layers of
    the model, its learning curves and its confusion matrix. Of a model of series, sound or strokes
    TEXT is the name of a file, whose first recording is looked at: in a table, in pictures or, with
    --page, --view or --html, on the page.

    Examples:

    \b
      unspool look runs/reviews-bilstm
      unspool look runs/reviews-bilstm "a fine film"
      unspool look runs/reviews-bilstm "a fine film" --view saliency
      unspool look runs/reviews-bilstm "a fine film" --html seen.html
      unspool look runs/reviews-bilstm "a fine film" --pictures seen
      unspool look runs/reviews-bilstm --pictures seen --compare runs/reviews-gru
      unspool look runs/reviews-bilstm --gradients --pictures seen
      unspool look runs/recordings-bilstm walk.csv --pictures seen
      unspool look runs/calls-bilstm call.wav --view transcript
      unspool look seen/trace.json --pictures seen --format pdf
      unspool look --figure positions --pictures seen
    """
    from unspool.cli import look_results
    from unspool.errors import ConfigError, choose
    from unspool.io.pictures import SUFFIXES

    choose("format of pictures", f".{format}", SUFFIXES)
    if text is None and (step is not None or answer is not None):
        raise ConfigError("--step and --answer ask about a TEXT", remedy="give one after the run")
    if compare and (text is not None or gradients or pictures is None):
        raise ConfigError(
            "--compare is for the learning curves of a run", remedy="give --pictures and no TEXT"
        )
    if what_if and not gradients:
        raise ConfigError("--what-if is for gradients through time", remedy="add --gradients")
    answers = {
        "--pictures": pictures, "--gradients": gradients, "--json": as_json, "--figure": figure,
        "--step": step, "--answer": answer,
    }  # fmt: skip
    requested = [name for name, value in answers.items() if value not in (None, False)]
    of_page = {
        "--page": page, "--view": view, "--html": html, "--data": data, "--port": port,
        "--no-browser": no_browser,
    }  # fmt: skip
    paged = [name for name, value in of_page.items() if value not in (None, False)]
    if paged and requested:
        raise ConfigError(
            f"{paged[0]} is for the page, and {requested[0]} is not on it", remedy="leave out one"
        )
    album = look_results.Album(pictures, format)
    if figure is not None:
        look_results.draw_idea(figure, album, alone=run is None)
        return
    if run is None:
        raise ConfigError(
            "there is nothing to look at",
            remedy="name the folder of a run, or an idea with --figure",
        )
    if run.is_file():
        look_results.draw_stored(
            run, album, alone=text is None and requested == ["--pictures"] and not paged
        )
        return
    text = None if text is None else readable(text, "TEXT")
    if paged or (text is None and not requested):
        look_results.open_page(
            run, text, view=view, html=html, data=data, port=port, browser=not no_browser
        )
        return
    loaded = look_results.opened(run)
    if text is not None and loaded.task.reads_tokens:
        field = loaded.task.input_field
        text = text if (named := field.form.named(text)) is None else field.form.to_json(named)
    if text is not None and look_results.is_linear(loaded):
        look_results.show_features(loaded, text, answer=answer, as_json=as_json)
    elif text is not None and not loaded.task.reads_tokens:
        look_results.show_series(
            loaded, text, album, step=step, answer=answer, method=method, as_json=as_json
        )
    elif gradients:
        look_results.show_gradients(
            loaded, text, album, distance=distance, what_if=what_if, as_json=as_json
        )
    elif text is not None:
        look_results.show_answer(
            loaded, text, album, step=step, answer=answer, method=method, as_json=as_json
        )
    elif pictures is not None:
        album.add(look_results.run_figures(loaded, [show.loaded(other) for other in compare or ()]))
    else:
        raise ConfigError(
            "--json is for a TEXT", where=run, remedy="give one after the run, or --gradients"
        )
