"""Results of `unspool look`: a table, pictures in a folder, a page that opens or is saved."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unspool.cli import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unspool.api.run import Run


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
        from unspool.io.pictures import save_picture

        self.folder.mkdir(parents=True, exist_ok=True)
        for name, figure in named:
            path = self.folder / f"{name}.{self.format}"
            save_picture(figure, path)
            show.note(str(path))


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
    from unspool.insight.trace import stored_trace

    trace = stored_trace(path)
    if not alone:
        raise ConfigError(
            "a stored trace can be drawn, and nothing else",
            where=path,
            remedy="give --pictures DIR alone",
        )
    album.add(input_pictures(trace))


def show_gradients(
    run: Run, text: str | None, album: Album, *, distance: int, what_if: bool, as_json: bool
) -> None:
    from unspool.insight.plots import gradient_figure

    flow = run.gradients(text, distance=distance, what_if=what_if)
    show.result(flow, as_json=as_json)
    if album.folder is not None:
        album.add([("gradients", gradient_figure(flow))])


def opened(path: Path) -> Run:
    """Load the run that is looked into: of an ensemble one of its models, with a note."""
    whole = show.loaded(path)
    run = whole.inside
    if run is not whole:
        models = ", ".join(dict.fromkeys(member.model_name for member in whole.config.members))
        show.note(
            f"an ensemble of {models}: this is its first {run.config.model_name}, whose answers may"
            " differ"
        )
    return run


def is_linear(run: Run) -> bool:
    from unspool.nn.models.linear import Linear

    return isinstance(run.model, Linear)


def show_features(run: Run, item: Any, *, answer: str | None, as_json: bool) -> None:
    """Show what each feature of an item adds to the score of an answer."""
    from unspool.insight.linear import explain_linear

    if not run.task.reads_tokens:
        item = run.task.input_field.recording(first_recording(item, run.task), item)
    show.result(explain_linear(run.task, run.model, item, answer), as_json=as_json)


def show_answer(
    run: Run,
    text: Any,
    album: Album,
    *,
    step: int | None,
    answer: str | None,
    method: str,
    as_json: bool,
) -> None:
    from unspool.insight.gallery import input_pictures

    traced = run.trace(text)
    explanation: Any = None
    if run.task.answer is not None:  # otherwise there are vectors alone
        at = None if step is None else step - 1
        explanation = run.explain(text, step=at, answer=answer, method=method)
    print_answer(traced, explanation, "tokens", as_json=as_json)
    if album.folder is not None:
        album.add(input_pictures(traced, explanation))
        write_trace(traced, album.folder)


def show_series(
    run: Run,
    path: str,
    album: Album,
    *,
    step: int | None,
    answer: str | None,
    method: str,
    as_json: bool,
) -> None:
    """The first recording of a file: what `show_answer` shows, and pictures with its channels as
    curves."""
    from unspool.insight.gallery import series_pictures
    from unspool.insight.saliency import explain
    from unspool.insight.trace import trace_reading
    from unspool.tasks.abilities import LooksAhead

    field = run.task.input_field
    raw = first_recording(path, run.task)
    item = field.recording(raw, path)
    reading = run.task.reading(run.model, item)
    traced = trace_reading(reading, run.task, run.model)
    at = None if step is None else step - 1
    explanation = explain(reading, step=at, answer=answer, method=method)
    print_answer(traced, explanation, "steps", as_json=as_json)
    if album.folder is not None:
        forecasts = isinstance(run.task, LooksAhead)
        ahead = next(iter(run.task.predict(run.model, [item]))) if forecasts else None
        album.add(kind_pictures(field, raw, item, reading, explanation, path))
        if explanation.parts is not None:
            parts = field.source.curve_values(explanation.parts)
            names = field.source.curve_names(explanation.elements)
            explanation = explanation._replace(parts=parts, elements=names)
        album.add(series_pictures(field.curves(item), traced, reading, explanation, ahead))
        write_trace(traced, album.folder)


def kind_pictures(
    field: Any, raw: Any, item: Any, reading: Any, explanation: Any, path: str
) -> list[Any]:
    """Pictures that are more than curves: an image, where each word of its caption looked, a
    drawing, the lattice of a transcript over its spectrum, or contributions under it."""
    from unspool.insight.plots import (
        attention_maps,
        caption_figure,
        drawing_figure,
        frames_figure,
        image_figure,
        lattice_figure,
        spectrum_figure,
    )

    name = item.name or path
    lattice = reading.answer.lattice() if hasattr(reading.answer, "lattice") else None
    if field.form.display.form == "frames":
        title = (
            f"{name}: {explanation.answer}, {explanation.measure} {explanation.answer_value:.3f}"
        )
        values = field.source.pixel_values(explanation.parts[len(reading.input.before) :])
        shown = field.source.pixels(item)[: len(values)]
        steps = reading.input.tokens[len(reading.input.before) :]
        return [("frames", frames_figure(shown, values, steps, title=title))]
    if field.form.display.pixels:
        pixels = field.source.image(raw)
        values = field.source.shape.spread(
            explanation.values[len(reading.input.before) :], pixels.shape[1]
        )
        about = (
            f"{explanation.measure} {explanation.answer_value:.3f}"
            if lattice is None
            else lattice.text
        )
        figure = image_figure(pixels, values, title=f"{name}: {explanation.answer}, {about}")
        attended = reading.answer.alignment() if hasattr(reading.answer, "alignment") else None
        if attended is None:
            return [("image", figure)]
        maps = attention_maps(field, attended, pixels.shape[1])
        title = f"{name}: {' '.join(reading.answer.tokens[:-1])}"
        words = caption_figure(pixels, maps, reading.answer.tokens, title=title)
        return [("image", figure), ("words", words)]
    if lattice is not None:
        title = f"{name}: {lattice.text}"
        return [("lattice", lattice_figure(item, field.source.duration, lattice, title=title))]
    title = f"{name}: {explanation.answer}, {explanation.measure} {explanation.answer_value:.3f}"
    values = explanation.values[-len(item) :]
    if field.form.display.form == "drawing":
        return [("strokes", drawing_figure([item], titles=[title], values=values))]
    if field.form.display.audible:
        return [
            ("spectrum", spectrum_figure(item, field.source.duration, values=values, title=title))
        ]
    return []


def first_recording(path: str, task: Any) -> Any:
    """Open a file and print what was found in it."""
    from unspool.errors import DataError
    from unspool.tasks.planner import open_inputs

    data = task.config.data.model_copy(update={"format": "auto"})
    plan = open_inputs(path, data, task.name)
    show.note(plan.summary)
    for row in plan.rows():
        return row.values[0]
    raise DataError("there is no series in it", where=path, remedy="give a file with some")


def print_answer(traced: Any, explanation: Any, noun: str, *, as_json: bool) -> None:
    read = len(explanation.tokens if explanation is not None else traced.tokens)
    if traced.whole > read:
        show.note(f"only the first {read} of {traced.whole} {noun} are looked at")
    if as_json:
        show.result(
            TraceAndReasons(traced.to_json(), explanation and explanation.to_json()), as_json=True
        )
    elif explanation is not None:
        show.result(explanation, as_json=False)


def write_trace(traced: Any, folder: Path) -> None:
    import json

    from unspool.io.files import write_atomic

    path = folder / "trace.json"
    write_atomic(path, json.dumps(traced.to_json(), ensure_ascii=False) + "\n")
    show.note(str(path))


class TraceAndReasons:
    """A trace and a reason as one JSON object."""

    def __init__(self, trace: dict[str, Any], saliency: dict[str, Any] | None) -> None:
        self.trace, self.saliency = trace, saliency

    def to_json(self) -> dict[str, Any]:
        return {"trace": self.trace, "saliency": self.saliency}


def run_figures(run: Run, compared: list[Run]) -> Iterable[tuple[str, Figure]]:
    from unspool.insight.gallery import run_pictures
    from unspool.io.files import read_json

    logs = {str(each.path): each.metrics() for each in (run, *compared)}
    path = run.path / "evaluation.json"
    evaluation = read_json(path) if path.exists() else None
    return run_pictures(run.summary(), logs, metric=run.task.metric.name, evaluation=evaluation)


def open_page(
    path: Path,
    text: str | None,
    *,
    view: str | None,
    html: Path | None,
    data: str | None,
    port: int | None,
    browser: bool,
) -> None:
    from unspool.errors import ConfigError
    from unspool.insight.ngrams import ngrams_of_file
    from unspool.page.subject import open_subject
    from unspool.serve.look import LookPage

    if html is not None and (port is not None or not browser):
        raise ConfigError(
            "a saved page is not served", got=html, remedy="leave out --port and --no-browser"
        )
    subject = open_subject(path)
    if data is not None:
        with show.reading() as progress:
            table = ngrams_of_file(
                subject.task, subject.trained, data, note=show.note, progress=progress
            )
        subject = subject._replace(table=table)
    item: Any = text
    if text is not None and not subject.task.reads_tokens:
        item = first_recording(text, subject.task)
    look = LookPage(subject, item, view)
    if html is not None:
        look.save(html)
        show.note(str(html))
    else:
        look.serve(port=port or 0, browser=browser, report=print_address)


def print_address(address: str) -> None:
    print(address, flush=True)
    show.note("Ctrl-C ends it")
