"""The views of the page, by name: which subjects each is for, and what a saved page needs for it.

web/views/NAME.js draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from unspool.errors import ConfigError, choose
from unspool.insight.trace import direction_of, is_aside, layer_of
from unspool.nn.convolution import ConvolutionStack
from unspool.nn.positions import Learned, Rotary, Sinusoidal
from unspool.nn.recurrent import Recurrent
from unspool.nn.taps import taps
from unspool.page.media import composes, draws, example_words, shows_pixels, writes
from unspool.page.series import saved_steps
from unspool.page.subject import Subject
from unspool.tasks.abilities import LooksAhead
from unspool.tasks.task import fits_directly

Asked = tuple[str, dict[str, str]]  # the name of an answer, and its parameters


class View(NamedTuple):
    """applies: whether a subject has it; wants: what it asks for about a text."""

    applies: Callable[[Subject], bool]
    wants: Callable[[Subject, str], Iterable[Asked]]


def taps_of(subject: Subject, *kinds: str) -> list[str]:
    """The taps of a subject's model whose name ends so, without those of characters."""
    if subject.model is None:
        return []
    paths = [path for path in taps(subject.model) if not is_aside(path, subject.task)]
    return [path for path in paths if path.endswith(kinds)]


def layers_of(subject: Subject) -> list[dict[str, str]]:
    """The recurrent layers, direction by direction, as `steps` is asked for them."""
    return [
        {
            "part": "decoder" if path.startswith("decoder.") else "encoder",
            "layer": str(layer_of(path)),
            "direction": str(direction_of(path)),
        }
        for path in taps_of(subject, "hidden_state")
    ]


def is_recurrent(subject: Subject) -> bool:
    encoder: Any = getattr(subject.model, "encoder", None)
    whole = (
        not subject.task.answer_view.ignored_taps
    )  # what a network reads are the steps of the input
    return whole and isinstance(getattr(encoder, "network", None), Recurrent)


def attends(subject: Subject) -> bool:
    """Return whether this view shows attention; decoders of other inputs have their own views."""
    paths = taps_of(subject, ".weights", ".alignment")
    if subject.task.reads_tokens:
        return bool(paths)
    return any(not path.startswith("decoder.") for path in paths)


def has_filters(subject: Subject) -> bool:
    encoder: Any = getattr(subject.model, "encoder", None)
    return isinstance(getattr(encoder, "network", None), ConvolutionStack)


def looks_ahead(subject: Subject) -> bool:
    return subject.model is not None and isinstance(subject.task, LooksAhead)


def has_positions(subject: Subject) -> bool:
    """Return whether positions can be shown; series, without tokens, need learnt ones."""
    if subject.model is None:
        return False
    kinds = (Sinusoidal, Learned, Rotary)
    return subject.task.reads_tokens or any(isinstance(m, kinds) for m in subject.model.modules())


def reads_tokens(subject: Subject) -> bool:
    return subject.model is not None and subject.task.reads_tokens


def asked_of(subject: Subject, text: str, *names: str) -> list[Asked]:
    """Questions about an input; of one that is no text also what is drawn of it."""
    first = () if subject.task.reads_tokens else ("input",)
    return [(name, {"text": text}) for name in (*first, *names)]


def explains(subject: Subject) -> bool:
    """Not of a model that is fitted at once, such as a linear one: it has no steps."""
    task = subject.task
    return subject.model is not None and task.answer is not None and not fits_directly(task)


VIEWS: dict[str, View] = {
    "ahead": View(
        looks_ahead,
        lambda subject, text: [
            ("ahead", {"text": text}),
            *(
                ("reasons", {"text": text, "step": str(step)})
                for step in saved_steps(subject.task.input_field.horizon)
            ),
        ],
    ),
    "picture": View(shows_pixels, lambda subject, text: asked_of(subject, text, "picture")),
    "transcript": View(writes, lambda subject, text: asked_of(subject, text, "transcript")),
    "writing": View(draws, lambda subject, text: [("write", {"words": example_words(subject)})]),
    "playing": View(composes, lambda subject, text: [("continuation", {"text": text})]),
    "unrolled": View(
        lambda subject: bool(taps_of(subject, "hidden_state")),
        lambda subject, text: (
            asked_of(subject, text)
            + [("steps", {"text": text, **layer}) for layer in layers_of(subject)]
        ),
    ),
    "attention": View(
        attends,
        lambda subject, text: asked_of(
            subject, text, "trace" if subject.task.reads_tokens else "weights"
        ),
    ),
    "saliency": View(
        lambda subject: explains(subject) and not looks_ahead(subject),  # whose own view has them
        lambda subject, text: asked_of(
            subject, text, "trace" if subject.task.reads_tokens else "choices", "saliency"
        ),
    ),
    "gradients": View(
        is_recurrent, lambda subject, text: [("gradients", {}), *asked_of(subject, text, "states")]
    ),
    "ngrams": View(
        lambda subject: has_filters(subject) and subject.task.reads_tokens,
        lambda subject, text: [("ngrams", {"text": text})],
    ),
    "positions": View(has_positions, lambda subject, text: [("positions", {})]),
    "neighbours": View(reads_tokens, lambda subject, text: [("neighbours", {"text": text})]),
    "training": View(
        lambda subject: subject.log.exists(), lambda subject, text: [("training", {})]
    ),
}


def views_of(subject: Subject) -> list[str]:
    """The views that a subject has, in the order of the page."""
    return [name for name, view in VIEWS.items() if view.applies(subject)]


def chosen_view(subject: Subject, name: str) -> str:
    """`name`, if the subject has such a view."""
    choose("view", name, VIEWS)
    views = views_of(subject)
    if name not in views:
        raise ConfigError(
            f"this run has no {name} view",
            where=subject.path,
            remedy="choose from " + ", ".join(views),
        )
    return name
