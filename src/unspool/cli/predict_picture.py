"""`--picture` of `unspool predict`: the first of the answers, drawn.

In: a run, items and answers. Out: the same answers; when the first has come, it is a picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unspool.cli import show
from unspool.cli.options import option_names
from unspool.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unspool.api.run import Run


class AnswerPicture(NamedTuple):
    """Picture of an answer: its name, and a function of run, item, answer and options."""

    noun: str
    figure: Any


def picture_of(run: Run) -> AnswerPicture:
    """Pictures of the answers of a run."""
    from unspool.tasks.abilities import LooksAhead

    task = run.task
    if "alignment" in option_names(task.options) and not task.reads_tokens:
        return AnswerPicture("attention of every word", attention)
    if "alignment" in option_names(task.options):
        return AnswerPicture("alignment", alignment)
    if isinstance(task, LooksAhead):
        return AnswerPicture("continuation", forecast)
    if hasattr(task.answer_view, "transcript"):
        return AnswerPicture("lattice", lattice)
    raise ConfigError(
        "--picture is for translations, captions, forecasts and transcripts",
        where=run.path,
        got=f"a {task.name} model",
        remedy="leave it out, or draw what it reads with unspool look",
    )


def with_first(items: Iterable[Any]) -> tuple[list[Any], Iterator[Any]]:
    """The first item, if there is one, and all."""
    rest = iter(items)
    first = list(islice(rest, 1))
    return first, chain(first, rest)


def drawing_first(
    run: Run, first: list[Any], answers: Iterable[Any], path: Path, options: Any
) -> Iterator[Any]:
    """The same answers; the first becomes a picture."""
    from unspool.io.pictures import check_picture, save_picture

    check_picture(path)
    picture = picture_of(run)

    def with_picture() -> Iterator[Any]:
        for number, answer in enumerate(answers):
            if number == 0:
                save_picture(picture.figure(run, first[0], answer, options), path)
                show.note(f"the {picture.noun} is in {path}")
            yield answer

    return with_picture()


def alignment(run: Run, item: Any, answer: Any, options: Any) -> Figure:
    from unspool.insight.plots import alignment_figure

    if getattr(answer, "alignment", None) is None:
        raise ConfigError(
            "there is no alignment to draw",
            where=run.path,
            got="a model without attention" if str(answer) else "an empty text",
            remedy="leave out --picture, or train bahdanau, luong or transformer",
        )
    return alignment_figure(answer)


def attention(run: Run, item: Any, answer: Any, options: Any) -> Figure:
    """Attention of each word of a caption."""
    from unspool.insight.plots import attention_maps, caption_figure, matrix_figure

    field: Any = run.task.input_field
    if answer.alignment is None or not len(answer.tokens):
        raise ConfigError(
            "there is no attention to draw",
            where=run.path,
            got="an empty caption" if not len(answer.tokens) else "a model without attention",
            remedy="leave out --picture, or train one with attention",
        )
    if not hasattr(field, "shape"):  # steps that are no parts of one image
        return matrix_figure(answer.alignment, field.labels(item), answer.tokens)
    pixels = field.source.image(item)
    maps = attention_maps(field, answer.alignment, pixels.shape[1])
    return caption_figure(pixels, maps, answer.tokens, title=f"{answer.name}: {answer}")


def forecast(run: Run, item: Any, answer: Any, options: Any) -> Figure:
    """Past, forecast and interval; a panel per target."""
    from unspool.insight.plots import forecast_figure
    from unspool.tasks.forecast.answer import LEVEL

    field: Any = run.task.input_field
    series = field.recording(item, "the series")
    past = series.values[: field.last(series)]
    name = f"{answer.name}, " if answer.name else ""
    panels = [
        {
            "name": f"{name}{target}: {answer.steps[0]} to {answer.steps[-1]}",
            "past": past[:, channel],
            "true": [],
            "predicted": answer.center[:, i],
            "low": answer.low[:, i],
            "high": answer.high[:, i],
        }
        for i, (target, channel) in enumerate(zip(answer.targets, field.target_channels))
    ]
    level = LEVEL if options is None else options.coverage
    return forecast_figure(panels, level=level)


def lattice(run: Run, item: Any, answer: Any, options: Any) -> Figure:
    """The probabilities of tokens over time, above the recording."""
    from unspool.insight.plots import lattice_figure

    field: Any = run.task.input_field
    frames = field.recording(item, "the recording")
    lattice = run.task.reading(run.model, frames).answer.lattice()
    assert lattice is not None
    title = f"{answer.name}: {answer.text}"
    return lattice_figure(frames, field.source.duration, lattice, title=title)
