"""Why this answer: what each token of the input contributes to it.

In: a reading, a step and an answer. Out: what each token contributes to the answer (negative:
against it), and what happens to the answer without the token.

Every method explains F = log p / (1 - p), the log odds of the answer, as a function of the vectors
x_1, ..., x_T that the model's layers read. Where the answer is a number, F is that number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unspool.errors import ConfigError, choose
from unspool.insight.inputs import Vectors, rows_at_once
from unspool.tasks.reading import Reading, is_marked

PIECES, NODES = 2, 8  # of the path of integrated gradients at first, and points in each
MOST = 2048  # points on it at most; of a long text fewer:
READ = 200_000  # tokens that are read for one answer
READ_DOUBLE = 120_000  # the same in float64
DOUBLED = 1024  # tokens of an input that is read again in float64; a longer one would take minutes
NARROW = 2**-14  # stretch whose ends float32 hardly resolves
CLOSE = 1e-3  # how far their sum may be from F(x) - F(x'), as a share of the latter if that is > 1
BLANKS = {"": "∅", " ": "␣"}
PAIRED = 4  # times as far all stretches together, whose errors may cancel out
IMPOSSIBLE = -500.0  # log odds of an answer that cannot be given, such as a tag that may not follow
DELETIONS = 20_000  # tokens that are read again, with others left out, for one answer


class Deletion(NamedTuple):
    """Answer without a token: its probability or number, and the most probable answer then."""

    token: int
    answer_value: float
    answer: str


class Saliency(NamedTuple):
    """Contributions of the tokens to one answer.

    asked        the token that the answer is of, or follows; "" where there is one answer for all
    answer_value what the model gives the answer: see `measure`
    values       (T) of each token
    total        F(x) - F(x'), which the values of integrated gradients add up to; F(x) for
                 gradient x input, whose values add up to nothing in particular
    gap          how far their sum is from it
    steps        of the integral, 1 for gradient x input
    deletions    of the tokens that can be left out, in the order of the text
    measure      what `answer_value` is: a "probability", or a "number" where answers are numbers
    unit         of a number: its standard deviation, which `gap` is judged by
    end          F(x): the log odds of the answer, or the number that it is
    start        F(x'), where no token is read yet: start + values = end; None for gradient x input
    elements     of series: the names of the channels
    parts        (T, C) what each of them contributes; they add up to `values`
    """

    method: str
    text: str
    tokens: list[str]
    asked: str
    step: int
    answer: str
    answer_value: float
    values: np.ndarray
    total: float
    gap: float
    steps: int
    deletions: list[Deletion]
    measure: str = "probability"
    unit: float = 1.0
    end: float = 0.0
    start: float | None = None
    elements: tuple[str, ...] = ()
    parts: np.ndarray | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "values": self.values.tolist(),
            "elements": list(self.elements),
            "parts": None if self.parts is None else self.parts.T.tolist(),
            "deletions": [deletion._asdict() for deletion in self.deletions],
        }

    def lines(self) -> list[str]:
        """A table: each token, its value, and the probability or number without it."""
        without = {deletion.token: deletion for deletion in self.deletions}
        tokens = [seen(token) for token in self.tokens]
        width = max(len(token) for token in [*tokens, "token"])
        largest = float(np.abs(self.values).max()) or 1.0
        of = f" at {self.asked!r}" if self.asked else ""
        lines = [
            f"{self.answer!r}{of}, {self.measure} {self.answer_value:.4f}",
            f"{'token':<{width}}  {'for it':>8}  {'':<12}  without the token",
        ]
        for i, (token, value) in enumerate(zip(tokens, self.values.tolist())):
            bar = ("+" if value > 0 else "-") * round(12 * abs(value) / largest)
            line = f"{token:<{width}}  {value:8.4f}  {bar:<12}"
            if i in without:
                line += f"  {without[i].answer_value:.4f}"
                if without[i].answer != self.answer:
                    line += f", {without[i].answer!r} is most probable"
            lines.append(line.rstrip())
        if any(map(is_marked, self.tokens)):
            lines.append("‹ ›: not in the vocabulary, the model reads <unk>")
        if self.start is not None:
            lines.append(self.account())
        if self.start is not None and self.gap > self.unit * close_to(self.total / self.unit):
            total = self.values.sum()
            lines.append(
                f"the contributions add up to {total:.4f}, and should to {self.total:.4f}: on the"
                " way from no token to these the answer changes faster than can be followed"
            )
        return lines

    def account(self) -> str:
        """Sum of start and contributions, written out; "" where it is not the answer."""
        if self.start is None:
            return ""
        contributed = float(self.values.sum())
        equal = "=" if abs(self.start + contributed - self.end) < 1e-4 else "≈"
        answer = (
            f"{self.end:.4f}"
            if self.measure == "number"
            else f"log odds {self.end:.4f}, {self.measure} {self.answer_value:.4f}"
        )
        return f"start {self.start:.4f} + contributions {contributed:.4f} {equal} {answer}"


def seen(token: str) -> str:
    """A token that has a line of its own, also where it is blank or ends one."""
    return BLANKS.get(token, token.replace("\n", "⏎").replace("\t", "⇥"))


def explain(
    reading: Reading,
    *,
    step: int | None = None,
    answer: str | None = None,
    method: str = "integrated",
    deletions: bool = True,
) -> Saliency:
    """Contributions of the tokens to an answer.

    step    of a tagger: the number of a word; of a language model: the token that the answer
             follows; of a translator: the number of a token that is written. None: the last one,
             or the first <mask>, the first word with a tag other than O, the longest token of a
             translation
    answer   a label, tag or token; None: the answer of the model
    method   out of `METHODS`
    """
    choose("method", method, METHODS)
    step = step_of(reading, step)
    with torch.no_grad():
        scores = reading.run()
        wanted = answer_of(reading, scores[0], step, answer)
        explained = float(reading.answer.explained(scores, step, wanted))
    if reading.answer.measure != "number" and explained < IMPOSSIBLE:
        raise ConfigError(
            "the model can never give this answer here",
            got=f"{reading.answer.name(wanted)} at {reading.answer.steps[step]!r}",
            remedy="ask about another answer or step",
        )
    contributions = METHODS[method](reading, step, wanted)
    unit = reading.answer.unit(wanted)
    values = contributions.values[::-1] if reading.input.backwards else contributions.values
    parts = (unit * values)[: len(reading.input.tokens)]  # behind a short past a window has padding
    silent = np.zeros((len(reading.input.tokens) - len(parts), parts.shape[1]))
    parts = np.concatenate([silent, parts])  # a token before all others, which the source has not
    if reading.input.elements:  # of several steps that are read as one, each has all of them
        parts = parts.reshape(len(parts), -1, len(reading.input.elements)).sum(1)
    values = parts.sum(1)
    answer_value = float(reading.answer.values(scores[0])[step, wanted])
    end = answer_value if reading.answer.measure == "number" else explained
    return Saliency(
        method,
        reading.input.text,
        reading.input.tokens,
        reading.answer.steps[step],
        step,
        reading.answer.name(wanted),
        answer_value,
        values,
        unit * contributions.total,
        unit * contributions.gap,
        contributions.steps,
        deleted(reading, step, wanted, values, scores.numel()) if deletions else [],
        reading.answer.measure,
        unit,
        end,
        end - unit * contributions.total if method == "integrated" else None,
        tuple(reading.input.elements),
        parts if reading.input.elements else None,
    )


class Attribution(NamedTuple):
    values: np.ndarray  # (T, 1), or of each element (T, E)
    total: float
    gap: float
    steps: int


def gradient_times_input(reading: Reading, step: int, answer: int) -> Attribution:
    """(x_t - x'_t) · ∂F/∂x_t (Shrikumar et al. 2017)"""
    vectors = Vectors(reading)
    values = vectors.contributions(step, answer, np.ones(1))[0]
    (total,) = vectors.values(step, answer, np.ones(1))
    return Attribution(values, total, abs(values.sum() - total), 1)


def integrated_gradients(reading: Reading, step: int, answer: int) -> Attribution:
    """Sundararajan, Taly & Yan (2017), equation 1:

        (x_t - x'_t) · ∫_0^1 ∂F(x' + α (x - x')) / ∂x_t dα

    in float32, and where its sum is then not what it should be, in float64, unless the input is
    very long.
    """
    integral = integrate(Vectors(reading), step, answer, READ, NARROW)
    if integral.gap > close_to(integral.total) and len(integral.values) <= DOUBLED:
        twice = integrate(Vectors(reading, double=True), step, answer, READ_DOUBLE, 0.0)
        integral = min(twice, integral, key=lambda each: each.gap)
    return integral


def close_to(total: float) -> float:
    """Tolerance of the sum of the contributions."""
    return CLOSE * max(1.0, abs(total))


def integrate(vectors: Vectors, step: int, answer: int, read: int, narrow: float) -> Attribution:
    """The integral by the rule of Gauss and Legendre, until it is close, `read` tokens have been
    read, or a stretch is to be halved that is `narrow`.

    Over any stretch of α the values add up to the difference of F at its ends; the stretches where
    they do so least, as where a maximum changes hands, are halved. Where F leaps, as that of a
    recurrent network can on a text much longer than those it has learnt from, no halving helps:
    slopes there are as large as chance will have it. Of a stretch whose values are further from its
    rise than nothing would be, nothing is taken; `gap` is how much is missing.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)

    def gathered(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The integral over each stretch: (S, T, E)"""
        wide = (high - low)[:, None]
        alphas = low[:, None] + wide * (nodes + 1) / 2
        slopes = vectors.contributions(step, answer, alphas.ravel())
        slopes = slopes.reshape(*alphas.shape, *slopes.shape[1:])
        return np.einsum("sn,snte->ste", wide * weights / 2, slopes)

    edges = np.linspace(0, 1, PIECES + 1)
    low, high = edges[:-1], edges[1:]
    ends = vectors.values(step, answer, edges)
    rise = np.diff(ends)  # of F over each stretch
    pieces, steps = gathered(low, high), PIECES * NODES
    total = float(ends[-1] - ends[0])
    close = close_to(total)
    while steps < min(MOST, read // (len(vectors.x) * vectors.reading.input.step_cost)):
        wrong = pieces.sum((1, 2)) - rise
        if abs(wrong.sum()) <= close and np.abs(wrong).sum() <= PAIRED * close:
            break
        halved = np.abs(wrong) >= np.abs(wrong).max() / 8
        if not halved.any() or (high - low)[halved].min() <= narrow:  # none of what is not finite
            break
        middle = (low[halved] + high[halved]) / 2
        first = vectors.values(step, answer, middle)
        first -= vectors.values(step, answer, low[halved])
        new_low = np.concatenate([low[halved], middle])
        new_high = np.concatenate([middle, high[halved]])
        steps += len(new_low) * NODES
        rise = np.concatenate([rise[~halved], first, rise[halved] - first])
        pieces = np.concatenate([pieces[~halved], gathered(new_low, new_high)])
        low, high = (
            np.concatenate([before[~halved], new])
            for before, new in ((low, new_low), (high, new_high))
        )
    lost = np.abs(pieces.sum((1, 2)) - rise) > np.maximum(np.abs(rise), PAIRED * close)
    values = pieces[~lost].sum(0)
    return Attribution(values, total, abs(float(values.sum()) - total), steps)


METHODS: dict[str, Callable[[Reading, int, int], Attribution]] = {
    "integrated": integrated_gradients,
    "gradient": gradient_times_input,
}


@torch.no_grad()
def deleted(
    reading: Reading, step: int, answer: int, values: np.ndarray, size: int
) -> list[Deletion]:
    """Answers without each token; for a long text, without those that matter most.
    `size` is the number of scores that one reading makes."""
    tokens, view = reading.removable(step), reading.answer
    most = max(1, DELETIONS // len(reading.input.tokens))
    tokens = sorted(sorted(tokens, key=lambda t: -abs(values[t]))[:most])
    deletions, rows = [], rows_at_once(size, len(reading.input.tokens) * reading.input.step_cost)
    for first in range(0, len(tokens), rows):
        some = tokens[first : first + rows]
        scores = reading.run_batch([reading.input.without(token) for token in some])
        for token, row in zip(some, scores):
            p = view.values(row)[reading.step_without(step, token)]
            instead = view.name(view.best_answer(p, answer))
            deletions.append(Deletion(token, float(p[answer]), instead))
    return deletions


def step_of(reading: Reading, step: int | None) -> int:
    count = len(reading.answer.steps)
    if step is None:
        return reading.answer.default_step()
    if not 0 <= step < count:
        steps = "is one step" if count == 1 else f"are {count} steps"
        raise ConfigError(
            f"there {steps} to ask about", got=f"number {step + 1}", remedy="count from 1"
        )
    return step


def answer_of(reading: Reading, scores: Tensor, step: int, answer: str | None) -> int:
    if answer is None:
        return reading.answer.chosen(scores)[step]
    names = [reading.answer.name(i) for i in range(scores.shape[1])]
    if answer not in names:
        raise ConfigError(
            "the model knows no such answer",
            got=answer,
            remedy=f"choose from {', '.join(names[:20])}" + ", ..." * (len(names) > 20),
        )
    return names.index(answer)
