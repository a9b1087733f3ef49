"""The views of the page, by name: which subjects each is for, and what a saved page needs for it.

web/views/NAME.js draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from unspool.errors import ConfigError, choose
from unspool.insight.trace import ASIDE, direction_of, layer_of
from unspool.nn.convolution import ConvolutionStack
from unspool.nn.recurrent import Recurrent
from unspool.nn.taps import taps
from unspool.page.subject import Subject

Asked = tuple[str, dict[str, str]]  # the name of an answer, and its parameters


class View(NamedTuple):
    """applies: whether a subject has it; wants: what it asks for about a text."""

    applies: Callable[[Subject], bool]
    wants: Callable[[Subject, str], Iterable[Asked]]


def taps_of(subject: Subject, *kinds: str) -> list[str]:
    """The taps of a subject's model whose name ends so, without those of characters."""
    if subject.model is None:
        return []
    found = [path for path in taps(subject.model) if not ASIDE.match(path)]
    return [path for path in found if path.endswith(kinds)]


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
    return isinstance(getattr(encoder, "network", None), Recurrent)


def has_filters(subject: Subject) -> bool:
    encoder: Any = getattr(subject.model, "encoder", None)
    return isinstance(getattr(encoder, "network", None), ConvolutionStack)


def explains(subject: Subject) -> bool:
    return subject.model is not None and subject.task.answer is not None


VIEWS: dict[str, View] = {
    "unrolled": View(
        lambda subject: bool(taps_of(subject, "hidden_state")),
        lambda subject, text: [("steps", {"text": text, **own}) for own in layers_of(subject)],
    ),
    "attention": View(
        lambda subject: bool(taps_of(subject, ".weights")),
        lambda subject, text: [("trace", {"text": text})],
    ),
    "saliency": View(
        explains, lambda subject, text: [("trace", {"text": text}), ("saliency", {"text": text})]
    ),
    "gradients": View(
        is_recurrent, lambda subject, text: [("gradients", {}), ("states", {"text": text})]
    ),
    "ngrams": View(has_filters, lambda subject, text: [("ngrams", {"text": text})]),
    "positions": View(
        lambda subject: subject.model is not None, lambda subject, text: [("positions", {})]
    ),
    "neighbours": View(
        lambda subject: subject.model is not None,
        lambda subject, text: [("neighbours", {"text": text})],
    ),
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
    own = views_of(subject)
    if name not in own:
        raise ConfigError(
            f"this run has no {name} view",
            where=subject.path,
            remedy="choose from " + ", ".join(own),
        )
    return name
