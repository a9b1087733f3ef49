"""What `look` tells on the terminal and draws into a folder, of an input or of a whole run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool.cli import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unspool.run import Run


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


def draw_stored(path: Path, album: Album, *, alone: bool) -> None:
    """The pictures of a trace that was written down."""
    from unspool.errors import ConfigError
    from unspool.insight.gallery import input_pictures
    from unspool.insight.stored import stored_trace

    trace = stored_trace(path)
    if not alone:
        raise ConfigError(
            "a stored trace can be drawn, and nothing else",
            where=path,
            remedy="give --pictures DIR alone",
        )
    album.add(input_pictures(trace))


def tell_gradients(
    run: Run, text: str | None, album: Album, *, distance: int, what_if: bool, as_json: bool
) -> None:
    from unspool.insight.plots import gradient_figure

    flow = run.gradients(text, distance=distance, what_if=what_if)
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
