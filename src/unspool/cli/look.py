"""The command `look`: what a trained model does inside."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from unspool.cli import show
from unspool.cli.options import AsJson, readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unspool.run import Run


def look(
    run: Annotated[
        Path | None, Argument(metavar="[RUN]", help="The folder of a trained run.")
    ] = None,
    text: Annotated[
        str | None, Argument(metavar="[TEXT]", help="What the model is to read.")
    ] = None,
    pictures: Annotated[
        Path | None,
        Option(
            "--pictures", metavar="DIR", help="Draw what there is to see into a folder, made anew."
        ),
    ] = None,
    format: Annotated[str, Option("--format", metavar="png|svg|pdf", help="Of pictures.")] = "png",
    place: Annotated[
        int | None,
        Option(
            "--place",
            metavar="N",
            help="Ask about the N-th word (tag), after the N-th token (generate), or about the N-th"
            " token that is written (translate), from 1.  [default: the last]",
        ),
    ] = None,
    answer: Annotated[
        str | None,
        Option("--answer", metavar="NAME", help="Ask about this label, tag or token instead."),
    ] = None,
    method: Annotated[
        str,
        Option(
            "--method",
            metavar="METHOD",
            help="How the contribution of a token is told: integrated (gradients), or gradient"
            " (times input).",
        ),
    ] = "integrated",
    gradients: Annotated[
        bool,
        Option("--gradients", help="How far back in time the cell of a recurrent model learns."),
    ] = False,
    distance: Annotated[
        int, Option("--distance", metavar="N", help="Of --gradients without TEXT, in steps.", min=1)
    ] = 200,
    beside: Annotated[
        list[Path] | None,
        Option(
            "--beside", metavar="RUN", help="Also draw how this run has learnt; may be given again."
        ),
    ] = None,
    figure: Annotated[
        str | None,
        Option(
            "--figure",
            metavar="NAME",
            help="Draw an idea that needs no run: positions, activations, kernels, smoothing or"
            " gradients.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look inside a trained model.

    With a TEXT: what the model answers, what each token contributes to that, and what the answer
    would be without it. --pictures draws its gates, states, heads, alignments and filters while it
    reads, and leaves all numbers in trace.json. Without a TEXT, --pictures draws the model itself,
    how it learnt and what it confuses.

    Examples:

    \b
      unspool look runs/reviews-bilstm "a fine film"
      unspool look runs/reviews-bilstm "a fine film" --pictures seen
      unspool look runs/reviews-bilstm --pictures seen --beside runs/reviews-gru
      unspool look runs/reviews-bilstm --gradients --pictures seen
      unspool look --figure positions --pictures seen
    """
    from unspool.errors import ConfigError, choose
    from unspool.pictures import SUFFIXES

    choose("format of pictures", f".{format}", SUFFIXES)
    if text is None and (place is not None or answer is not None):
        raise ConfigError("--place and --answer ask about a TEXT", remedy="give one after the run")
    if beside and (text is not None or gradients or pictures is None):
        raise ConfigError(
            "--beside is for the learning curves of a run", remedy="give --pictures and no TEXT"
        )
    album = Album(pictures, format)
    if figure is not None:
        draw_idea(figure, album, alone=run is None)
        return
    if run is None:
        raise ConfigError(
            "there is nothing to look at",
            remedy="name the folder of a run, or an idea with --figure",
        )
    from unspool.run import load

    loaded = load(run)
    if gradients:
        tell_gradients(loaded, text, album, distance=distance, as_json=as_json)
    elif text is not None:
        tell_answer(
            loaded,
            readable(text, "TEXT"),
            album,
            place=place,
            answer=answer,
            method=method,
            as_json=as_json,
        )
    elif pictures is not None:
        album.add(drawn_run(loaded, [load(other) for other in beside or ()]))
    else:
        raise ConfigError(
            "say what to look at",
            where=run,
            remedy="give a TEXT, --pictures DIR, --gradients, or several of them",
        )


class Album:
    """A folder of pictures; without one, nothing is drawn."""

    def __init__(self, folder: Path | None, format: str) -> None:
        from unspool.errors import DataError

        self.folder, self.format = folder, format
        if folder is not None and folder.exists() and not folder.is_dir():
            raise DataError("not a folder", where=folder, remedy="name another one for --pictures")

    def add(self, named: Iterable[tuple[str, Figure]]) -> None:
        if self.folder is None:
            return
        from unspool.pictures import save_picture

        self.folder.mkdir(parents=True, exist_ok=True)
        for name, figure in named:
            path = self.folder / f"{name}.{self.format}"
            save_picture(figure, path)
            show.say(str(path))


def draw_idea(name: str, album: Album, *, alone: bool) -> None:
    from unspool.errors import ConfigError, choose
    from unspool.insight.plots import IDEAS

    choose("figure", name, IDEAS)
    if not alone:
        raise ConfigError("--figure needs no run", got=name, remedy="leave out the run")
    if album.folder is None:
        raise ConfigError("a figure needs a folder", got=name, remedy="add --pictures DIR")
    album.add([(name, IDEAS[name]())])


def tell_gradients(
    run: Run, text: str | None, album: Album, *, distance: int, as_json: bool
) -> None:
    from unspool.insight.plots import gradient_figure

    flow = run.gradients(None if text is None else readable(text, "TEXT"), distance=distance)
    show.result(flow, as_json=as_json)
    if album.folder is not None:
        album.add([("gradients", gradient_figure(flow))])


def tell_answer(
    run: Run,
    text: str,
    album: Album,
    *,
    place: int | None,
    answer: str | None,
    method: str,
    as_json: bool,
) -> None:
    import json

    from unspool.files import write_atomic
    from unspool.insight.gallery import input_pictures

    traced = run.trace(text)
    why = None
    if run.task.name != "elmo":  # which has no answers, only vectors
        at = None if place is None else place - 1
        why = run.explain(text, place=at, answer=answer, method=method)
    if traced.whole > len(traced.tokens):
        show.say(f"only the first {len(traced.tokens)} of {traced.whole} tokens are looked at")
    if as_json:
        show.result(Told(traced.to_json(), why and why.to_json()), as_json=True)
    elif why is not None:
        show.result(why, as_json=False)
    if album.folder is not None:
        album.add(input_pictures(traced, why))
        path = album.folder / "trace.json"
        write_atomic(path, json.dumps(traced.to_json(), ensure_ascii=False) + "\n")
        show.say(str(path))


class Told:
    """A trace and a reason as one JSON object."""

    def __init__(self, trace: dict[str, Any], saliency: dict[str, Any] | None) -> None:
        self.trace, self.saliency = trace, saliency

    def to_json(self) -> dict[str, Any]:
        return {"trace": self.trace, "saliency": self.saliency}


def drawn_run(run: Run, others: list[Run]) -> Iterable[tuple[str, Figure]]:
    from unspool.files import read_json
    from unspool.insight.gallery import run_pictures

    logs = {str(each.path): each.metrics() for each in (run, *others)}
    path = run.path / "evaluation.json"
    evaluation = read_json(path) if path.exists() else None
    return run_pictures(run.summary(), logs, metric=run.task.metric, evaluation=evaluation)
