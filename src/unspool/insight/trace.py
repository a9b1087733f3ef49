"""One run of a model, recorded: all that passed its taps, as arrays that know their axes.

In: a task, its model and a text. Out: a `Trace` with gates, states, attention weights, features and
alignments by layer, and what the model answered with which probability. `to_json` writes it down,
cut to a size that any reader can take; `docs/trace.md` describes the fields. `stored_trace` reads
such a file, to be drawn: of a long text, the window that it has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from unspool.errors import Command, DataError
from unspool.io.files import parse_json, read_regular
from unspool.nn.taps import TapTrace, record, taps
from unspool.nn.transformer_blocks import DecoderBlock
from unspool.tasks import Task
from unspool.tasks.reading import Reading
from unspool.tasks.translate.answer import Candidate, CopiedToken

VERSION = 2
NUMBERS = 400_000  # in the JSON of a trace, at most about so many
LEAST = 32  # tokens that are shown in full however large the model is
TOP = 5  # answers of each step
AGAIN = ("make one with ", Command("look", "RUN", "TEXT", pictures="DIR"))

# Taps that see something else than the tokens of the input: the characters of its words.
# What a forecaster reads, before its network does, is no part of it either.
ASIDE = re.compile(r"^(characters|contextual|encoder\.spelling|window)\.")

WINDOWED = re.compile(r"\bnetwork\.first\.")  # of `nn/text_window.py`


class Recorded(NamedTuple):
    """Values of one tap.

    kind        a gate or state of a cell by its name (forget_gate, candidate, hidden_state, ...),
                self_attention, causal_attention, cross_attention, alignment, pooling, features;
                pair_attention, between two texts; window, of the characters that are to be
                written by hand
    part        encoder or decoder
    layer       from 1, where there are layers
    direction   forwards or backwards, of a recurrent layer
    axes        of `values`: head, read (tokens of the input), written (of the output), unit
    """

    path: str
    kind: str
    part: str
    layer: int | None
    direction: str | None
    axes: tuple[str, ...]
    values: np.ndarray

    @property
    def title(self) -> str:
        """Title, such as `encoder, layer 1, backwards: forget gate`."""
        layer = None if self.layer is None else f"layer {self.layer}"
        where = [self.part, layer, self.direction]
        return ", ".join(filter(None, where)) + ": " + self.kind.replace("_", " ")

    def summary(self) -> dict[str, Any]:
        """A few numbers a token, of all tokens: of units their mean and their length as a vector;
        of weights, head by head, the position with the largest weight and the entropy in nats."""
        if self.axes[-1] == "unit":
            return {
                "mean": rounded(self.values.mean(-1)),
                "norm": rounded(np.linalg.norm(self.values, axis=-1)),
            }
        weights = np.maximum(self.values, 1e-12)
        return {
            "strongest": self.values.argmax(-1).tolist(),
            "entropy": rounded(-(weights * np.log(weights)).sum(-1)),
        }


class Alternative(NamedTuple):
    answer: str
    answer_value: float


class Choice(NamedTuple):
    """The answer at a step, what the model thinks of it, and what else it thought of.

    asked         the token that the answer is of, or follows; "" where there is one answer for all
    answer_value  what the model gives the answer: see `measure`
    measure       what that is: a "probability", or a "number" where the answers are numbers
    given         where any number of answers may apply, those that do; otherwise None
    """

    asked: str
    answer: str
    answer_value: float
    alternatives: list[Alternative]  # the most probable first; the answer may be among them
    measure: str = "probability"
    given: list[str] | None = None


class Trace(NamedTuple):
    """A recorded run. `arrays` are in the order in which the model has its parts."""

    task: str
    model: str
    text: str
    tokens: list[str]
    written: list[str]
    whole: int  # tokens of the whole input; `tokens` are the first ones
    choices: list[Choice]
    candidates: list[Candidate]  # of a translation, the best first
    arrays: list[Recorded]
    scores: np.ndarray  # (P, C) what the choices were made from
    step: int = 0  # of the choices, the one to begin with
    copied: Sequence[CopiedToken] = ()  # of a translation by a model that copies, of each token

    def find(self, *kinds: str) -> list[Recorded]:
        """The arrays of some kinds."""
        return [array for array in self.arrays if array.kind in kinds]

    def to_json(self, *, first: int = 0, numbers: int = NUMBERS) -> dict[str, Any]:
        """Everything but the scores, with about `numbers` numbers at most: of a long input the
        values of a window of tokens from `first` on, and of a very wide model those of the units
        that move most. Summaries are always of all tokens."""
        window = self.window(numbers)
        first = max(0, min(first, max(len(self.tokens), len(self.written)) - window))
        units = self.units(numbers, window)
        return {
            "version": VERSION,
            "task": self.task,
            "model": self.model,
            "text": self.text,
            "tokens": self.tokens,
            "written": self.written,
            "whole": self.whole,
            "window": {"first": first, "tokens": window},
            "choices": [
                {**c._asdict(), "alternatives": [a._asdict() for a in c.alternatives]}
                for c in self.choices
            ],
            "step": self.step,
            "candidates": [candidate._asdict() for candidate in self.candidates],
            "copied": [token._asdict() for token in self.copied],
            "arrays": [
                described(array, slice(first, first + window), units) for array in self.arrays
            ],
        }

    def window(self, numbers: int) -> int:
        """Number of tokens that can be shown in full."""
        longest = max(len(self.tokens), len(self.written), 1)
        fits = longest
        while fits > LEAST and self._cost(fits) > numbers:
            fits = max(LEAST, fits * 3 // 4)
        return fits

    def units(self, numbers: int, window: int) -> int | None:
        """Number of units that an array can be shown with; None: all."""
        widths = [a.values.shape[-1] for a in self.arrays if a.axes[-1] == "unit"]
        if not widths or self._cost(window) <= numbers:
            return None
        return max(1, numbers // (window * len(widths)))

    def _cost(self, window: int) -> int:
        return sum(
            int(np.prod([n if axis in ("head", "unit") else min(n, window)
                         for axis, n in zip(a.axes, a.values.shape)]))
            for a in self.arrays
        )  # fmt: skip


def described(array: Recorded, window: slice, units: int | None) -> dict[str, Any]:
    """An array as JSON: `values` of the window, and of so many units."""
    values = array.values[
        tuple(window if a in ("read", "written") else slice(None) for a in array.axes)
    ]
    stored = {
        **{k: v for k, v in array._asdict().items() if k != "values"},
        "axes": list(array.axes),
        "shape": list(array.values.shape),
        "summary": array.summary(),
    }
    if units is not None and array.axes[-1] == "unit" and units < values.shape[-1]:
        kept = np.sort(np.argsort(-array.values.std(axis=-2), kind="stable")[:units])
        stored["units"] = kept.tolist()
        values = values[..., kept]
    return {**stored, "values": rounded(values)}


def rounded(values: np.ndarray) -> Any:
    return np.round(values.astype(float), 4).tolist()


def is_aside(path: str, task: Task) -> bool:
    """Return whether a tap sees something else than the steps of the input."""
    return ASIDE.match(path) is not None or path.startswith(
        task.answer_view.ignored_taps or ("\0",)
    )


def trace(task: Task, model: nn.Module, text: str | Sequence[str], *, top: int = TOP) -> Trace:
    """Run the model once, with all its taps recorded."""
    return trace_reading(task.reading(model, text), task, model, top=top)


@torch.no_grad()
def trace_reading(reading: Reading, task: Task, model: nn.Module, *, top: int = TOP) -> Trace:
    paths = [path for path in taps(model) if not is_aside(path, task)]
    arrays: list[Recorded] = []
    if paths:
        with record(model, *paths) as passed:
            scores = reading.run()[0]
        arrays = [
            a for path in passed if (a := _recorded(model, path, passed, reading)) is not None
        ]
    else:
        scores = reading.run()[0]
    return Trace(
        task.name,
        task.config.model_name,
        reading.input.text,
        list(reading.input.network_tokens),
        list(reading.answer.tokens),
        reading.input.full_length,
        choices(reading, scores, top=top),
        list(reading.answer.candidates),
        arrays,
        scores.float().numpy(),
        reading.answer.default_step(),
        list(reading.answer.copied),
    )


def choices(reading: Reading, scores: Tensor, *, top: int) -> list[Choice]:
    """Answer of the model at each step, from scores (P, C)."""
    view = reading.answer
    p = view.values(scores)
    best = p.topk(min(top, p.shape[1]), 1)
    likely = zip(best.values.tolist(), best.indices.tolist())
    return [
        Choice(
            question,
            view.name(answer),
            float(chances[answer]),
            [Alternative(view.name(a), v) for a, v in zip(indices, values)],
            view.measure,
            None if (labels := view.accepted(chances)) is None else [*map(view.name, labels)],
        )
        for question, answer, chances, (values, indices) in zip(
            view.steps, view.chosen(scores), p, likely
        )
    ]


def _recorded(model: nn.Module, path: str, passed: TapTrace, reading: Reading) -> Recorded | None:
    """Values of a tap for the one input: (..., tokens, ...) without the batch."""
    owner, _, name = path.rpartition(".")
    part = "decoder" if path.startswith("decoder.") else "encoder"
    axis = "written" if part == "decoder" else "read"
    # A decoder that waits for what its attention finds passes once a step: (1, 1, ...) each.
    steps = 2 if owner.endswith("attention") and name == "weights" and "layers" in owner else 1
    passes = passed.passes(path)
    apart = steps == 2 and part == "encoder" and len(passes) > 1  # two texts, one after the other
    values = (of_two_texts(passes) if apart else torch.cat(passes, steps))[0].float().numpy()
    axes: tuple[str, ...]
    if owner.endswith("cross_attention"):
        kind, axes = "cross_attention", ("head", "written", "read")
    elif path == "decoder.attention.weights":
        return None  # the same as decoder.alignment
    elif name == "alignment":
        kind, axes = "alignment", ("written", "read")
    elif name == "window":
        kind, axes = "window", ("read", "written")
    elif owner in ("pooling", "pooling.each"):
        kind, axes = "pooling", ("read",)
    elif owner == "encoder.between":
        kind, axes = "pair_attention", ("head", "read", "read")
    elif name == "weights":
        block = model.get_submodule(owner.rpartition(".")[0])
        causal = isinstance(block, DecoderBlock)
        kind, axes = f"{'causal' if causal else 'self'}_attention", ("head", axis, axis)
    else:
        kind, axes = name, (axis, "unit")
    if is_turned(path, reading):
        values = values[::-1]
    direction = direction_of(path) if axes[-1] == "unit" else None
    return Recorded(path, kind, part, layer_of(path), direction, axes, values)


def of_two_texts(passes: Sequence[Tensor]) -> Tensor:
    """Weights (1, heads, T, T) of texts that were read one by one as those of one sequence."""
    sizes = [block.shape[-1] for block in passes]
    weights = passes[0].new_zeros(1, passes[0].shape[1], sum(sizes), sum(sizes))
    for i, block in enumerate(passes):
        at = slice(sum(sizes[:i]), sum(sizes[: i + 1]))
        weights[:, :, at, at] = block
    return weights


def layer_of(path: str) -> int | None:
    """The layer of a tap, from 1. Of a network with a window over a text, the first layer moves the
    window, and the others are above it; what reads above an attention between two texts names the
    number of layers below it."""
    if WINDOWED.search(path):
        return 1
    match = re.search(r"\b(?:above(?:_(\d+))?\.)?layers\.(\d+)", path)
    if match is None:
        return None
    below = int(match[1] or 1) if match[0].startswith("above") else 0
    return int(match[2]) + 1 + below


def direction_of(path: str) -> str | None:
    match = re.search(r"\b(forwards|backwards)\b", path)
    return match[1] if match else "forwards" if WINDOWED.search(path) else None


def is_turned(path: str, reading: Reading) -> bool:
    """Return whether the network of a tap is given the last token first."""
    is_encoder = path.startswith("encoder.") and reading.input.backwards
    return is_encoder or path.startswith("encoder.backwards.")


def stored_trace(path: Path) -> Trace:
    """The trace of a file; a DataError where it is none, or of another version."""
    try:
        stored = parse_json(read_regular(path))
        version = stored["version"]
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=path, remedy=AGAIN) from None
    except (ValueError, TypeError, KeyError, OverflowError):
        raise DataError("not a trace", where=path, remedy=AGAIN) from None
    if version != VERSION:
        raise DataError(
            f"a trace of another version; this unspool reads version {VERSION}",
            where=path,
            got=version,
            remedy=AGAIN,
        )
    try:
        return _read_trace(stored)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(
            f"a damaged trace ({type(error).__name__}: {error})", where=path, remedy=AGAIN
        ) from None


def _read_trace(stored: dict[str, Any]) -> Trace:
    first, size = stored["window"]["first"], stored["window"]["tokens"]
    window = slice(first, first + size)
    choices = [
        Choice(
            choice["asked"],
            choice["answer"],
            choice["answer_value"],
            [Alternative(**other) for other in choice["alternatives"]],
            choice["measure"],
            choice.get("given"),
        )
        for choice in stored["choices"]
    ]
    return Trace(
        stored["task"],
        stored["model"],
        stored["text"],
        list(stored["tokens"][window]),
        list(stored["written"][window]),
        stored["whole"],
        choices if len(choices) == 1 else choices[window],
        [Candidate(**choice) for choice in stored["candidates"]],
        [_read_array(choice) for choice in stored["arrays"]],
        np.zeros((0, 0)),
        max(0, int(stored.get("step", 0)) - window.start),
        [CopiedToken(**choice) for choice in stored.get("copied", [])][window],
    )


def _read_array(stored: dict[str, Any]) -> Recorded:
    axes = tuple(stored["axes"])
    values = np.array(stored["values"], dtype=float)
    if values.ndim != len(axes):
        raise ValueError(f"{stored['path']} has {values.ndim} axes, not {', '.join(axes)}")
    names = ("path", "kind", "part", "layer", "direction")
    return Recorded(**{name: stored[name] for name in names}, axes=axes, values=values)
